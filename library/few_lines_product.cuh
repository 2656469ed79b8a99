#pragma once

// FP32 products whose C has few rows or columns, at the speed of memory: each number of the long operand is read once,
// from global memory into registers, 512 k ahead. Of the few lines of the other operand a block keeps 512 k in shared
// memory, and its threads read each of them for four long lines:
//
//   long lines     few lines (in shared memory, twice 512 k)       sums of a thread: 4 x FEW, over its own k
//   warp 0: 4      all, 4 k a thread: k = 4 lane and 128 more      a warp adds those of its 32 threads at the end
//   ...
//   warp 3: 4
//
// Both operands lie along k, as rows of X and of the weights do in Y = X W^T.

#include "common/ceil_div.hpp"
#include "common/epilogue.cuh"
#include "common/vector_access.cuh"
#include "gemm_problem.hpp"
#include "gemm_scalars.cuh"
#include "ptx/cp_async.cuh"
#include "ptx/shared_memory.cuh"
#include "split_algorithms.cuh"

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

namespace sgemm {
namespace {

namespace few_lines {

constexpr int WARP = 32;
constexpr int WARPS = 4;
constexpr int THREADS = WARPS * WARP;
constexpr int LINES_OF_WARP = 4;
constexpr int LINES = WARPS * LINES_OF_WARP;  // long ones of a block
constexpr int STEP_K = 4 * WARP;
constexpr int STEPS = 4;
constexpr int CHUNK_K = STEPS * STEP_K;
constexpr int BLOCKS_PER_SM = 2;
template <int FEW>
constexpr int SMEM_BYTES = 2 * FEW* CHUNK_K* static_cast<int>(sizeof(float));

/// Lines along k of an operand, and where those of C are that belong to them.
struct Lines {
  const float* first;
  std::int64_t ld;
  std::int64_t count;
  std::int64_t c_stride;
};

/// A group of four, or zeros. It is read once, so the L2 need not keep it long.
__device__ __forceinline__ float4 read_once(const float* from, bool inside) {
  return inside ? __ldcs(reinterpret_cast<const float4*>(from)) : float4{0.0F, 0.0F, 0.0F, 0.0F};
}

/// Adds up COUNT numbers of each lane, and leaves lane l the sums from l * COUNT / 32 on. Lanes exchange halves, so
/// that each number is added once, and a few sums a lane are left to store. Code that runs once a block has to be
/// short: it comes from memory where the L2 has been read over.
template <int COUNT>
__device__ __forceinline__ void add_over_lanes(float (&sums)[COUNT], int lane) {
  int left = COUNT;
#pragma unroll
  for (int other = WARP / 2; other > 0; other /= 2) {
    if (left == 1) {
      sums[0] += __shfl_xor_sync(~0U, sums[0], other);
      continue;
    }
    left /= 2;
    const bool keeps_second = (lane & other) != 0;
#pragma unroll
    for (int i = 0; i < COUNT / 2; ++i) {  // a bound that the compiler knows, so that sums stay in registers
      if (i < left) {
        const float given = __shfl_xor_sync(~0U, keeps_second ? sums[i] : sums[left + i], other);
        sums[i] = (keeps_second ? sums[left + i] : sums[i]) + given;
      }
    }
  }
}

/// A block for LINES long lines of one product. ROWS_ARE_FEW: C has at most FEW rows, and else as many columns.
template <int FEW, bool ROWS_ARE_FEW>
__global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM) kernel(GemmBatch batch) {
  const GemmProblem& first = batch.first;
  const auto blocks = static_cast<unsigned>(ceil_div<std::int64_t>(ROWS_ARE_FEW ? first.n : first.m, LINES));
  const GemmProblem p = split_product::product_of(batch, blockIdx.x / blocks);
  const split_product::Scalars scalars = scalars_of(p);
  const Lines of_a{p.a, p.lda, p.m, p.ldc};
  const Lines of_b{p.b, p.ldb, p.n, 1};
  const Lines& few = ROWS_ARE_FEW ? of_a : of_b;
  const Lines& many = ROWS_ARE_FEW ? of_b : of_a;
  const int lane = static_cast<int>(threadIdx.x) % WARP;
  const std::int64_t line =
      std::int64_t{blockIdx.x % blocks} * LINES + static_cast<int>(threadIdx.x) / WARP * LINES_OF_WARP;
  const int k = scalars.alpha == 0.0F ? 0 : static_cast<int>(p.k);  // A and B are not read then

  const unsigned smem = shared_address(dynamic_smem());
  // The chunk from `from` on, each thread four k of all lines; the last line in place of those behind it.
  static_assert(CHUNK_K == 4 * THREADS);
  const auto copy_few = [&](int from) {
    const int at = from + static_cast<int>(threadIdx.x) * 4;
    const bool inside = at < k;
    const float* line_of_few = few.first + (inside ? at : 0);
    unsigned to = smem + (from / CHUNK_K % 2 * FEW * CHUNK_K + static_cast<int>(threadIdx.x) * 4) * 4;
#pragma unroll
    for (int number = 0; number < FEW; ++number) {
      cp_async_zfill<16>(to + number * CHUNK_K * 4, line_of_few, inside);
      line_of_few += number + 1 < few.count ? few.ld : 0;
    }
    cp_async_commit_group();
  };
  const float* source[LINES_OF_WARP];
#pragma unroll
  for (int j = 0; j < LINES_OF_WARP; ++j) {  // the last line in place of those behind it
    source[j] = many.first + (line + j < many.count ? line + j : many.count - 1) * many.ld + lane * 4;
  }
  float4 next[STEPS][LINES_OF_WARP];
#pragma unroll
  for (int step = 0; step < STEPS; ++step) {
#pragma unroll
    for (int j = 0; j < LINES_OF_WARP; ++j) {
      next[step][j] = read_once(source[j] + step * STEP_K, step * STEP_K + lane * 4 < k);
    }
  }
  float sums[FEW * LINES_OF_WARP] = {};
  copy_few(0);
  // A chunk, and the loads of the next one, all of which is there where it is `whole`.
  const auto multiply = [&](int from, auto whole) {
    cp_async_wait_group<0>();
    __syncthreads();
    copy_few(from + CHUNK_K);
    const unsigned chunk = smem + (from / CHUNK_K % 2 * FEW * CHUNK_K + lane * 4) * 4;
#pragma unroll
    for (int step = 0; step < STEPS; ++step) {
      float four[LINES_OF_WARP][4];
      const int ahead = CHUNK_K + step * STEP_K;
#pragma unroll
      for (int j = 0; j < LINES_OF_WARP; ++j) {
        unpack(next[step][j], four[j]);
        next[step][j] = read_once(source[j] + ahead, decltype(whole)::value || from + ahead + lane * 4 < k);
      }
#pragma unroll
      for (int i = 0; i < FEW; ++i) {
        float x[4];
        unpack(ld_shared_v4_f32(chunk + (i * CHUNK_K + step * STEP_K) * 4), x);
#pragma unroll
        for (int j = 0; j < LINES_OF_WARP; ++j) {
#pragma unroll
          for (int e = 0; e < 4; ++e) {
            float& sum = sums[i * LINES_OF_WARP + j];
            sum = fmaf(x[e], four[j][e], sum);
          }
        }
      }
    }
#pragma unroll
    for (int j = 0; j < LINES_OF_WARP; ++j) {
      source[j] += CHUNK_K;
    }
  };
  int from = 0;
  if constexpr (FEW > 8) {  // with fewer lines the multiplications hide what guards cost, and one loop is shorter
#pragma unroll 1
    for (; from + 2 * CHUNK_K <= k; from += CHUNK_K) {
      multiply(from, std::true_type());
    }
  }
#pragma unroll 1
  for (; from < k; from += CHUNK_K) {
    multiply(from, std::false_type());
  }
  cp_async_wait_group<0>();

  add_over_lanes(sums, lane);
  constexpr int COUNT = FEW * LINES_OF_WARP;
  constexpr int SUMS_OF_LANE = COUNT > WARP ? COUNT / WARP : 1;
  const bool is_first = lane % (COUNT < WARP ? WARP / COUNT : 1) == 0;  // of the lanes with the same sum
#pragma unroll
  for (int sum = 0; sum < SUMS_OF_LANE; ++sum) {
    const int number = lane * COUNT / WARP + sum;
    const int i = number / LINES_OF_WARP;
    const int j = number % LINES_OF_WARP;
    if (is_first && i < few.count && line + j < many.count) {
      update(p.c[i * few.c_stride + (line + j) * many.c_stride], sums[sum], scalars.alpha, scalars.beta);
    }
  }
}

}  // namespace few_lines

}  // namespace
}  // namespace sgemm
