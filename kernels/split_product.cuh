#pragma once

// FP32 products on 16-bit tensor cores (sm_90a): a kernel that splits A and B into parts, and one that multiplies them.
// What chapters 11 and 12 are made of, which differ by their scheme: how many parts of which format, and which products
// of these count. Chapter 11 explains it.

#include "async_copy.cuh"
#include "bulk_copy.cuh"
#include "ceil_div.hpp"
#include "chapter.cuh"
#include "dependent_launch.cuh"
#include "dot_product.cuh"
#include "dynamic_smem.cuh"
#include "epilogue.cuh"
#include "hilbert.hpp"
#include "mbarrier.cuh"
#include "problem.hpp"
#include "registers.cuh"
#include "split_parts.cuh"
#include "stream_k.cuh"
#include "tiling.cuh"
#include "vector_access.cuh"
#include "wgmma.cuh"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sgemm {
inline namespace SGEMM_TARGET {
namespace split_product {

constexpr int WARP = 32;
constexpr int PANEL = 128;      // rows of A or columns of B that are split, copied and multiplied together
constexpr int PIECE_K = 64;     // of which so many k make a piece
constexpr int STEP_BYTES = 32;  // of a row, for the 16 k of one instruction
static_assert(PIECE_K * 2 == WGMMA_ROW_BYTES && PANEL == WGMMA_N && PANEL == 2 * WGMMA_M);

/// Numbers of a part of A and of one of B, the largest part being 0.
struct PartsOfProduct {
  int a;
  int b;
};

/// By which powers of two a piece has to be multiplied, which undoes what was done before it was split, and where the
/// piece belongs.
struct Scaling {
  int exponent;               ///< of all rows; ALL_ZERO where the piece has nothing but zeros
  int plain;                  ///< the same, or NOT_PLAIN where some rows have a factor of their own besides
  int panel;                  ///< which one of A or B the piece belongs to: what multiplies need not work that out
  int followed;               ///< by another panel: 1, or 0 for the last one
  unsigned char rows[PANEL];  ///< that factor is 2^-(Scheme::ROW_STEP * this)
};
// Far from any sum of two exponents, and so are their sums with each other and with exponents.
constexpr int ALL_ZERO = -(1 << 20);
constexpr int NOT_PLAIN = 1 << 24;
constexpr int SCALING_BYTES = sizeof(Scaling);
static_assert(SCALING_BYTES % 16 == 0);

/// A piece of a panel: its parts one after the other, each PANEL rows of PIECE_K numbers, as wgmma reads them.
template <class Scheme>
struct Piece {
  static constexpr int PART_BYTES = PANEL * WGMMA_ROW_BYTES;
  static constexpr int BYTES = Scheme::PARTS * PART_BYTES;
};

/// At least one piece, of zeros where there is no k.
SGEMM_HOST_DEVICE inline std::int64_t pieces_along_k(const Problem& p) {
  return p.k == 0 ? 1 : ceil_div<std::int64_t>(p.k, PIECE_K);
}
SGEMM_HOST_DEVICE inline std::int64_t panels_of(std::int64_t rows) { return ceil_div<std::int64_t>(rows, PANEL); }

/// Where all pieces and their scalings are. Those of a panel follow one another along k, the panels of B those of A.
template <class Scheme>
class Workspace {
 public:
  SGEMM_HOST_DEVICE Workspace(const Problem& p, void* memory)
      : along_k_(static_cast<int>(pieces_along_k(p))),
        a_panels_(static_cast<int>(panels_of(p.m))),
        count_((panels_of(p.m) + panels_of(p.n)) * pieces_along_k(p)),
        memory_(static_cast<unsigned char*>(memory)) {}

  SGEMM_HOST_DEVICE int along_k() const { return along_k_; }
  SGEMM_HOST_DEVICE int a_panels() const { return a_panels_; }
  SGEMM_HOST_DEVICE std::int64_t count() const { return count_; }
  SGEMM_HOST_DEVICE std::size_t bytes() const {
    return static_cast<std::size_t>(count_) * (Piece<Scheme>::BYTES + SCALING_BYTES);
  }
  __device__ unsigned char* parts(std::int64_t piece) const { return memory_ + piece * Piece<Scheme>::BYTES; }
  __device__ Scaling* scaling(std::int64_t piece) const {
    return reinterpret_cast<Scaling*>(memory_ + count_ * Piece<Scheme>::BYTES) + piece;
  }

 private:
  int along_k_;
  int a_panels_;
  std::int64_t count_;
  unsigned char* memory_;
};

// ---- The kernel that splits ----

constexpr int SPLIT_THREADS = 256;
constexpr int SPLIT_BLOCKS_PER_SM = 3;
constexpr int SPLIT_WARPS = SPLIT_THREADS / WARP;
// A thread has 32 numbers, in groups of 8 that make 16 bytes of each part. Group number g of a row holds k 4g to 4g + 3
// and 32 + 4g to 32 + 4g + 3: what order k has in a piece is free as long as A and B agree, and this one lets threads
// copy neighbouring groups of four from A.
constexpr int GROUP = 8;
constexpr int GROUPS = PIECE_K / GROUP;  // in a row
constexpr int GROUPS_PER_THREAD = 4;
static_assert(PANEL * PIECE_K == SPLIT_THREADS * GROUPS_PER_THREAD * GROUP);

/// The k of number `i` of group `group`, from the beginning of the piece.
__device__ constexpr int k_in_piece(int group, int i) { return i / 4 * (PIECE_K / 2) + group * 4 + i % 4; }

/// The largest of all threads' values; to be called by all of them. `shared`: a word for each warp, which they are done
/// with.
__device__ __forceinline__ unsigned block_max(unsigned value, unsigned* shared) {
  __syncthreads();
#pragma unroll
  for (int lanes = 1; lanes < WARP; lanes *= 2) {
    const unsigned other = __shfl_xor_sync(~0U, value, lanes);
    value = other > value ? other : value;
  }
  if (threadIdx.x % WARP == 0) {
    shared[threadIdx.x / WARP] = value;
  }
  __syncthreads();
#pragma unroll
  for (int warp = 0; warp < SPLIT_WARPS; ++warp) {
    value = shared[warp] > value ? shared[warp] : value;
  }
  return value;
}

/// The largest magnitude of a thread's group.
__device__ __forceinline__ unsigned largest_of(const float (&x)[GROUP]) {
  unsigned largest = 0;
#pragma unroll
  for (const float value : x) {
    largest = magnitude(value) > largest ? magnitude(value) : largest;
  }
  return largest;
}

/// Rows, columns and pieces along k whose scales differ by more binades than this are not for tensor cores: sums of a
/// tile have one exponent in common, and what all three leave of it in a float's range is 2^-138 of the largest.
constexpr int LARGEST_SPREAD = 46;

/// By how many steps of its own a row is scaled, so that its largest number comes to at least 2^(SCALED_EXPONENT + 1 -
/// Scheme::ROW_STEP); UNSCALABLE where that is too much.
constexpr int UNSCALABLE = -1;
template <class Scheme>
__device__ __forceinline__ int row_steps(unsigned largest_of_row, unsigned largest) {
  const int exponent = static_cast<int>(largest >> MANTISSA_BITS) - EXPONENT_BIAS;
  const int below = static_cast<int>((largest >> MANTISSA_BITS) - (largest_of_row >> MANTISSA_BITS));
  const int headroom = SCALED_EXPONENT - exponent - scaling_exponent(largest);
  const int steps = (headroom + below) / Scheme::ROW_STEP;
  return largest_of_row == 0 ? 0 : steps <= LARGEST_SPREAD / Scheme::ROW_STEP ? steps : UNSCALABLE;
}

/// Makes a row's elements of C NaN, which are then computed without tensor cores.
template <int COUNT>
__device__ __forceinline__ void give_up(float (&x)[COUNT]) {
#pragma unroll
  for (float& value : x) {
    value = NAN;
  }
}

/// 16 bytes of each part: a group, multiplied by 2^exponent and split.
template <class Scheme>
__device__ __forceinline__ void split_group(const float (&x)[GROUP], int exponent, uint4 (&parts)[Scheme::PARTS]) {
  unsigned pairs[GROUP / 2][Scheme::PARTS];
#pragma unroll
  for (int i = 0; i < GROUP / 2; ++i) {
    split_pair<typename Scheme::Format>(scaled(x[2 * i], exponent), scaled(x[2 * i + 1], exponent), pairs[i]);
  }
#pragma unroll
  for (int part = 0; part < Scheme::PARTS; ++part) {
    parts[part] = uint4{pairs[0][part], pairs[1][part], pairs[2][part], pairs[3][part]};
  }
}

/// Stores what undoes a piece's scaling. To be called by all threads; `steps`: of this thread's rows, from `first_row`
/// on and `stride` apart, which the one of those that share them stores that is `first`.
template <class Scheme, int ROWS>
__device__ __forceinline__ void store_scaling(Scaling& scaling, unsigned largest, const int (&steps)[ROWS],
                                              int first_row, int stride, bool first, unsigned* shared) {
  unsigned most = 0;
#pragma unroll
  for (int i = 0; i < ROWS; ++i) {
    if (first) {
      scaling.rows[first_row + i * stride] = static_cast<unsigned char>(steps[i]);
    }
    most |= static_cast<unsigned>(steps[i]);
  }
  const bool plain = block_max(most, shared) == 0;
  if (threadIdx.x == 0) {
    scaling.exponent = largest == 0 ? ALL_ZERO : -scaling_exponent(largest);
    scaling.plain = plain ? scaling.exponent : NOT_PLAIN;
  }
}

/// Splits a piece of A. Eight neighbouring threads have the groups of a row, and each thread those of four rows.
template <class Scheme, bool VECTOR>
__device__ __forceinline__ void split_rows(const Problem& p, std::int64_t panel, std::int64_t piece,
                                           unsigned char* parts_of_piece, Scaling& scaling, unsigned* shared) {
  constexpr int STRIDE = SPLIT_THREADS / GROUPS;  // of a thread's rows
  const int group = threadIdx.x % GROUPS;
  const int first_row = threadIdx.x / GROUPS;
  const std::int64_t first_k = piece * PIECE_K;
  float x[GROUPS_PER_THREAD][GROUP];
#pragma unroll
  for (int i = 0; i < GROUPS_PER_THREAD; ++i) {
    const std::int64_t row = panel * PANEL + first_row + i * STRIDE;
    const float* const from = p.a + row * p.lda;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const std::int64_t k = first_k + k_in_piece(group, half * 4);
      if (VECTOR) {
        const float4 four = load_float4_or_zero(from + k, row < p.m && k < p.k);
        x[i][half * 4] = four.x;
        x[i][half * 4 + 1] = four.y;
        x[i][half * 4 + 2] = four.z;
        x[i][half * 4 + 3] = four.w;
      } else {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          x[i][half * 4 + j] = load_or_zero(from + k + j, row < p.m && k + j < p.k);
        }
      }
    }
  }
  unsigned largest_of_row[GROUPS_PER_THREAD];
  unsigned largest = 0;
#pragma unroll
  for (int i = 0; i < GROUPS_PER_THREAD; ++i) {
    largest_of_row[i] = largest_of(x[i]);
#pragma unroll
    for (int lanes = 1; lanes < GROUPS; lanes *= 2) {
      const unsigned other = __shfl_xor_sync(~0U, largest_of_row[i], lanes);
      largest_of_row[i] = other > largest_of_row[i] ? other : largest_of_row[i];
    }
    largest = largest_of_row[i] > largest ? largest_of_row[i] : largest;
  }
  largest = block_max(largest, shared);

  int steps[GROUPS_PER_THREAD];
#pragma unroll
  for (int i = 0; i < GROUPS_PER_THREAD; ++i) {
    steps[i] = row_steps<Scheme>(largest_of_row[i], largest);
    if (steps[i] == UNSCALABLE) {
      steps[i] = 0;
      give_up(x[i]);
    }
    uint4 parts[Scheme::PARTS];
    split_group<Scheme>(x[i], scaling_exponent(largest) + steps[i] * Scheme::ROW_STEP, parts);
    const unsigned place = swizzled((first_row + i * STRIDE) * WGMMA_ROW_BYTES + group * 16);
#pragma unroll
    for (int part = 0; part < Scheme::PARTS; ++part) {
      *reinterpret_cast<uint4*>(parts_of_piece + part * Piece<Scheme>::PART_BYTES + place) = parts[part];
    }
  }
  store_scaling<Scheme>(scaling, largest, steps, first_row, STRIDE, group == 0, shared);
}

