#pragma once

// FP32 products on 16-bit tensor cores (sm_90a), second half: the kernel that multiplies pieces.
// Chapters 11 and 12 differ by their scheme: how many parts of which format, and which products of these count. Chapter
// 11 explains what is here.

#include "common/ceil_div.hpp"
#include "common/epilogue.cuh"
#include "common/hilbert.hpp"
#include "common/problem.hpp"
#include "engine/dot_product.cuh"
#include "engine/split_parts.cuh"
#include "engine/split_pieces.cuh"
#include "engine/stream_k.cuh"
#include "ptx/cp_async.cuh"
#include "ptx/cp_async_bulk.cuh"
#include "ptx/griddepcontrol.cuh"
#include "ptx/mbarrier.cuh"
#include "ptx/setmaxnreg.cuh"
#include "ptx/shared_memory.cuh"
#include "ptx/wgmma.cuh"

#include <cmath>
#include <cstdint>

namespace sgemm {
inline namespace SGEMM_TARGET {
namespace split_product {

constexpr int STEP_BYTES = 32;  // of a row of a piece, for the 16 k of one instruction

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
  mbarrier_arrive_expect_tx(ring.full(), Piece<Scheme>::BYTES + SCALING_BYTES);
  cp_async_bulk(ring.piece(), workspace.parts(piece), Piece<Scheme>::BYTES, ring.full());
  cp_async_bulk(ring.scaling(), workspace.scaling(piece), SCALING_BYTES, ring.full());
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
    griddepcontrol_wait();  // once it has ended, no more
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
  const std::uint64_t a = wgmma_descriptor(a_piece);
  const std::uint64_t b = wgmma_descriptor(b_piece);
  wgmma_fence();
#pragma unroll
  for (int product = 0; product < Scheme::PRODUCTS; ++product) {
    const PartsOfProduct parts = Scheme::product(product);
#pragma unroll
    for (int step = 0; step < PIECE_K / WGMMA_K; ++step) {
      wgmma_m64n128k16<typename Scheme::Format>(
          partial, wgmma_descriptor_at(a, parts.a * Piece<Scheme>::PART_BYTES + step * STEP_BYTES),
          wgmma_descriptor_at(b, parts.b * Piece<Scheme>::PART_BYTES + step * STEP_BYTES), product + step > 0);
    }
  }
  wgmma_commit_group();
}

/// The scaling at a shared address.
__device__ __forceinline__ const Scaling& scaling_at(unsigned address) {
  return *static_cast<const Scaling*>(from_shared_address(address));
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
      wgmma_wait_group<0>(products);
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
    fence_mbarrier_init();
  }
  __syncthreads();
  if (threadIdx.x >= Shape::MATH_THREADS) {
    setmaxnreg_dec<Shape::COPY_REGISTERS>();
    if (threadIdx.x == Shape::MATH_THREADS) {
      copy_tiles<Shape>(p, schedule, workspace, rings);
    }
  } else {
    setmaxnreg_inc<Shape::MATH_REGISTERS>();
    multiply_tiles<Shape, PAIRS>(p, schedule, rings);
  }
}

}  // namespace split_product
}  // namespace SGEMM_TARGET
}  // namespace sgemm
