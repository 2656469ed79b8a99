#pragma once

// FP32 products on 16-bit tensor cores, first half: a kernel of its own splits A and B into terms, operand tile by
// operand tile. Schemes differ in the number and format of the terms, and in the
// products of terms that count. Chapters 11 and 12 explain the idea, docs/11_bf16x6.md what is more here.

#include "common/ceil_div.hpp"
#include "common/problem.hpp"
#include "common/tiling.cuh"
#include "common/vector_access.cuh"
#include "engine/progress_window.cuh"
#include "engine/split_terms.cuh"
#include "ptx/griddepcontrol.cuh"
#include "ptx/wgmma.cuh"

#include <cmath>
#include <cstddef>
#include <cstdint>

namespace sgemm::SGEMM_TARGET::split_product {

constexpr int WARP = 32;
constexpr int TILE_ROWS = 128;  // rows of A or columns of B that are split, copied and multiplied together
constexpr int BK = 64;          // a k-tile of numbers of 16 bits
static_assert(BK * 2 == WGMMA_ROW_BYTES && TILE_ROWS == 2 * WGMMA_M);

/// A product of two terms: their numbers, the largest being 0.
struct TermsOfProduct {
  int a;
  int b;
};

/// The powers of two that undo the scaling of an operand tile, which was scaled before it was split, and the place of
/// the tile. Chapter 13 has no factors but those of rows, by a rule of its own.
struct Scaling {
  int exponent;                   ///< of all rows; ALL_ZERO if the tile holds zeros alone
  int uniform;                    ///< the same, or NOT_UNIFORM if some rows have a factor of their own as well
  int tile;                       ///< its number along M (of A) or N (of B), so that consumers need not compute it
  int has_next;                   ///< 1 if another one follows along M or N, 0 for the last one
  unsigned char rows[TILE_ROWS];  ///< the factor of a row is 2^-(Split::ROW_STEP * this)
};
// These lie far from any sum of two exponents. Their sums with each other and with exponents do, too.
constexpr int ALL_ZERO = -(1 << 20);
constexpr int NOT_UNIFORM = 1 << 24;
constexpr int SCALING_BYTES = sizeof(Scaling);
static_assert(SCALING_BYTES % 16 == 0);

/// An operand tile: its terms one after the other, each TILE_ROWS rows of Split::BK numbers, as wgmma reads them. The
/// columns of B have become rows.
template <class Split>
struct OperandTile {
  static constexpr int TERM_BYTES = TILE_ROWS * WGMMA_ROW_BYTES;
  static constexpr int BYTES = Split::TERMS * TERM_BYTES;
};

/// Where a 16-byte group of a row lies in each term of an operand tile, as wgmma reads it.
__device__ __forceinline__ unsigned place_in_term(unsigned row, unsigned group) {
  return swizzled(row * WGMMA_ROW_BYTES + group * 16);
}

/// Stores 16 bytes of each term at a place in an operand tile.
template <int TERMS>
__device__ __forceinline__ void store_terms(unsigned char* tile, unsigned place, const uint4 (&terms)[TERMS]) {
#pragma unroll
  for (int term = 0; term < TERMS; ++term) {
    *reinterpret_cast<uint4*>(tile + term * (TILE_ROWS * WGMMA_ROW_BYTES) + place) = terms[term];
  }
}

/// The number of operand tiles along M or N.
SGEMM_HOST_DEVICE inline std::int64_t tiles_along(std::int64_t rows) { return ceil_div<std::int64_t>(rows, TILE_ROWS); }
/// The number of k-tiles. There is at least one; it holds zeros if K is 0.
template <class Split>
SGEMM_HOST_DEVICE inline std::int64_t k_tiles_of(const Problem& p) {
  return p.k == 0 ? 1 : ceil_div<std::int64_t>(p.k, Split::BK);
}
/// The places of all operand tiles and their scalings. Tiles of the same rows of A, or columns of B, follow one another
/// along k. Those of B come after those of A.
template <class Split>
class Workspace {
 public:
  SGEMM_HOST_DEVICE Workspace(const Problem& p, void* memory)
      : k_tiles_(static_cast<int>(k_tiles_of<Split>(p))),
        a_tiles_(static_cast<int>(tiles_along(p.m))),
        count_((tiles_along(p.m) + tiles_along(p.n)) * k_tiles_of<Split>(p)),
        memory_(static_cast<unsigned char*>(memory)) {}

