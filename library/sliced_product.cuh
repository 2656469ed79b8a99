#pragma once

// Chapter 09's blocks without producer warps, for operands of any layout and many products in one launch. The chapter's
// kernel has A along k in shared memory, and B across k. Here either operand lies as it does in global memory, so that
// copies are the same everywhere, and a thread reads either with the same number of 128-bit loads:
//
//   along k    a row of shared memory for each line of the operand. A load has 4 k of one line, and the lines of
//              neighbouring threads follow one another.
//   across k   a row for each k. A load has 4 lines of one k, and threads have groups of four lines.
//
#include "common/ceil_div.hpp"
#include "common/epilogue.cuh"
#include "common/target.hpp"
#include "common/vector_access.cuh"
#include "common/warp_specialized.cuh"
#include "gemm_problem.hpp"
#include "gemm_scalars.cuh"
#include "ptx/cp_async.cuh"
#include "ptx/shared_memory.cuh"
#include "stacked_batch.cuh"

#include <cuda_runtime.h>

#include <cstdint>

namespace sgemm {
namespace {

using namespace warp_specialized;

/// The constants of the tile. SLICES warps share it, and each has its own slice of a k-tile. Their accumulators meet in
/// shared memory at the end.
struct Sliced32x32 {
  static constexpr int BM = 32, BN = 32, BK = 64, TM = BM / LANES_M, TN = BN / LANES_N;
  static constexpr int SLICES = 8, STAGES = 4, THREADS = SLICES * WARP, SLICE_K = BK / SLICES, BLOCKS_PER_SM = 2;
  // So many more cycles of an FMA where each multiprocessor has one block, and cycles of a tile besides.
  static constexpr double CYCLES_PER_FMA = 1.81, ALONE = 0.29, FIXED = 1400;
};

/// Copies a tile of ROWS x COLS floats that begins at `source`. `rows_left` rows and `cols_left` columns of it lie
/// inside the matrix; all others become zeros. In shared memory rows are STRIDE floats apart.
template <int THREADS, int ROWS, int COLS, int STRIDE, Access ACCESS>
__device__ __forceinline__ void copy_tile(unsigned destination, const float* source, std::int64_t leading_dimension,
                                          int rows_left, int cols_left) {
  constexpr int WIDTH = static_cast<int>(ACCESS);
  constexpr int PER_ROW = COLS / WIDTH;
  constexpr int ROWS_AT_ONCE = THREADS / PER_ROW;
  static_assert(THREADS % PER_ROW == 0 && ROWS % ROWS_AT_ONCE == 0);
  const int row = static_cast<int>(threadIdx.x) / PER_ROW;
  const int col = static_cast<int>(threadIdx.x) % PER_ROW * WIDTH;
  source += row * leading_dimension + col;
  destination += (row * STRIDE + col) * FLOAT_BYTES;
#pragma unroll
  for (int r = 0; r < ROWS; r += ROWS_AT_ONCE) {
    cp_async_zfill<WIDTH * FLOAT_BYTES>(destination + r * STRIDE * FLOAT_BYTES, source,
                                        row + r < rows_left && col < cols_left);
    source += ROWS_AT_ONCE * leading_dimension;
  }
}

/// A block's part of an operand: LINES rows of A or columns of B, of which each thread has OF_THREAD, and LANES threads
/// of a warp have all.
template <class Shape, int LINES, int OF_THREAD, int LANES, bool K_MAJOR>
struct SlicedOperand {
  static_assert(LINES == OF_THREAD * LANES && OF_THREAD % 4 == 0);
  // Four floats behind each line: lines that neighbours read at the same time lie in different banks.
  static constexpr int STRIDE = K_MAJOR ? Shape::BK + 4 : LINES;
  static constexpr int FLOATS = (K_MAJOR ? LINES : Shape::BK) * STRIDE;

  /// A thread's line number `i`.
  __device__ __forceinline__ static int line(int lane, int i) {
    return K_MAJOR ? lane + i * LANES : 4 * lane + i % 4 + i / 4 * (4 * LANES);
  }

