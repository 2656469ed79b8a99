#include "line_sums.hpp"

#include "common/ceil_div.hpp"
#include "common/cuda_check.hpp"
#include "common/target.hpp"
#include "host/launch.cuh"
#include "status_error.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

namespace sgemm {
inline namespace SGEMM_TARGET {
namespace {

constexpr int THREADS = 512;
constexpr std::int64_t MOST_BLOCKS = std::int64_t{1} << 20;
constexpr int UNROLLED = 8;  // numbers of a thread that are under way together

/// A thread's part of a line: every STRIDE-th number from the `first` one on.
template <int STRIDE>
__device__ __forceinline__ float sum_of_part(const float* line, std::int64_t distance, int first, std::int64_t depth) {
  float sums[UNROLLED] = {};
  for (std::int64_t k = first; k < depth; k += STRIDE * UNROLLED) {
#pragma unroll
    for (int i = 0; i < UNROLLED; ++i) {
      const std::int64_t at = k + i * STRIDE;
      sums[i] += at < depth ? line[at * distance] : 0.0F;
    }
  }
#pragma unroll
  for (int half = UNROLLED / 2; half > 0; half /= 2) {
#pragma unroll
    for (int i = 0; i < half; ++i) {
      sums[i] += sums[i + half];
    }
  }
  return sums[0];
}

/// A block adds up LINES lines at a time. Its threads lie as the numbers do, so that a warp reads neighbours.
template <int LINES, bool ALONG>
__global__ void __launch_bounds__(THREADS) sums_kernel(Lines lines, float* sums) {
  constexpr int PARTS = THREADS / LINES;
  __shared__ float shared[PARTS][LINES];
  const int mine = static_cast<int>(ALONG ? threadIdx.x / PARTS : threadIdx.x % LINES);
  const int part = static_cast<int>(ALONG ? threadIdx.x % PARTS : threadIdx.x / LINES);
  for (std::int64_t first = std::int64_t{blockIdx.x} * LINES; first < lines.count;
       first += std::int64_t{gridDim.x} * LINES) {
    const std::int64_t line = first + mine;
    const float* const from = lines.data + line * (ALONG ? lines.stride : 1);
    shared[part][mine] =
        line < lines.count ? sum_of_part<PARTS>(from, ALONG ? 1 : lines.stride, part, lines.depth) : 0.0F;
#pragma unroll
    for (int half = PARTS / 2; half > 0; half /= 2) {
      __syncthreads();
      if (part < half) {
        shared[part][mine] += shared[part + half][mine];
      }
    }
    if (part == 0 && line < lines.count) {
      sums[line] = shared[0][mine];
    }
    __syncthreads();
  }
}

template <int LINES, bool ALONG>
void launch_sums(const Lines& lines, float* sums, cudaStream_t stream) {
  launch(sums_kernel<LINES, ALONG>, std::min(ceil_div<std::int64_t>(lines.count, LINES), MOST_BLOCKS), dim3(THREADS), 0,
         stream, lines, sums);
}

/// Enqueues sums[i] = the sum of line i, for all lines; 0 where they have no numbers.
void add_up(const Lines& lines, float* sums, cudaStream_t stream) {
  // Lines side by side are read in pieces of 64 bytes, or of 32 where that would leave multiprocessors idle.
  constexpr int SIDE_BY_SIDE = 16;
  constexpr int FEWER = 8;
  constexpr std::int64_t MANY_LINES = 4096;
  if (lines.along) {
    launch_sums<1, true>(lines, sums, stream);
  } else if (lines.count >= MANY_LINES) {
    launch_sums<SIDE_BY_SIDE, false>(lines, sums, stream);
  } else {
    launch_sums<FEWER, false>(lines, sums, stream);
  }
}

}  // namespace
}  // namespace SGEMM_TARGET

Lines summed_lines(const GemmProblem& p, const GemmEpilogue& epilogue) {
  switch (epilogue.sums_of) {
    case SGEMM_SUMS_NONE:
      break;
    case SGEMM_SUMS_OF_A:
      return {p.a, p.m, p.k, p.lda, !p.a_transposed};
    case SGEMM_SUMS_OF_B:
      return {p.b, p.n, p.k, p.ldb, p.b_transposed};
    case SGEMM_SUMS_OF_D_ROWS:
      return {p.c, p.m, p.n, p.ldc, true};
    case SGEMM_SUMS_OF_D_COLUMNS:
      return {p.c, p.n, p.m, p.ldc, false};
  }
  return {};
}

void add_up_operand(const GemmProblem& p, const GemmEpilogue& epilogue, cudaStream_t stream) {
  if (epilogue.sums_operand()) {
    add_up(summed_lines(p, epilogue), epilogue.sums, stream);
  }
}

void add_up_d(const GemmProblem& p, const GemmEpilogue& epilogue, cudaStream_t stream) {
  if (epilogue.has_sums() && !epilogue.sums_operand()) {
    try {
      add_up(summed_lines(p, epilogue), epilogue.sums, stream);
    } catch (const CudaError&) {
      throw StatusError(SGEMM_STATUS_EXECUTION_FAILED);
    }
  }
}

}  // namespace sgemm