  SGEMM_HOST_DEVICE int k_tiles() const { return k_tiles_; }
  SGEMM_HOST_DEVICE int a_tiles() const { return a_tiles_; }
  SGEMM_HOST_DEVICE std::int64_t count() const { return count_; }
  SGEMM_HOST_DEVICE std::size_t bytes() const {
    return static_cast<std::size_t>(count_) * (OperandTile<Split>::BYTES + SCALING_BYTES) + PROGRESS_BYTES;
  }
  __device__ unsigned char* terms(std::int64_t tile) const { return memory_ + tile * OperandTile<Split>::BYTES; }
  __device__ Scaling* scaling(std::int64_t tile) const {
    return reinterpret_cast<Scaling*>(memory_ + count_ * OperandTile<Split>::BYTES) + tile;
  }
  /// The word for the progress of the blocks that multiply. The kernel that splits resets it.
  __device__ unsigned* progress() const { return reinterpret_cast<unsigned*>(scaling(count_)); }

 private:
  static constexpr int PROGRESS_BYTES = 16;  // so that what follows in memory is aligned

  int k_tiles_;
  int a_tiles_;
  std::int64_t count_;
  unsigned char* memory_;
};

// ---- The kernel that splits ----

constexpr int SPLIT_THREADS = 256;
constexpr int SPLIT_BLOCKS_PER_SM = 3;
constexpr int SPLIT_WARPS = SPLIT_THREADS / WARP;
// A thread has 32 numbers, in groups of 8 that make 16 bytes of each term. Group g of a row holds the elements at k =
// 4g to 4g + 3 and 32 + 4g to 32 + 4g + 3. The order of k in a k-tile is free as long as A and B agree. In this order
// threads copy neighbouring groups of four from A.
constexpr int GROUP = 8;
constexpr int GROUPS = BK / GROUP;  // in a row
constexpr int GROUPS_PER_THREAD = 4;
static_assert(TILE_ROWS * BK == SPLIT_THREADS * GROUPS_PER_THREAD * GROUP);

/// The k of number `i` of group `group`, from the beginning of the k-tile. Groups of more numbers have it too.
__device__ constexpr int k_in_tile(int group, int i) { return i / 4 * (GROUPS * 4) + group * 4 + i % 4; }

__device__ __forceinline__ unsigned larger(unsigned x, unsigned y) { return x > y ? x : y; }

/// The largest of all threads' values. All threads call it. `shared` has a word for each warp, and no thread uses it
/// any more.
__device__ __forceinline__ unsigned block_max(unsigned value, unsigned* shared) {
  __syncthreads();
#pragma unroll
  for (int lanes = 1; lanes < WARP; lanes *= 2) {
    value = larger(value, __shfl_xor_sync(~0U, value, lanes));
  }
  if (threadIdx.x % WARP == 0) {
    shared[threadIdx.x / WARP] = value;
  }
  __syncthreads();
#pragma unroll
  for (int warp = 0; warp < SPLIT_WARPS; ++warp) {
    value = larger(value, shared[warp]);
  }
  return value;
}

/// The largest magnitude of a thread's group.
__device__ __forceinline__ unsigned largest_of(const float (&x)[GROUP]) {
  unsigned largest = 0;
#pragma unroll
  for (const float value : x) {
    largest = larger(largest, magnitude(value));
  }
  return largest;
}

/// Tensor cores are not used if the scales of rows, of columns or of k-tiles differ by more binades than this. The
/// accumulators of a tile have one exponent in common. Three such differences together leave 2^-138 of the largest
/// number, which is still in a float's range.
constexpr int LARGEST_SPREAD = 46;

/// The number of steps by which a row is scaled on its own, so that its largest number comes to at least
/// 2^(SCALED_EXPONENT + 1 - Split::ROW_STEP). The number is UNSCALABLE if that would take too many steps.
constexpr int UNSCALABLE = -1;
template <class Split>
__device__ __forceinline__ int row_steps(unsigned largest_of_row, unsigned largest) {
  const int exponent = static_cast<int>(largest >> MANTISSA_BITS) - EXPONENT_BIAS;
  const int below = static_cast<int>((largest >> MANTISSA_BITS) - (largest_of_row >> MANTISSA_BITS));
  const int headroom = SCALED_EXPONENT - exponent - scaling_exponent(largest);
  const int steps = (headroom + below) / Split::ROW_STEP;
  return largest_of_row == 0 ? 0 : steps <= LARGEST_SPREAD / Split::ROW_STEP ? steps : UNSCALABLE;
}

/// Makes a row's elements of C NaN, so that they are computed again without tensor cores.
template <int COUNT>
__device__ __forceinline__ void give_up(float (&x)[COUNT]) {
#pragma unroll
  for (float& value : x) {
    value = NAN;
  }
}

/// Splits a group, of which `number(i)` is number i. The result is 16 bytes of each term.
template <class Split, class Number>
__device__ __forceinline__ void split_group(const Number& number, uint4 (&terms)[Split::TERMS]) {
  unsigned pairs[GROUP / 2][Split::TERMS];
#pragma unroll
  for (int i = 0; i < GROUP / 2; ++i) {
    split_pair<typename Split::Format>(number(2 * i), number(2 * i + 1), pairs[i]);
  }
#pragma unroll
  for (int term = 0; term < Split::TERMS; ++term) {
    terms[term] = uint4{pairs[0][term], pairs[1][term], pairs[2][term], pairs[3][term]};
  }
}

/// Stores the factors that undo a tile's scaling. All threads call it. `steps` holds the steps of this thread's rows,
/// which begin at `first_row` and lie `stride` apart. Several threads share these rows, and the one that is `first`
/// stores their steps.
template <int ROWS>
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
    scaling.uniform = plain ? scaling.exponent : NOT_UNIFORM;
  }
}