/// Splits a piece of B, whose columns become rows: thread t and thread t + 128 have four groups each of column t, and
/// the parts take their way through shared memory, one at a time, so that all are stored in whole lines.
template <class Scheme>
__device__ __forceinline__ void split_columns(const Problem& p, std::int64_t panel, std::int64_t piece,
                                              unsigned char* parts_of_piece, Scaling& scaling, unsigned char* shared) {
  const int column = threadIdx.x % PANEL;
  const int first_group = threadIdx.x / PANEL * GROUPS_PER_THREAD;
  const std::int64_t first_k = piece * PIECE_K;
  const bool inside = panel * PANEL + column < p.n;
  const float* const from = p.b + first_k * p.ldb + panel * PANEL + column;
  float x[GROUPS_PER_THREAD][GROUP];
#pragma unroll
  for (int i = 0; i < GROUPS_PER_THREAD; ++i) {
#pragma unroll
    for (int j = 0; j < GROUP; ++j) {
      const int k = k_in_piece(first_group + i, j);
      x[i][j] = load_or_zero(from + k * p.ldb, inside && first_k + k < p.k);
    }
  }
  unsigned largest_of_column = 0;
#pragma unroll
  for (int i = 0; i < GROUPS_PER_THREAD; ++i) {
    largest_of_column = largest_of(x[i]) > largest_of_column ? largest_of(x[i]) : largest_of_column;
  }
  unsigned* const words = reinterpret_cast<unsigned*>(shared);
  words[threadIdx.x] = largest_of_column;
  __syncthreads();
  const unsigned other = words[threadIdx.x ^ PANEL];
  largest_of_column = other > largest_of_column ? other : largest_of_column;
  const unsigned largest = block_max(largest_of_column, words + SPLIT_THREADS);

  int steps[1] = {row_steps<Scheme>(largest_of_column, largest)};
  if (steps[0] == UNSCALABLE) {
    steps[0] = 0;
#pragma unroll
    for (float(&group)[GROUP] : x) {
      give_up(group);
    }
  }
  const int exponent = scaling_exponent(largest) + steps[0] * Scheme::ROW_STEP;
  store_scaling<Scheme>(scaling, largest, steps, column, 0, first_group == 0, words + SPLIT_THREADS);
  uint4 parts[GROUPS_PER_THREAD][Scheme::PARTS];
#pragma unroll
  for (int i = 0; i < GROUPS_PER_THREAD; ++i) {
    split_group<Scheme>(x[i], exponent, parts[i]);
  }
#pragma unroll
  for (int part = 0; part < Scheme::PARTS; ++part) {
    __syncthreads();
#pragma unroll
    for (int i = 0; i < GROUPS_PER_THREAD; ++i) {
      const unsigned place = swizzled(column * WGMMA_ROW_BYTES + (first_group + i) * 16);
      *reinterpret_cast<uint4*>(shared + place) = parts[i][part];
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < GROUPS_PER_THREAD; ++i) {
      const int place = (i * SPLIT_THREADS + static_cast<int>(threadIdx.x)) * 16;
      *reinterpret_cast<uint4*>(parts_of_piece + part * Piece<Scheme>::PART_BYTES + place) =
          *reinterpret_cast<const uint4*>(shared + place);
    }
  }
}

