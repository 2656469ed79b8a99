#pragma once

// FP32 products on 16-bit tensor cores (sm_90a), first half: A and B are split into parts, piece by piece, by a kernel
// of its own. Chapters 11 and 12 differ by their scheme: how many parts of which format, and which products of these
// count. Chapter 11 explains what is here.

#include "common/ceil_div.hpp"
#include "common/problem.hpp"
#include "common/tiling.cuh"
#include "common/vector_access.cuh"
#include "engine/split_parts.cuh"
#include "ptx/griddepcontrol.cuh"
#include "ptx/wgmma.cuh"

#include <cmath>
#include <cstddef>
#include <cstdint>

namespace sgemm {
inline namespace SGEMM_TARGET {
namespace split_product {

constexpr int WARP = 32;
constexpr int PANEL = 128;   // rows of A or columns of B that are split, copied and multiplied together
constexpr int PIECE_K = 64;  // of which so many k make a piece
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
  griddepcontrol_launch_dependents();
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

}  // namespace split_product
}  // namespace SGEMM_TARGET
}  // namespace sgemm