/// The rows of A or the columns of B in global memory: `count` of them, of `depth` elements along k.
struct Operand {
  const float* data;
  std::int64_t stride;  ///< between rows of A, where k is contiguous, otherwise between neighbours along k
  std::int64_t count;
  std::int64_t depth;
};

/// Reads a group of a line along which k is contiguous, as in the rows of A. float4: rows split into aligned groups of
/// four.
template <Access ACCESS, int NUMBERS>
__device__ __forceinline__ void load_k_major(const Operand& rows, std::int64_t row, std::int64_t first_k, int group,
                                             float (&x)[NUMBERS]) {
  const float* const from = rows.data + row * rows.stride;
#pragma unroll
  for (int i = 0; i < NUMBERS; i += 4) {
    const std::int64_t k = first_k + k_in_tile(group, i);
    if (ACCESS == Access::float4) {
      const float4 four = load_float4_or_zero(from + k, row < rows.count && k < rows.depth);
      x[i] = four.x;
      x[i + 1] = four.y;
      x[i + 2] = four.z;
      x[i + 3] = four.w;
    } else {
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        x[i + j] = load_or_zero(from + k + j, row < rows.count && k + j < rows.depth);
      }
    }
  }
}

/// Reads a group of a line among lines that lie side by side, as the columns of B.
template <int NUMBERS>
__device__ __forceinline__ void load_mn_major(const Operand& columns, std::int64_t column, std::int64_t first_k,
                                              int group, float (&x)[NUMBERS]) {
  const float* const from = columns.data + first_k * columns.stride + column;
#pragma unroll
  for (int i = 0; i < NUMBERS; ++i) {
    const int k = k_in_tile(group, i);
    x[i] = load_or_zero(from + k * columns.stride, column < columns.count && first_k + k < columns.depth);
  }
}

/// An operand tile that a block splits: its place in the operand, where its terms and its scaling go, and shared memory
/// for a term.
struct TileToSplit {
  int tile;
  int k_tile;
  unsigned char* terms;
  Scaling& scaling;
  uint4* shared;
};

/// Splits a tile of an operand in which k is contiguous, as in the rows of A. Eight neighbouring threads have the
/// groups of a row. Each thread has a group of each of four rows. float4: rows split into aligned groups of four.
template <class Split, Access ACCESS>
__device__ __forceinline__ void split_rows(const Operand& rows, const TileToSplit& to) {
  constexpr int STRIDE = SPLIT_THREADS / GROUPS;  // of a thread's rows
  auto* const shared = reinterpret_cast<unsigned*>(to.shared);
  const int group = threadIdx.x % GROUPS;
  const int first_row = threadIdx.x / GROUPS;
  float x[GROUPS_PER_THREAD][GROUP];
#pragma unroll
  for (int i = 0; i < GROUPS_PER_THREAD; ++i) {
    load_k_major<ACCESS>(rows, std::int64_t{to.tile} * TILE_ROWS + first_row + i * STRIDE, std::int64_t{to.k_tile} * BK,
                         group, x[i]);
  }
  unsigned largest_of_row[GROUPS_PER_THREAD];
  unsigned largest = 0;
#pragma unroll
  for (int i = 0; i < GROUPS_PER_THREAD; ++i) {
    largest_of_row[i] = largest_of(x[i]);
#pragma unroll
    for (int lanes = 1; lanes < GROUPS; lanes *= 2) {
      largest_of_row[i] = larger(largest_of_row[i], __shfl_xor_sync(~0U, largest_of_row[i], lanes));
    }
    largest = larger(largest, largest_of_row[i]);
  }
  largest = block_max(largest, shared);

  int steps[GROUPS_PER_THREAD];
#pragma unroll
  for (int i = 0; i < GROUPS_PER_THREAD; ++i) {
    steps[i] = row_steps<Split>(largest_of_row[i], largest);
    if (steps[i] == UNSCALABLE) {
      steps[i] = 0;
      give_up(x[i]);
    }
    uint4 terms[Split::TERMS];
    const int exponent = scaling_exponent(largest) + steps[i] * Split::ROW_STEP;
    split_group<Split>([&](int j) { return scaled(x[i][j], exponent); }, terms);
    store_terms(to.terms, place_in_term(first_row + i * STRIDE, group), terms);
  }
  store_scaling(to.scaling, largest, steps, first_row, STRIDE, group == 0, shared);
}