/// Splits one piece of A or B in each block, `workspace.count()` of them. VECTOR: rows of A split into aligned groups
/// of four.
template <class Scheme, bool VECTOR>
__device__ __forceinline__ void split(const Problem& p, void* memory) {
  __shared__ uint4 shared[Piece<Scheme>::PART_BYTES / sizeof(uint4)];
  let_next_kernel_start();
  const Workspace<Scheme> workspace(p, memory);
  const int panel = static_cast<int>(blockIdx.x) / workspace.along_k();
  const int piece = static_cast<int>(blockIdx.x) % workspace.along_k();
  unsigned char* const parts = workspace.parts(blockIdx.x);
  Scaling& scaling = *workspace.scaling(blockIdx.x);
  if (threadIdx.x == 0) {
    const int of_matrix = panel < workspace.a_panels() ? panel : panel - workspace.a_panels();
    scaling.panel = of_matrix;
    scaling.followed = of_matrix + 1 < panels_of(panel < workspace.a_panels() ? p.m : p.n) ? 1 : 0;
  }
  if (panel < workspace.a_panels()) {
    split_rows<Scheme, VECTOR>(p, panel, piece, parts, scaling, reinterpret_cast<unsigned*>(shared));
  } else {
    split_columns<Scheme>(p, panel - workspace.a_panels(), piece, parts, scaling,
                          reinterpret_cast<unsigned char*>(shared));
  }
}