  /// Copies a k-tile to a shared address. `from` has `lines_left` lines and `k_left` elements along k.
  template <Access ACCESS>
  __device__ __forceinline__ static void copy(unsigned to, const float* from, std::int64_t ld, int lines_left,
                                              int k_left) {
    if constexpr (K_MAJOR) {
      copy_tile<Shape::THREADS, LINES, Shape::BK, STRIDE, ACCESS>(to, from, ld, lines_left, k_left);
    } else {
      copy_tile<Shape::THREADS, Shape::BK, LINES, STRIDE, ACCESS>(to, from, ld, k_left, lines_left);
    }
  }

  /// The shared address of a thread's first element in a slice, of a k-tile at `tile`.
  __device__ __forceinline__ static unsigned first(unsigned tile, int lane, int slice) {
    const int k = slice * Shape::SLICE_K;
    return tile + (K_MAJOR ? lane * STRIDE + k : k * STRIDE + 4 * lane) * FLOAT_BYTES;
  }

  /// Loads four k of a thread's lines, `k` behind the first one.
  __device__ __forceinline__ static void load(unsigned first, int k, float (&x)[OF_THREAD][4]) {
#pragma unroll
    for (int i = 0; i < OF_THREAD; ++i) {
      if constexpr (K_MAJOR) {
        unpack(ld_shared_v4_f32(first + (i * LANES * STRIDE + k) * FLOAT_BYTES), x[i]);
      } else {  // number i is four lines of k + i % 4
        const int group = i / 4 * 4;
        const float4 four = ld_shared_v4_f32(first + ((k + i % 4) * STRIDE + group * LANES) * FLOAT_BYTES);
        x[group][i % 4] = four.x;
        x[group + 1][i % 4] = four.y;
        x[group + 2][i % 4] = four.z;
        x[group + 3][i % 4] = four.w;
      }
    }
  }
};

/// Of a block, whatever the layout.
template <class Shape>
constexpr int SLICED_SMEM_BYTES = Shape::STAGES*(Shape::BM + Shape::BN) * (Shape::BK + 4) * FLOAT_BYTES;

/// A block for each tile of each product's C. ACCESS: how A and B are copied.
template <class Shape, bool A_K_MAJOR, bool B_K_MAJOR, Access ACCESS>
__global__ void __launch_bounds__(Shape::THREADS, Shape::BLOCKS_PER_SM) every_layout_sliced_kernel(GemmBatch batch) {
  constexpr int BM = Shape::BM;
  constexpr int BN = Shape::BN;
  constexpr int BK = Shape::BK;
  constexpr int TM = Shape::TM;
  constexpr int TN = Shape::TN;
  using OfA = SlicedOperand<Shape, BM, TM, LANES_M, A_K_MAJOR>;
  using OfB = SlicedOperand<Shape, BN, TN, LANES_N, B_K_MAJOR>;
  constexpr unsigned STAGE_BYTES = (OfA::FLOATS + OfB::FLOATS) * FLOAT_BYTES;
  // Sums of a slice, in rows that lie so far apart that stores of single floats spread over the banks.
  constexpr int SUMS_STRIDE = BN + 4;
  static_assert(Shape::SLICES * BM * SUMS_STRIDE * FLOAT_BYTES <= SLICED_SMEM_BYTES<Shape>);
  static_assert(Shape::STAGES * STAGE_BYTES <= SLICED_SMEM_BYTES<Shape>);

  const int tiles_m = static_cast<int>(ceil_div<std::int64_t>(batch.first.m, BM));
  const int tiles = tiles_m * static_cast<int>(ceil_div<std::int64_t>(batch.first.n, BN));
  const int number = static_cast<int>(blockIdx.x) / tiles;
  const int tile = static_cast<int>(blockIdx.x) - number * tiles;
  const GemmProblem p = split_product::product_of(batch, number);
  const split_product::Scalars scalars = scalars_of(p);
  const std::int64_t first_row = static_cast<std::int64_t>(tile % tiles_m) * BM;
  const std::int64_t first_col = static_cast<std::int64_t>(tile / tiles_m) * BN;
  const int rows_left = at_most<BM>(p.m - first_row);
  const int cols_left = at_most<BN>(p.n - first_col);

  const unsigned smem = shared_address(dynamic_smem());
  const float* a_source = p.a + (A_K_MAJOR ? first_row * p.lda : first_row);
  const float* b_source = p.b + (B_K_MAJOR ? first_col * p.ldb : first_col);
  int k_left = static_cast<int>(p.k);
  unsigned copied = 0;  // offset of the stage that is filled next
  const auto copy_k_tile = [&] {
    if (k_left > 0) {
      // With an alpha of 0, A and B are not read, and count as zeros.
      const int inside = scalars.alpha == 0.0F ? 0 : k_left;
      OfA::template copy<ACCESS>(smem + copied, a_source, p.lda, rows_left, inside);
      OfB::template copy<ACCESS>(smem + copied + OfA::FLOATS * FLOAT_BYTES, b_source, p.ldb, cols_left, inside);
      a_source += A_K_MAJOR ? BK : BK * p.lda;
      b_source += B_K_MAJOR ? BK : BK * p.ldb;
      k_left -= BK;
      copied = copied == (Shape::STAGES - 1) * STAGE_BYTES ? 0 : copied + STAGE_BYTES;
    }
    cp_async_commit_group();
  };

  const int slice = static_cast<int>(threadIdx.x) / WARP;
  const int lane_m = static_cast<int>(threadIdx.x) % WARP / LANES_N;
  const int lane_n = static_cast<int>(threadIdx.x) % LANES_N;
  const unsigned a_first = OfA::first(smem, lane_m, slice);
  const unsigned b_first = OfB::first(smem + OfA::FLOATS * FLOAT_BYTES, lane_n, slice);
  for (int stage = 0; stage < Shape::STAGES - 1; ++stage) {
    copy_k_tile();
  }
  float sums[TM][TN] = {};
  unsigned read = 0;  // offset of the stage
#pragma unroll 1
  for (int left = static_cast<int>(ceil_div<std::int64_t>(p.k, BK)); left > 0; --left) {
    cp_async_wait_group<Shape::STAGES - 2>();
    __syncthreads();
    copy_k_tile();
#pragma unroll
    for (int k = 0; k < Shape::SLICE_K; k += 4) {
      float a[TM][4];
      float b[TN][4];
      OfA::load(a_first + read, k, a);
      OfB::load(b_first + read, k, b);
#pragma unroll
      for (int kk = 0; kk < 4; ++kk) {
#pragma unroll
        for (int i = 0; i < TM; ++i) {
#pragma unroll
          for (int j = 0; j < TN; ++j) {
            const int col = i % 2 == 0 ? j : TN - 1 - j;
            sums[i][col] += a[i][kk] * b[col][kk];
          }
        }
      }
    }
    read = read == (Shape::STAGES - 1) * STAGE_BYTES ? 0 : read + STAGE_BYTES;
  }

  cp_async_wait_group<0>();
  __syncthreads();
  float* const exchange = dynamic_smem();
#pragma unroll
  for (int i = 0; i < TM; ++i) {
    float* const row = exchange + (slice * BM + OfA::line(lane_m, i)) * SUMS_STRIDE;
#pragma unroll
    for (int j = 0; j < TN; j += 4) {
      if constexpr (B_K_MAJOR) {
#pragma unroll
        for (int jj = j; jj < j + 4; ++jj) {
          row[OfB::line(lane_n, jj)] = sums[i][jj];
        }
      } else {
        store_float4(row + OfB::line(lane_n, j), float4{sums[i][j], sums[i][j + 1], sums[i][j + 2], sums[i][j + 3]});
      }
    }
  }
  __syncthreads();
  static_assert(BM * BN == 4 * Shape::THREADS);  // each thread finishes four elements of a row
  const int row = static_cast<int>(threadIdx.x) * 4 / BN;
  const int col = static_cast<int>(threadIdx.x) * 4 % BN;
  float total[4] = {};
#pragma unroll
  for (int s = 0; s < Shape::SLICES; ++s) {
    const float4 value = load_float4(exchange + (s * BM + row) * SUMS_STRIDE + col);
    total[0] += value.x;
    total[1] += value.y;
    total[2] += value.z;
    total[3] += value.w;
  }
  if (row < rows_left) {
    float* const c = p.c + (first_row + row) * p.ldc + first_col + col;
    if (rows_split_into<4>(p.c, p.n, p.ldc)) {
      if (col < cols_left) {
        update4(c, total, scalars.alpha, scalars.beta);
      }
    } else {
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        if (col + j < cols_left) {
          update(c[j], total[j], scalars.alpha, scalars.beta);
        }
      }
    }
  }
}

}  // namespace
}  // namespace sgemm