/// Splits a tile of an operand in which k is not contiguous, as in the columns of B, which become rows. Thread t and
/// thread t + 128 have four groups each of column t. The terms go through shared memory one at a time, so that all are
/// stored in whole lines.
template <class Split>
__device__ __forceinline__ void split_columns(const Operand& columns, const TileToSplit& to) {
  const int column = threadIdx.x % TILE_ROWS;
  const int first_group = threadIdx.x / TILE_ROWS * GROUPS_PER_THREAD;
  float x[GROUPS_PER_THREAD][GROUP];
#pragma unroll
  for (int i = 0; i < GROUPS_PER_THREAD; ++i) {
    load_mn_major(columns, std::int64_t{to.tile} * TILE_ROWS + column, std::int64_t{to.k_tile} * BK, first_group + i,
                  x[i]);
  }
  unsigned largest_of_column = 0;
#pragma unroll
  for (int i = 0; i < GROUPS_PER_THREAD; ++i) {
    largest_of_column = larger(largest_of_column, largest_of(x[i]));
  }
  auto* const words = reinterpret_cast<unsigned*>(to.shared);
  words[threadIdx.x] = largest_of_column;
  __syncthreads();
  largest_of_column = larger(largest_of_column, words[threadIdx.x ^ TILE_ROWS]);
  const unsigned largest = block_max(largest_of_column, words + SPLIT_THREADS);

  int steps[1] = {row_steps<Split>(largest_of_column, largest)};
  if (steps[0] == UNSCALABLE) {
    steps[0] = 0;
#pragma unroll
    for (float(&group)[GROUP] : x) {
      give_up(group);
    }
  }
  const int exponent = scaling_exponent(largest) + steps[0] * Split::ROW_STEP;
  store_scaling(to.scaling, largest, steps, column, 0, first_group == 0, words + SPLIT_THREADS);
  auto* const shared = reinterpret_cast<unsigned char*>(to.shared);
  uint4 terms[GROUPS_PER_THREAD][Split::TERMS];
#pragma unroll
  for (int i = 0; i < GROUPS_PER_THREAD; ++i) {
    split_group<Split>([&](int j) { return scaled(x[i][j], exponent); }, terms[i]);
  }
#pragma unroll
  for (int term = 0; term < Split::TERMS; ++term) {
    __syncthreads();
#pragma unroll
    for (int i = 0; i < GROUPS_PER_THREAD; ++i) {
      const unsigned place = place_in_term(column, first_group + i);
      *reinterpret_cast<uint4*>(shared + place) = terms[i][term];
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < GROUPS_PER_THREAD; ++i) {
      const int place = (i * SPLIT_THREADS + static_cast<int>(threadIdx.x)) * 16;
      *reinterpret_cast<uint4*>(to.terms + term * OperandTile<Split>::TERM_BYTES + place) =
          *reinterpret_cast<const uint4*>(shared + place);
    }
  }
}

/// Splits operand tile number `number` of A or B: all threads call `split_a(to)` or `split_b(to)` with a TileToSplit.
template <class Split, class SplitA, class SplitB>
__device__ __forceinline__ void split_tile(const Problem& p, const Workspace<Split>& workspace, int number,
                                           uint4* shared, const SplitA& split_a, const SplitB& split_b) {
  const int tile_of_both = number / workspace.k_tiles();
  const bool of_a = tile_of_both < workspace.a_tiles();
  const int tile = of_a ? tile_of_both : tile_of_both - workspace.a_tiles();
  Scaling& scaling = *workspace.scaling(number);
  if (threadIdx.x == 0) {
    scaling.tile = tile;
    scaling.has_next = tile + 1 < tiles_along(of_a ? p.m : p.n) ? 1 : 0;
  }
  const TileToSplit to{tile, number % workspace.k_tiles(), workspace.terms(number), scaling, shared};
  if (of_a) {
    split_a(to);
  } else {
    split_b(to);
  }
}

/// The same in each of `workspace.count()` blocks.
template <class Split, class SplitA, class SplitB>
__device__ __forceinline__ void split_tile(const Problem& p, void* memory, const SplitA& split_a,
                                           const SplitB& split_b) {
  __shared__ uint4 shared[OperandTile<Split>::TERM_BYTES / sizeof(uint4)];
  griddepcontrol_launch_dependents();
  const Workspace<Split> workspace(p, memory);
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    ProgressWindow::reset(workspace.progress());
  }
  split_tile(p, workspace, static_cast<int>(blockIdx.x), shared, split_a, split_b);
}

}  // namespace sgemm::SGEMM_TARGET::split_product