// ---- The kernel that multiplies ----

/// A block computes tiles of one panel of A by PANELS of B. Two warpgroups multiply, half of A's panel each; one thread
/// of a third keeps two rings of pieces full, one for A and one for B.
template <class Scheme_, int PANELS_>
struct TileShape {
  using Scheme = Scheme_;
  static constexpr int PANELS = PANELS_;
  static constexpr int BM = PANEL;
  static constexpr int BN = PANEL * PANELS;
  static constexpr int MATH_THREADS = 2 * WARPGROUP;
  static constexpr int MATH_WARPS = MATH_THREADS / WARP;
  static constexpr int THREADS = MATH_THREADS + WARPGROUP;
  // 64 Ki registers make 168 for each of 384 threads. What the one that copies leaves over is for the others.
  static constexpr int COPY_REGISTERS = 40;
  static constexpr int MATH_REGISTERS = 168 + (168 - COPY_REGISTERS) / 2;
};

/// A ring of STAGES pieces in shared memory, its place given by shared addresses: for each stage a piece, its scaling,
/// and the barriers that tell that it is full and that it is empty. Each use of a stage is one phase of both.
template <class Scheme, int STAGES_>
class Ring {
 public:
  static constexpr int STAGES = STAGES_;
  static constexpr int PIECES_BYTES = STAGES * Piece<Scheme>::BYTES;
  static constexpr int SCALINGS_BYTES = STAGES * SCALING_BYTES;
  static constexpr int BARRIERS_BYTES = STAGES * 2 * MBARRIER_BYTES;

  __device__ __forceinline__ Ring(unsigned pieces, unsigned scalings, unsigned barriers)
      : pieces_(pieces), scalings_(scalings), barriers_(barriers) {}

  __device__ unsigned piece() const { return pieces_ + stage_ * Piece<Scheme>::BYTES; }
  __device__ unsigned scaling() const { return scalings_ + stage_ * SCALING_BYTES; }
  __device__ unsigned full() const { return barriers_ + stage_ * MBARRIER_BYTES; }
  __device__ unsigned empty() const { return barriers_ + (STAGES + stage_) * MBARRIER_BYTES; }
  __device__ void wait_until_full() const { mbarrier_wait(full(), parity_); }
  __device__ void wait_until_empty() const { mbarrier_wait(empty(), parity_ ^ 1U); }
  __device__ __forceinline__ void advance() {
    if (++stage_ == STAGES) {
      stage_ = 0;
      parity_ ^= 1U;
    }
  }
  /// Makes the barriers; by one thread.
  __device__ __forceinline__ void init(unsigned readers) const {
    for (int stage = 0; stage < STAGES; ++stage) {
      mbarrier_init(barriers_ + stage * MBARRIER_BYTES, 1);
      mbarrier_init(barriers_ + (STAGES + stage) * MBARRIER_BYTES, readers);
    }
  }

 private:
  unsigned pieces_;
  unsigned scalings_;
  unsigned barriers_;
  unsigned stage_ = 0;
  unsigned parity_ = 0;  ///< of the number of times that the ring has been passed
};

/// Where everything is in a block's dynamic shared memory.
template <class Scheme>
struct Rings {
  using A = Ring<Scheme, Scheme::A_STAGES>;
  using B = Ring<Scheme, Scheme::B_STAGES>;
  static constexpr int B_PIECES = A::PIECES_BYTES;
  static constexpr int A_SCALINGS = B_PIECES + B::PIECES_BYTES;
  static constexpr int B_SCALINGS = A_SCALINGS + A::SCALINGS_BYTES;
  static constexpr int A_BARRIERS = B_SCALINGS + B::SCALINGS_BYTES;
  static constexpr int B_BARRIERS = A_BARRIERS + A::BARRIERS_BYTES;
  static constexpr int SMEM_BYTES = B_BARRIERS + B::BARRIERS_BYTES;

  A a;
  B b;
  __device__ __forceinline__ explicit Rings(unsigned smem)
      : a(smem, smem + A_SCALINGS, smem + A_BARRIERS), b(smem + B_PIECES, smem + B_SCALINGS, smem + B_BARRIERS) {}
};

/// A tile of C at a position of the Hilbert curve.
template <class Shape>
struct Tile {
  int a_panel;
  int b_panel;   ///< the first
  int b_panels;  ///< fewer than Shape::PANELS at the right edge of C

