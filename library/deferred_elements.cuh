#pragma once

// Elements of C that tensor cores can not compute, in the library's kernels of chapters 11, 12 and 13. In a chapter
// each thread computes its elements at once, one multiplication after the other, and a single row takes milliseconds.
// Here it only notes them. When a block has no more tiles, its consumer warps compute all of them together, from
// k-tiles of A and B in the memory of the rings, which nobody needs any more.
//
// Each sum is added in the order of k, as in a chapter, so that the bits are the same. In the reproducible class, sums
// are doubles.

#include "common/ceil_div.hpp"
#include "common/epilogue.cuh"
#include "common/hilbert.hpp"
#include "common/problem.hpp"
#include "common/target.hpp"
#include "common/vector_access.cuh"
#include "engine/product_policy.cuh"
#include "engine/split_operands.cuh"
#include "engine/split_product.cuh"
#include "engine/stream_k.cuh"
#include "gemm_problem.hpp"
#include "gemm_scalars.cuh"
#include "ptx/bar.cuh"
#include "ptx/cp_async.cuh"
#include "ptx/shared_memory.cuh"

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace sgemm::SGEMM_TARGET::split_product {

constexpr int CONSUMERS = 2 * WARPGROUP;  // threads of a block that multiply
constexpr int CONSUMER_WARPS = CONSUMERS / WARP;
constexpr int CONSUMERS_BARRIER = 1;  // number 0 is that of __syncthreads()

/// How many tiles of TILE_ROWS x TILE_ROWS elements C has: an operand tile of A by one of B.
SGEMM_HOST_DEVICE inline std::int64_t tiles_of_c(const Problem& p) { return tiles_along(p.m) * tiles_along(p.n); }

/// The notes, in global memory.
struct Deferred {
  unsigned* warps;  ///< for each tile of C and consumer warp, whether the warp has deferred some of it
  unsigned* pairs;  ///< for each tile of C and consumer, a bit for each deferred pair, if its warp has deferred some

  /// The places for so many tiles of C, in memory that is aligned to 4 bytes.
  Deferred(std::int64_t tiles, void* memory)
      : warps(static_cast<unsigned*>(memory)), pairs(warps + tiles * CONSUMER_WARPS) {}

  /// The places from tile number `first` on.
  __device__ Deferred(const Deferred& all, std::int64_t first)
      : warps(all.warps + first * CONSUMER_WARPS), pairs(all.pairs + first * CONSUMERS) {}

  static std::size_t bytes(std::int64_t tiles) {
    return sizeof(unsigned) * static_cast<std::size_t>(tiles) * (CONSUMER_WARPS + CONSUMERS);
  }
};

/// For each consumer warp of the block, 1 if it has deferred elements. It lies in shared memory, so that a block that
/// has none ends at once.
using DeferredByWarp = unsigned[CONSUMER_WARPS];
__device__ __forceinline__ DeferredByWarp& deferred_by_warp() {
  __shared__ DeferredByWarp words;
  return words;
}

/// Before the first tile: nothing is deferred. A barrier of the block has to follow.
__device__ __forceinline__ void defer_nothing() {
  if (threadIdx.x < CONSUMER_WARPS) {
    deferred_by_warp()[threadIdx.x] = 0;
  }
}

/// What the multiplying kernel gets.
struct DeferringProblem : GemmProblem {
  SGEMM_HOST_DEVICE DeferringProblem(const GemmProblem& p, const Deferred& notes) : GemmProblem(p), deferred(notes) {}

  Deferred deferred;

  __device__ __forceinline__ float& element_of_c(std::int64_t row, std::int64_t column) const {
    return c[row * ldc + column];
  }
};

/// Notes the pairs that a thread has a bit for. All threads of a warp call it, also for a tile beyond the right edge
/// of C, which has none. No branch comes before the vote: from a branch on, the compiler would take the warp for
/// divided, and would keep the places in the rings in each thread's registers instead of uniform ones.
__device__ __forceinline__ void defer(const DeferringProblem& p, std::int64_t first_row, std::int64_t first_col,
                                      unsigned not_finite) {
  const bool any = __any_sync(~0U, not_finite != 0 ? 1 : 0) != 0;
  const unsigned warp = threadIdx.x / WARP;
  const std::int64_t c_tile = first_row / TILE_ROWS * tiles_along(p.n) + first_col / TILE_ROWS;
  if (threadIdx.x % WARP == 0 && first_col < p.n) {
    p.deferred.warps[c_tile * CONSUMER_WARPS + warp] = any ? 1 : 0;
    if (any) {
      deferred_by_warp()[warp] = 1;
    }
  }
  if (any) {
    p.deferred.pairs[c_tile * CONSUMERS + threadIdx.x] = not_finite;
  }
}

/// Whether a word of any consumer warp is set.
__device__ __forceinline__ bool any_warp(const unsigned* words) {
  unsigned any = 0;
#pragma unroll
  for (int warp = 0; warp < CONSUMER_WARPS; ++warp) {
    any |= words[warp];
  }
  return any != 0;
}

// ---- Computing them ----

constexpr int PLAIN_K = 32;  // k of a stage
constexpr int PLAIN_STAGES = 4;
constexpr int PLAIN_COLUMNS = 4;                // of a thread: lines of the operand that is read whole
constexpr int PLAIN_GROUPS = CONSUMERS / WARP;  // of threads that have the same lines of the other operand

/// The lines of an operand: rows of op(A) or columns of op(B), from an operand tile's first one on.
struct LinesOfTile {
  const float* data;
  std::int64_t line_step;
  std::int64_t k_step;
  int count;           ///< lines of the matrix from there on, TILE_ROWS at most
  std::int64_t depth;  ///< k

  __device__ static LinesOfTile of(const float* data, bool k_major, std::int64_t ld, std::int64_t lines,
                                   std::int64_t depth, std::int64_t first) {
    const std::int64_t line_step = k_major ? ld : 1;
    const std::int64_t left = lines - first;
    return {data + first * line_step, line_step, k_major ? 1 : ld,
            static_cast<int>(left < TILE_ROWS ? left : TILE_ROWS), depth};
  }
};

/// Shared memory of a tile of C that is computed again. Its ring takes less than those of the tensor cores.
struct PlainMemory {
  unsigned pairs[CONSUMERS];
  unsigned rows[TILE_ROWS / 32];     ///< a bit for each row that has elements to compute
  unsigned columns[TILE_ROWS / 32];  ///< the same for columns
  int lines[TILE_ROWS];              ///< the numbers of these rows or columns in the tile
  float4 ring[PLAIN_STAGES * PLAIN_K * (TILE_ROWS / 2 + 4 + TILE_ROWS + 4) / 4];
};
static_assert(sizeof(PlainMemory) <= static_cast<std::size_t>(2 * 3 * 2 * TILE_ROWS * WGMMA_ROW_BYTES));

__device__ __forceinline__ int set_bits(const unsigned (&words)[TILE_ROWS / 32]) {
  int count = 0;
#pragma unroll
  for (const unsigned word : words) {
    count += __popc(word);
  }
  return count;
}

/// Starts copying PLAIN_K numbers of LINES lines, which become columns of a stage whose rows are STRIDE floats apart.
/// `line_at(i)` is the number of line i, or at least `lines.count` where zeros have to stand.
template <int LINES, int STRIDE, class LineAt>
__device__ __forceinline__ void copy_lines(unsigned stage, const LinesOfTile& lines, std::int64_t first_k,
                                           const LineAt& line_at) {
  const auto thread = static_cast<int>(threadIdx.x);
  const bool k_major = lines.k_step == 1;  // neighbouring threads read neighbouring numbers
  const int line = k_major ? thread / PLAIN_K : thread % LINES;
  const int k = k_major ? thread % PLAIN_K : thread / LINES;
#pragma unroll
  for (int i = 0; i < LINES * PLAIN_K / CONSUMERS; ++i) {
    const int at_line = line + (k_major ? i * (CONSUMERS / PLAIN_K) : 0);
    const int at_k = k + (k_major ? 0 : i * (CONSUMERS / LINES));
    const int number = line_at(at_line);
    cp_async_zfill<sizeof(float)>(stage + (at_k * STRIDE + at_line) * static_cast<int>(sizeof(float)),
                                  lines.data + number * lines.line_step + (first_k + at_k) * lines.k_step,
                                  number < lines.count && first_k + at_k < lines.depth);
  }
  static_assert(LINES * PLAIN_K % CONSUMERS == 0 && CONSUMERS % LINES == 0 && CONSUMERS % PLAIN_K == 0);
}

__device__ __forceinline__ void add_product(float& sum, float x, float y) { sum += x * y; }
__device__ __forceinline__ void add_product(double& sum, float x, float y) {
  sum = fma(static_cast<double>(x), static_cast<double>(y), sum);
}

/// The products of up to PLAIN_GROUPS * LISTED lines of one operand, those listed from `first` on, with all lines of
/// the other one. `store(listed, other, sum)` gets the numbers of both lines in their tiles.
template <class Number, int LISTED, class Store>
__device__ __forceinline__ void multiply_lines(PlainMemory& memory, const LinesOfTile& listed, int first, int count,
                                               const LinesOfTile& whole, const Store& store) {
  constexpr int LINES = PLAIN_GROUPS * LISTED;
  constexpr int LISTED_STRIDE = LINES + 4;  // the padding spares bank conflicts of copies along k
  constexpr int WHOLE_STRIDE = TILE_ROWS + 4;
  constexpr int FLOAT_BYTES = sizeof(float);
  constexpr int STAGE_BYTES = PLAIN_K * (LISTED_STRIDE + WHOLE_STRIDE) * FLOAT_BYTES;
  static_assert(PLAIN_STAGES * STAGE_BYTES <= sizeof(PlainMemory::ring));
  const unsigned ring = shared_address(memory.ring);
  const auto chunks = static_cast<int>((listed.depth + PLAIN_K - 1) / PLAIN_K);
  const auto copy = [&](int chunk) {
    if (chunk < chunks) {
      const unsigned stage = ring + chunk % PLAIN_STAGES * STAGE_BYTES;
      const std::int64_t first_k = static_cast<std::int64_t>(chunk) * PLAIN_K;
      copy_lines<LINES, LISTED_STRIDE>(stage, listed, first_k,
                                       [&](int i) { return first + i < count ? memory.lines[first + i] : TILE_ROWS; });
      copy_lines<TILE_ROWS, WHOLE_STRIDE>(stage + PLAIN_K * LISTED_STRIDE * FLOAT_BYTES, whole, first_k,
                                          [](int i) { return i; });
    }
    cp_async_commit_group();
  };
  const int group = static_cast<int>(threadIdx.x) / WARP;
  const int column = static_cast<int>(threadIdx.x) % WARP * PLAIN_COLUMNS;
#pragma unroll 1
  for (int chunk = 0; chunk < PLAIN_STAGES - 1; ++chunk) {
    copy(chunk);
  }
  Number sums[LISTED][PLAIN_COLUMNS] = {};
#pragma unroll 1
  for (int chunk = 0; chunk < chunks; ++chunk) {
    cp_async_wait_group<PLAIN_STAGES - 2>();
    bar_sync(CONSUMERS_BARRIER, CONSUMERS);  // copies of all threads are there, and the stage before is free
    copy(chunk + PLAIN_STAGES - 1);
    const unsigned stage = ring + chunk % PLAIN_STAGES * STAGE_BYTES;
    const unsigned x_at = stage + group * LISTED * FLOAT_BYTES;
    const unsigned y_at = stage + (PLAIN_K * LISTED_STRIDE + column) * FLOAT_BYTES;
#pragma unroll 4
    for (int k = 0; k < PLAIN_K; ++k) {
      float x[LISTED];
#pragma unroll
      for (int i = 0; i < LISTED; i += 4) {
        unpack(ld_shared_v4_f32(x_at + (k * LISTED_STRIDE + i) * FLOAT_BYTES), x + i);
      }
      const float4 y = ld_shared_v4_f32(y_at + k * WHOLE_STRIDE * FLOAT_BYTES);
#pragma unroll
      for (int i = 0; i < LISTED; ++i) {
        add_product(sums[i][0], x[i], y.x);
        add_product(sums[i][1], x[i], y.y);
        add_product(sums[i][2], x[i], y.z);
        add_product(sums[i][3], x[i], y.w);
      }
    }
  }
  cp_async_wait_group<0>();
#pragma unroll
  for (int i = 0; i < LISTED; ++i) {
    const int number = first + group * LISTED + i;
    if (number < count) {
#pragma unroll
      for (int j = 0; j < PLAIN_COLUMNS; ++j) {
        store(memory.lines[number], column + j, sums[i][j]);
      }
    }
  }
  bar_sync(CONSUMERS_BARRIER, CONSUMERS);  // before the ring and the lines are used again
}

/// Whether an element of a tile of C is one of the pairs noted by its thread. The places are those of first_row() and
/// first_column().
__device__ __forceinline__ bool is_noted(const unsigned (&pairs)[CONSUMERS], int row, int column) {
  const int thread = row / 16 * WARP + row % 8 * 4 + column % 8 / 2;
  return (pairs[thread] >> static_cast<unsigned>(column / 8 * 2 + row % 16 / 8) & 1U) != 0;
}

/// Lists the rows and columns of a tile of C that have noted elements inside of C, or the shorter of both lists.
/// Returns whether these are rows.
__device__ __forceinline__ bool list_lines(PlainMemory& memory, const unsigned* warps, const unsigned* pairs, int rows,
                                           int columns, int& count) {
  const auto thread = static_cast<int>(threadIdx.x);
  unsigned noted = warps[thread / WARP] != 0 ? pairs[thread] : 0;
  const int row = first_row(threadIdx.x);
  const int column = first_column(threadIdx.x);
  if (thread < TILE_ROWS / 32) {
    memory.rows[thread] = 0;
    memory.columns[thread] = 0;
  }
  bar_sync(CONSUMERS_BARRIER, CONSUMERS);
  memory.pairs[thread] = noted;
#pragma unroll 1
  for (int pair = 0; noted != 0; ++pair, noted >>= 1U) {
    const auto at_row = static_cast<unsigned>(row + pair % 2 * 8);
    const auto at_column = static_cast<unsigned>(column + pair / 2 * 8);
    if (noted % 2 == 1 && static_cast<int>(at_row) < rows && static_cast<int>(at_column) < columns) {
      atomicOr(&memory.rows[at_row / 32], 1U << at_row % 32);
      atomicOr(&memory.columns[at_column / 32], 3U << at_column % 32);
    }
  }
  bar_sync(CONSUMERS_BARRIER, CONSUMERS);
  const bool by_rows = set_bits(memory.rows) <= set_bits(memory.columns);
  const unsigned(&chosen)[TILE_ROWS / 32] = by_rows ? memory.rows : memory.columns;
  count = set_bits(chosen);
  if (thread < TILE_ROWS && (chosen[thread / 32] >> static_cast<unsigned>(thread % 32) & 1U) != 0) {
    int place = __popc(chosen[thread / 32] & ((1U << static_cast<unsigned>(thread % 32)) - 1));
    for (int word = 0; word < thread / 32; ++word) {
      place += __popc(chosen[word]);
    }
    memory.lines[place] = thread;
  }
  bar_sync(CONSUMERS_BARRIER, CONSUMERS);
  return by_rows;
}

/// Computes the sums of the noted elements of a tile of C, each a Number. P is a DeferringProblem, or derived from it.
/// `update_at(row, column, sum)` gets them with their places in the tile.
template <class Number, class P, class UpdateAt>
__device__ __forceinline__ void compute_tile(const P& p, int a_tile, int b_tile, const UpdateAt& update_at) {
  const std::int64_t c_tile = a_tile * tiles_along(p.n) + b_tile;
  const unsigned* const warps = p.deferred.warps + c_tile * CONSUMER_WARPS;
  if (!any_warp(warps)) {
    return;
  }
  PlainMemory& memory = *reinterpret_cast<PlainMemory*>(dynamic_smem());
  const std::int64_t first_row = static_cast<std::int64_t>(a_tile) * TILE_ROWS;
  const std::int64_t first_col = static_cast<std::int64_t>(b_tile) * TILE_ROWS;
  const LinesOfTile rows = LinesOfTile::of(p.a, !p.a_transposed, p.lda, p.m, p.k, first_row);
  const LinesOfTile columns = LinesOfTile::of(p.b, p.b_transposed, p.ldb, p.n, p.k, first_col);
  int count = 0;
  const bool by_rows =
      list_lines(memory, warps, p.deferred.pairs + c_tile * CONSUMERS, rows.count, columns.count, count);
  const auto store = [&](int listed, int other, Number sum) {
    const int row = by_rows ? listed : other;
    const int column = by_rows ? other : listed;
    if (row < rows.count && column < columns.count && is_noted(memory.pairs, row, column)) {
      update_at(row, column, sum);
    }
  };
  const LinesOfTile listed = by_rows ? rows : columns;
  const LinesOfTile whole = by_rows ? columns : rows;
  constexpr int FEW = 4;
  constexpr int MANY = 8;
  int first = 0;
  unsigned passes = 0;
#pragma unroll 1
  while (first < count) {
    ++passes;
    if (count - first > PLAIN_GROUPS * FEW) {
      multiply_lines<Number, MANY>(memory, listed, first, count, whole, store);
      first += PLAIN_GROUPS * MANY;
    } else {
      multiply_lines<Number, FEW>(memory, listed, first, count, whole, store);
      first += PLAIN_GROUPS * FEW;
    }
  }
  if (p.recomputed != nullptr && threadIdx.x == 0) {
    // The word is in the host's memory, where GPUs have no atomic additions. If blocks add at the same time, some of it
    // is lost, and enough is left.
    volatile unsigned* const word = p.recomputed;
    *word = *word + passes;
  }
}

/// Computes the noted elements of a tile of C.
template <class P>
__device__ __forceinline__ void compute_tile(const P& p, int a_tile, int b_tile) {
  const Scalars scalars = scalars_of(p);
  compute_tile<float>(p, a_tile, b_tile, [&](int row, int column, float sum) {
    update(p.element_of_c(std::int64_t{a_tile} * TILE_ROWS + row, std::int64_t{b_tile} * TILE_ROWS + column), sum,
           scalars.alpha, scalars.beta);
  });
}

/// Calls `compute(a_tile, b_tile)` for the tiles of C of a block that has deferred something. All consumers call it
/// when they have stored their last tile.
template <class Policy, class Compute>
__device__ __forceinline__ void compute_deferred(const typename Policy::Problem& p, const Schedule& schedule,
                                                 const Compute& compute) {
  using Shape = typename Policy::Shape;
  static_assert(Shape::CONSUMER_THREADS == CONSUMERS);
  static_assert(sizeof(PlainMemory) <= Rings<typename Shape::Split>::SMEM_BYTES);
  bar_sync(CONSUMERS_BARRIER, CONSUMERS);
  if (!any_warp(deferred_by_warp())) {
    return;
  }
  Work work(schedule);
#pragma unroll 1
  while (!work.done(schedule)) {
    const Segment segment = work.next(schedule);
    if (segment.first == 0) {
      const Tile tile = Policy::tile_at(p, segment.tile);
#pragma unroll 1
      for (int b_tile = 0; b_tile < tile.b_tiles; ++b_tile) {
        compute(tile.a, tile.b + b_tile);
      }
    }
  }
}

/// The policy of kernels that compute one product. Its scalars may be on the GPU. float2: rows of C split into aligned
/// pairs.
template <class Shape_, Access ACCESS>
struct OneGemm {
  using Shape = Shape_;              ///< of a block's tile
  using Problem = DeferringProblem;  ///< what the kernel gets

  /// From how many rounds of whole tiles on blocks keep within a window of one another along k.
  static constexpr int FEWEST_ROUNDS_IN_WINDOW = 8 / Shape::B_TILES;  // measured: rounds of wider tiles are longer

  /// The tile number `position` of C: tiles lie along the Hilbert curve.
  __device__ __forceinline__ static Tile tile_at(const GemmProblem& p, int position) {
    const auto b_all = static_cast<int>(tiles_along(p.n));
    const TileIndex index = hilbert_tile(position, static_cast<int>(tiles_along(p.m)), ceil_div(b_all, Shape::B_TILES));
    const int b_tile = index.col * Shape::B_TILES;
    return {index.row, b_tile, b_all - b_tile < Shape::B_TILES ? b_all - b_tile : Shape::B_TILES};
  }

  /// The kernel begins with it. A barrier of the block follows.
  __device__ __forceinline__ static void before_first_tile() { defer_nothing(); }

  /// Whether store() takes the sums of all tiles of B at a time.
  static constexpr bool STORES_ALL_TILES = false;

  /// C = alpha * sums + beta * C for a thread's elements of one tile of B, the first at `first_row` and `first_col`.
  /// They come in pairs of neighbours, which float2 stores in one access. If the sum of a pair is not finite, the block
  /// computes both elements after its last tile, because no terms add up to Inf or NaN.
  template <int VALUES>
  __device__ __forceinline__ static void store(const Problem& p, std::int64_t first_row, std::int64_t first_col,
                                               const float (&sums)[VALUES]) {
    const Scalars scalars = scalars_of(p);
    float* const c = p.c + first_row * p.ldc + first_col;
    float* const rows[2] = {c, c + 8 * p.ldc};
    const int width = static_cast<int>(p.n - first_col < TILE_ROWS ? p.n - first_col : TILE_ROWS);
    const int columns[2] = {first_row < p.m ? width : 0, first_row + 8 < p.m ? width : 0};
    constexpr int SPAN = VALUES / 4 * 8 - 6;  // columns from the thread's first element to its last
    const bool whole = columns[0] >= SPAN && columns[1] >= SPAN;
    unsigned not_finite = 0;
    // Once for a beta of 0, so that not every pair asks for it.
    if (scalars.beta == 0.0F && whole && all_finite(sums)) {
      store_all_pairs<ACCESS>(rows, sums, {scalars.alpha, 0.0F});
    } else {
      not_finite = store_pairs<ACCESS>(rows, columns, sums, scalars);
    }
    defer(p, first_row, first_col, not_finite);
  }

  /// By consumers that have stored their last tile.
  __device__ __forceinline__ static void after_last_tile(const Problem& p, const Schedule& schedule) {
    compute_deferred<OneGemm>(p, schedule, [&](int a_tile, int b_tile) { compute_tile(p, a_tile, b_tile); });
  }
};

}  // namespace sgemm::SGEMM_TARGET::split_product