  __device__ __forceinline__ Tile(const Problem& p, int position) {
    const auto b_all = static_cast<int>(panels_of(p.n));
    const TileIndex index = hilbert_tile(position, static_cast<int>(panels_of(p.m)), ceil_div(b_all, Shape::PANELS));
    a_panel = index.row;
    b_panel = index.col * Shape::PANELS;
    b_panels = b_all - b_panel < Shape::PANELS ? b_all - b_panel : Shape::PANELS;
  }
};

template <class Shape>
SGEMM_HOST_DEVICE inline std::int64_t tile_count(const Problem& p) {
  return panels_of(p.m) * ceil_div<std::int64_t>(panels_of(p.n), Shape::PANELS);
}

/// Fills the next stage of a ring with piece number `piece`.
template <class Scheme, int STAGES>
__device__ __forceinline__ void copy_piece(Ring<Scheme, STAGES>& ring, const Workspace<Scheme>& workspace,
                                           std::int64_t piece) {
  ring.wait_until_empty();
  mbarrier_arrive_expecting(ring.full(), Piece<Scheme>::BYTES + SCALING_BYTES);
  bulk_copy(ring.piece(), workspace.parts(piece), Piece<Scheme>::BYTES, ring.full());
  bulk_copy(ring.scaling(), workspace.scaling(piece), SCALING_BYTES, ring.full());
  ring.advance();
}

/// What the copying thread does: for each piece along k of each of the block's tiles one of A, then those of B.
template <class Shape>
__device__ __forceinline__ void copy_tiles(const Problem& p, const Schedule& schedule,
                                           const Workspace<typename Shape::Scheme>& workspace,
                                           Rings<typename Shape::Scheme> rings) {
  Work work(schedule);
  while (!work.done(schedule)) {
    const Segment segment = work.next(schedule);
    const Tile<Shape> tile(p, segment.tile);
    wait_for_kernel_before();  // once it has ended, no more
    const std::int64_t a_first = static_cast<std::int64_t>(tile.a_panel) * workspace.along_k();
    const std::int64_t b_first = static_cast<std::int64_t>(workspace.a_panels() + tile.b_panel) * workspace.along_k();
    for (int piece = segment.first; piece < segment.first + segment.count; ++piece) {
      copy_piece(rings.a, workspace, a_first + piece);
      for (int panel = 0; panel < tile.b_panels; ++panel) {
        copy_piece(rings.b, workspace, b_first + panel * workspace.along_k() + piece);
      }
    }
  }
}

/// Starts all products of two pieces, which replace what is in `partial`. The smallest come first: while a sum is
/// small, so is what tensor cores cut off it.
template <class Scheme>
__device__ __forceinline__ void start_products(float (&partial)[64], unsigned a_piece, unsigned b_piece) {
  const std::uint64_t a = wgmma_operand(a_piece);
  const std::uint64_t b = wgmma_operand(b_piece);
  wgmma_fence();
#pragma unroll
  for (int product = 0; product < Scheme::PRODUCTS; ++product) {
    const PartsOfProduct parts = Scheme::product(product);
#pragma unroll
    for (int step = 0; step < PIECE_K / WGMMA_K; ++step) {
      wgmma_64x128x16<typename Scheme::Format>(
          partial, wgmma_operand_at(a, parts.a * Piece<Scheme>::PART_BYTES + step * STEP_BYTES),
          wgmma_operand_at(b, parts.b * Piece<Scheme>::PART_BYTES + step * STEP_BYTES), product + step > 0);
    }
  }
  wgmma_commit();
}

/// The scaling at a shared address.
__device__ __forceinline__ const Scaling& scaling_at(unsigned address) {
#ifdef __CUDACC__
  return *static_cast<const Scaling*>(__cvta_shared_to_generic(address));
#else
  return *reinterpret_cast<const Scaling*>(static_cast<const unsigned char*>(simt::dynamic_shared_memory()) + address);
#endif
}

/// The sums of a warpgroup for 64 rows of C and 128 columns of each of some panels, those of a panel divided by a power
/// of two that pieces along k mostly share.
template <int PANELS>
struct Sums {
  float values[PANELS][64] = {};  ///< as wgmma holds D
  int exponents[PANELS];

  __device__ __forceinline__ Sums() {
#pragma unroll
    for (int& exponent : exponents) {
      exponent = ALL_ZERO;
    }
  }

  /// Whether products of two pieces have the exponent of a panel's sums, so that they may simply be added.
  __device__ __forceinline__ bool match(int panel, const Scaling& a, const Scaling& b) const {
    return a.plain + b.plain == exponents[panel];
  }

  /// Brings products of other pieces to the exponent of the sums, or the sums to that of the products where it is
  /// larger: no number grows. Where the two are too far apart the sums become NaN. `row` and `column`: of the thread's
  /// first elements in their panels.
  template <class Scheme>
  __device__ __forceinline__ void bring_together(int panel, float (&products)[64], const Scaling& a, const Scaling& b,
                                                 int row, int column) {
    const int own = a.exponent + b.exponent;
    if (own < ALL_ZERO / 2) {
      return;
    }
    if (own > exponents[panel]) {
      const float shrink = shrinking(own - exponents[panel]);
#pragma unroll
      for (float& value : values[panel]) {
        value *= shrink;
      }
      exponents[panel] = own;
    }
    const float factor = shrinking(exponents[panel] - own);
    const float row_factors[2] = {factor * power_of_2(-Scheme::ROW_STEP * a.rows[row]),
                                  factor * power_of_2(-Scheme::ROW_STEP * a.rows[row + 8])};
#pragma unroll
    for (int i = 0; i < 64; ++i) {
      const int own_column = column + i / 4 * 8 + i % 2;
      products[i] *= row_factors[i / 2 % 2] * power_of_2(-Scheme::ROW_STEP * b.rows[own_column]);
    }
  }

  /// Leaves the sums themselves in `values`.
  __device__ __forceinline__ void undo_scaling() {
#pragma unroll
    for (int panel = 0; panel < PANELS; ++panel) {
      const int exponent = exponents[panel] == ALL_ZERO ? 0 : exponents[panel];
#pragma unroll
      for (float& value : values[panel]) {
        value = scaled(value, exponent);
      }
    }
  }

 private:
  /// 2^-binades, or NaN. Sums that are still 0 and have no exponent shrink to 0.
  __device__ __forceinline__ static float shrinking(int binades) {
    return binades <= LARGEST_SPREAD ? power_of_2(-binades) : binades < -ALL_ZERO / 2 ? NAN : 0.0F;
  }
};

/// A thread's first row in its panel of A; the other one is 8 further down.
__device__ __forceinline__ int first_row(unsigned thread) { return thread / WARP * 16 + thread % WARP / 4; }
/// A thread's first column in a panel of B, of pairs that lie 8 apart.
__device__ __forceinline__ int first_column(unsigned thread) { return thread % 4 * 2; }

/// A tile by its panels, the first one of B's.
struct Panels {
  int a;
  int b;
};

/// sums += A * B for so many pieces along k of a tile, which it returns. Which tile it is the pieces tell: the
/// way along the Hilbert curve takes longer than to multiply one, and the copying thread has gone it already.
template <class Shape>
__device__ __forceinline__ Panels multiply_tile(int pieces, Rings<typename Shape::Scheme>& rings,
                                                Sums<Shape::PANELS>& sums) {
  constexpr int BYTES_OF_GROUP = WGMMA_M * WGMMA_ROW_BYTES;  // of A
  const unsigned group = threadIdx.x / WARPGROUP;
  Panels tile{};
  for (; pieces > 0; --pieces) {
    rings.a.wait_until_full();
    bool last = Shape::PANELS == 1;
#pragma unroll
    for (int panel = 0; panel < Shape::PANELS; ++panel) {
      if (panel > 0 && last) {
        break;
      }
      float products[64];
      rings.b.wait_until_full();
      start_products<typename Shape::Scheme>(products, rings.a.piece() + group * BYTES_OF_GROUP, rings.b.piece());
      const Scaling& a = scaling_at(rings.a.scaling());
      const Scaling& b = scaling_at(rings.b.scaling());
      const bool match = sums.match(panel, a, b);
      if (panel == 0) {
        tile = {a.panel, b.panel};
        last = last || __shfl_sync(~0U, b.followed, 0) == 0;  // at the right edge of C
      } else {
        last = true;
      }
      wgmma_wait<0>(products);
      if (!match) {
        sums.template bring_together<typename Shape::Scheme>(panel, products, a, b, first_row(threadIdx.x),
                                                             first_column(threadIdx.x));
      }
      __syncwarp();
      if (threadIdx.x % WARP == 0) {
        mbarrier_arrive(rings.b.empty());
        if (last) {
          mbarrier_arrive(rings.a.empty());
        }
      }
      rings.b.advance();
#pragma unroll
      for (int i = 0; i < 64; ++i) {
        sums.values[panel][i] += products[i];
      }
    }
    rings.a.advance();
  }
  return tile;
}

/// C = alpha * sums + beta * C for a thread's elements of one panel of B, the first at `first_row` and `first_col`.
/// They come in pairs of neighbours; PAIRS: which may be stored at a time. Where the sum of a pair is not finite, both
/// are computed again, as Inf and NaN have no parts that add up to them.
template <bool PAIRS>
__device__ __forceinline__ void store(const Problem& p, std::int64_t first_row, std::int64_t first_col,
                                      const float (&sums)[64]) {
  unsigned not_finite = 0;  // a bit for each pair
#pragma unroll
  for (int pair = 0; pair < 32; ++pair) {
    const std::int64_t row = first_row + pair % 2 * 8;
    const std::int64_t col = first_col + pair / 2 * 8;
    const float values[2] = {sums[2 * pair], sums[2 * pair + 1]};
    if (!(std::fabs(values[0] + values[1]) < INFINITY)) {
      not_finite |= 1U << static_cast<unsigned>(pair);
    } else if (row < p.m && col < p.n) {
      float* const c = p.c + row * p.ldc + col;
      if (PAIRS) {
        update2(c, values, p.alpha, p.beta);
      } else {
        update(c[0], values[0], p.alpha, p.beta);
        if (col + 1 < p.n) {
          update(c[1], values[1], p.alpha, p.beta);
        }
      }
    }
  }
#pragma unroll 1
  for (int pair = 0; not_finite != 0; ++pair, not_finite >>= 1U) {
    const std::int64_t row = first_row + pair % 2 * 8;
    const std::int64_t col = first_col + pair / 2 * 8;
#pragma unroll 1
    for (int j = 0; j < 2; ++j) {
      if (not_finite % 2 == 1 && row < p.m && col + j < p.n) {
        update(p.c[row * p.ldc + col + j], dot_product(p, row, col + j), p.alpha, p.beta);
      }
    }
  }
}

/// The sums of a part of a tile, without scaling: where that leaves what is too large for a float, C is computed again.
template <class Shape>
using PartialSumsOf = PartialSums<Shape::MATH_WARPS, Shape::PANELS, 64>;

/// What becomes of a segment's sums: of a tile's beginning, C, together with what other blocks have of the tile; of
/// another part, sums for the block that has the beginning.
template <class Shape, bool PAIRS>
__device__ __forceinline__ void finish(const Problem& p, const Schedule& schedule, const Segment& segment,
                                       const Panels& tile, Sums<Shape::PANELS>& sums) {
  sums.undo_scaling();
  if (segment.first > 0) {
    PartialSumsOf<Shape>(schedule, Work::share()).publish(sums.values);
    return;
  }
  if (segment.count < schedule.stages) {
    const int end_of_tile = (segment.tile - schedule.whole + 1) * schedule.stages;
#pragma unroll 1
    for (int share = Work::share() + 1; schedule.begin_of_share(share) < end_of_tile; ++share) {
      const PartialSumsOf<Shape> part(schedule, share);
      part.wait_together();
      part.add_to(sums.values);
    }
  }
#pragma unroll
  for (int panel = 0; panel < Shape::PANELS; ++panel) {
    store<PAIRS>(p, static_cast<std::int64_t>(tile.a) * PANEL + first_row(threadIdx.x),
                 static_cast<std::int64_t>(tile.b + panel) * PANEL + first_column(threadIdx.x), sums.values[panel]);
  }
}

/// What a multiplying warpgroup does.
template <class Shape, bool PAIRS>
__device__ __forceinline__ void multiply_tiles(const Problem& p, const Schedule& schedule,
                                               Rings<typename Shape::Scheme> rings) {
  Work work(schedule);
#pragma unroll 1
  while (!work.done(schedule)) {
    const Segment segment = work.next(schedule);
    Sums<Shape::PANELS> sums;
    const Panels tile = multiply_tile<Shape>(segment.count, rings, sums);
    finish<Shape, PAIRS>(p, schedule, segment, tile, sums);
  }
}

/// The tiles of C, dealt out to blocks by the schedule, whose stages are pieces. PAIRS: rows of C split into aligned
/// pairs.
template <class Shape, bool PAIRS>
__device__ __forceinline__ void multiply(const Problem& p, void* memory, const Schedule& schedule) {
  using Scheme = typename Shape::Scheme;
  const Workspace<Scheme> workspace(p, memory);
  const Rings<Scheme> rings(shared_address(dynamic_smem()));
  if (threadIdx.x == 0) {
    rings.a.init(Shape::MATH_WARPS);
    rings.b.init(Shape::MATH_WARPS);
    announce_mbarriers();
  }
  __syncthreads();
  if (threadIdx.x >= Shape::MATH_THREADS) {
    lower_register_limit<Shape::COPY_REGISTERS>();
    if (threadIdx.x == Shape::MATH_THREADS) {
      copy_tiles<Shape>(p, schedule, workspace, rings);
    }
  } else {
    raise_register_limit<Shape::MATH_REGISTERS>();
    multiply_tiles<Shape, PAIRS>(p, schedule, rings);
  }
}

// ---- Launching ----

/// The kernels of a chapter, which carry its name.
template <class Scheme>
struct Kernels {
  void (*split)(Problem, void*);
  void (*split_scalar)(Problem, void*);           ///< where rows of A do not split into aligned groups of four
  void (*wide)(Problem, void*, Schedule);         ///< TileShape<Scheme, 2>
  void (*wide_scalar)(Problem, void*, Schedule);  ///< where rows of C do not split into aligned pairs
  void (*narrow)(Problem, void*, Schedule);       ///< TileShape<Scheme, 1>
  void (*narrow_scalar)(Problem, void*, Schedule);
};

/// How the tiles of a problem are dealt out, and how many cycles of a multiprocessor's clock that is predicted to take.
struct Plan {
  Schedule schedule;
  int blocks;
  double cycles;
};

// The prediction: measured on an H200 and fitted, docs/lab/11-split-products.md. Cycles.
constexpr double MULTIPLIED_PER_CYCLE = 2048 * 0.93;  // numbers of 16 bits
constexpr double NARROW = 1.05;  // times what a product takes in tiles of half the width: a third more is copied
// Blocks that are at different k share less in the L2. Times what a product takes,
constexpr double STRAYING_NARROW = 1.10;  // in tiles of half the width,
constexpr double STRAYING_LARGE = 1.20;   // or where C has more tiles than there are multiprocessors.
// SMs without a tile in the last round leave their power to the others. Times what whole tiles take.
constexpr double IDLE = 0.98;
constexpr double STORE = 6500;  // sums of a panel, to C or to the workspace
constexpr double ADD = 1200;    // sums of a panel, from the workspace
constexpr double FLAG = 1800;   // what each part of a tile takes besides

/// For `blocks` blocks, with tiles from number `whole` on divided along k.
template <class Shape>
Plan plan(const Problem& p, int tiles, int whole, int blocks) {
  using Scheme = typename Shape::Scheme;
  const Schedule schedule = Schedule::of(tiles, static_cast<int>(pieces_along_k(p)), whole, blocks);
  const auto panels = static_cast<double>(std::min<std::int64_t>(Shape::PANELS, panels_of(p.n)));
  const bool narrow = Shape::PANELS == 1 && panels_of(p.n) > 1;
  const double stage =
      panels * PANEL * PANEL * PIECE_K * Scheme::PRODUCTS / MULTIPLIED_PER_CYCLE * (narrow ? NARROW : 1.0);
  double cycles = ceil_div(whole, blocks) * (schedule.stages * stage + STORE * panels);
  if (whole == tiles) {
    cycles *= IDLE;
  } else {
    const double share = schedule.share + (schedule.longer_shares > 0 ? 1.0 : 0.0);
    const double parts = std::max(1.0, schedule.stages / share);  // of a tile
    const double straying = share > schedule.stages ? STRAYING_LARGE : narrow ? STRAYING_NARROW : 1.0;
    cycles +=
        share * stage * straying + (1.0 + share / schedule.stages) * STORE * panels + parts * (ADD * panels + FLAG);
  }
  return {schedule, blocks, cycles};
}

/// Each tile by one block, and no more blocks than finish in the same time: the others' power is better spent on these.
template <class Shape>
Plan plan_whole(const Problem& p, int multiprocessors) {
  const auto tiles = static_cast<int>(tile_count<Shape>(p));
  const int rounds = ceil_div(tiles, multiprocessors);
  return plan<Shape>(p, tiles, tiles, ceil_div(tiles, rounds));
}

/// What does not fill all multiprocessors evenly is divided along k. Of less than one tile for each, every block has a
/// part, or fewer blocks do where sums would take longer to collect than to compute.
template <class Shape>
Plan plan_streamed(const Problem& p, int multiprocessors) {
  const auto tiles = static_cast<int>(tile_count<Shape>(p));
  const int rest = tiles % multiprocessors;
  if (tiles > multiprocessors) {
    const int streamed = rest == 0 ? 0 : 2 * rest > multiprocessors ? rest + multiprocessors : rest;
    return plan<Shape>(p, tiles, tiles - streamed, multiprocessors);
  }
  Plan best = plan<Shape>(p, tiles, 0, tiles);
  const auto most = static_cast<int>(std::min<std::int64_t>(multiprocessors, tiles * pieces_along_k(p)));
  for (int blocks = tiles + 1; blocks <= most; ++blocks) {
    const Plan other = plan<Shape>(p, tiles, 0, blocks);
    best = other.cycles < best.cycles ? other : best;
  }
  return best;
}

/// A configuration and its prediction.
struct Candidate {
  Configuration configuration;
  double cycles;
};

template <class Shape>
Candidate candidate(const Problem& p, const Kernels<typename Shape::Scheme>& kernels, int multiprocessors,
                    bool streamed) {
  using Scheme = typename Shape::Scheme;
  using Memory = SharesMemory<Shape::MATH_WARPS, Shape::PANELS, 64>;
  constexpr bool WIDE = Shape::PANELS == 2;
  const auto plan_for = streamed ? plan_streamed<Shape> : plan_whole<Shape>;
  const Plan planned = plan_for(p, multiprocessors);
  const std::size_t pieces_at = streamed ? Memory::bytes(multiprocessors) : 0;
  const auto run = [=, p_k = p.k](const Problem& problem, void* workspace, cudaStream_t stream) {
    Plan work = problem.k == p_k ? planned : plan_for(problem, multiprocessors);  // k may have become 0
    Memory::place(work.schedule, workspace, multiprocessors);
    void* const pieces = static_cast<char*>(workspace) + pieces_at;
    const bool vector_access = rows_split_into_float4(problem.a, problem.k, problem.lda);
    launch(vector_access ? kernels.split : kernels.split_scalar, Workspace<Scheme>(problem, nullptr).count(),
           dim3(SPLIT_THREADS), 0, stream, problem, pieces);
    const bool pairs = rows_split_into_float2(problem.c, problem.n, problem.ldc);
    launch_dependent(pairs  ? WIDE ? kernels.wide : kernels.narrow
                     : WIDE ? kernels.wide_scalar
                            : kernels.narrow_scalar,
                     work.blocks, dim3(Shape::THREADS), Rings<Scheme>::SMEM_BYTES, stream, problem, pieces,
                     work.schedule);
  };
  return {{std::to_string(Shape::BM) + "x" + std::to_string(Shape::BN) + (streamed ? " stream-k" : ""),
           pieces_at + Workspace<Scheme>(p, nullptr).bytes(), run},
          planned.cycles};
}

/// Tiles of 128x256 and of 128x128, whole and divided along k, the one that is predicted to be the fastest first.
template <class Scheme>
std::vector<Configuration> configurations(const Problem& p, const Kernels<Scheme>& kernels) {
  using Wide = TileShape<Scheme, 2>;
  using Narrow = TileShape<Scheme, 1>;
  int device = 0;
  int multiprocessors = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
  std::vector<Candidate> candidates;
  for (const bool streamed : {false, true}) {
    candidates.push_back(candidate<Narrow>(p, kernels, multiprocessors, streamed));
    candidates.push_back(candidate<Wide>(p, kernels, multiprocessors, streamed));
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& x, const Candidate& y) { return x.cycles < y.cycles; });
  std::vector<Configuration> all;
  for (const Candidate& candidate : candidates) {
    all.push_back(candidate.configuration);
  }
  return all;
}

}  // namespace split_product
}  // namespace SGEMM_TARGET
}  // namespace sgemm
