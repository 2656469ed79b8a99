#include "passes.hpp"

#include "common/ceil_div.hpp"
#include "common/cuda_check.hpp"
#include "common/target.hpp"
#include "epilogue_elements.cuh"
#include "host/launch.cuh"
#include "status_error.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace sgemm {
namespace SGEMM_TARGET {
namespace {

constexpr int THREADS = 256;
constexpr int WARP_SIZE = 32;
constexpr int ROWS = 8;  // of a thread: their loads are under way together
constexpr std::int64_t MOST_BLOCKS = std::int64_t{1} << 20;

/// The blocks of a matrix: each has THREADS neighbouring columns of ROWS rows at a time, so that a warp has a word of a
/// mask.
struct Blocks {
  std::int64_t along_rows;
  std::int64_t all;

  explicit Blocks(const GemmProblem& p)
      : along_rows(ceil_div<std::int64_t>(p.n, THREADS)), all(along_rows * ceil_div<std::int64_t>(p.m, ROWS)) {}
  std::int64_t launched() const { return std::min(all, MOST_BLOCKS); }
};

/// Calls `work(first_row, column)` for what a thread has. The column may lie outside.
template <class Work>
__device__ __forceinline__ void for_each_column(const Blocks& blocks, const Work& work) {
  for (std::int64_t block = blockIdx.x; block < blocks.all; block += gridDim.x) {
    work(block / blocks.along_rows * ROWS, block % blocks.along_rows * THREADS + threadIdx.x);
  }
}

__global__ void __launch_bounds__(THREADS)
    copy_kernel(GemmProblem p, const float* from, std::int64_t ld, Blocks blocks) {
  if (p.scalars_on_device() && *p.beta_at == 0.0F) {
    return;
  }
  for_each_column(blocks, [&](std::int64_t first_row, std::int64_t column) {
    for (std::int64_t row = first_row; column < p.n && row < min(first_row + ROWS, p.m); ++row) {
      p.c[row * p.ldc + column] = from[row * ld + column];
    }
  });
}

/// D = the bias where beta is 0, and what the product is added with, unless that is null.
__global__ void __launch_bounds__(THREADS)
    start_kernel(GemmProblem p, GemmEpilogue epilogue, Blocks blocks, float* beta_of_product) {
  const float beta = p.scalars_on_device() ? *p.beta_at : p.beta;
  if (beta_of_product != nullptr && blockIdx.x == 0 && threadIdx.x == 0) {
    *beta_of_product = beta == 0.0F ? 1.0F : beta;
  }
  if (beta == 0.0F) {
    for_each_column(blocks, [&](std::int64_t first_row, std::int64_t column) {
      for (std::int64_t row = first_row; column < p.n && row < min(first_row + ROWS, p.m); ++row) {
        p.c[row * p.ldc + column] = bias_of(epilogue, row, column);
      }
    });
  }
}

__global__ void __launch_bounds__(THREADS)
    epilogue_kernel(GemmProblem p, GemmEpilogue epilogue, Blocks blocks, const float* started_if_0) {
  if (started_if_0 != nullptr && *started_if_0 == 0.0F) {
    epilogue.bias = nullptr;
  }
  for_each_column(blocks, [&](std::int64_t first_row, std::int64_t column) {
    float x[ROWS] = {};
#pragma unroll
    for (int i = 0; i < ROWS; ++i) {
      if (first_row + i < p.m && column < p.n) {
        x[i] = p.c[(first_row + i) * p.ldc + column];
      }
    }
#pragma unroll
    for (int i = 0; i < ROWS; ++i) {
      const std::int64_t row = first_row + i;
      const bool inside = row < p.m && column < p.n;
      if (inside) {
        x[i] += bias_of(epilogue, row, column);
      }
      if (epilogue.writes_mask()) {
        const unsigned word = __ballot_sync(~0U, inside && passes_relu(x[i]) ? 1 : 0);
        if (inside && threadIdx.x % WARP_SIZE == 0) {
          *mask_word(epilogue, row, column) = word;
        }
      }
      if (inside) {
        p.c[row * p.ldc + column] = activated(epilogue, x[i], row, column);
      }
    }
  });
}

// ---- beta * C beside cuBLAS ----

/// Calls `copy(c, number)` for the places in C of all elements of a batch and their numbers, spread over all threads.
template <class Copy>
__device__ __forceinline__ void for_each_element(const GemmBatch& batch, const Copy& copy) {
  const GemmProblem& p = batch.first;
  const std::int64_t all = p.m * p.n * batch.count;
  const std::int64_t threads = static_cast<std::int64_t>(gridDim.x) * THREADS;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * THREADS + threadIdx.x; i < all; i += threads) {
    const std::int64_t row = i / p.n;  // counted through the batch
    copy(batch.problem(row / p.m).c[row % p.m * p.ldc + i % p.n], i);
  }
}

__global__ void __launch_bounds__(THREADS) save_kernel(GemmBatch batch, float* memory) {
  if (*batch.first.alpha_at == 0.0F) {
    const float beta = *batch.first.beta_at;
    for_each_element(batch, [&](const float& c, std::int64_t i) { memory[i] = beta == 0.0F ? 0.0F : beta * c; });
  }
}

__global__ void __launch_bounds__(THREADS) restore_kernel(GemmBatch batch, const float* memory) {
  if (*batch.first.alpha_at == 0.0F) {
    for_each_element(batch, [&](float& c, std::int64_t i) { c = memory[i]; });
  }
}

constexpr std::int64_t MOST_BLOCKS_OF_COPIES = 1024;  // few, because mostly they have nothing to do

std::int64_t blocks_for(const GemmBatch& batch) {
  return std::min(ceil_div<std::int64_t>(batch.first.m * batch.first.n * batch.count, THREADS), MOST_BLOCKS_OF_COPIES);
}

}  // namespace
}  // namespace SGEMM_TARGET

double epilogue_pass_bytes(const GemmEpilogue& epilogue) {
  const bool moves_argument = epilogue.writes_argument() || epilogue.activation == SGEMM_ACTIVATION_GELU_GRADIENT;
  const double finishing = !epilogue.changes_elements() ? 0.0 : moves_argument ? 12.0 : 8.0;
  return finishing + (epilogue.c_is_another_matrix ? 8.0 : 0.0);
}

void prepare_d(const GemmProblem& p, const GemmEpilogue& epilogue, cudaStream_t stream) {
  if (epilogue.c_is_another_matrix && (p.scalars_on_device() || p.beta != 0.0F)) {
    const Blocks blocks(p);
    launch(copy_kernel, blocks.launched(), dim3(THREADS), 0, stream, p, epilogue.c, epilogue.ldc, blocks);
  }
}

void start_from_bias(const GemmProblem& p, const GemmEpilogue& epilogue, float* beta, cudaStream_t stream) {
  const Blocks blocks(p);
  launch(start_kernel, blocks.launched(), dim3(THREADS), 0, stream, p, epilogue, blocks, beta);
}

void finish_d(const GemmProblem& p, const GemmEpilogue& epilogue, cudaStream_t stream, const float* started_if_0) {
  if (epilogue.changes_elements()) {
    const Blocks blocks(p);
    try {
      launch(epilogue_kernel, blocks.launched(), dim3(THREADS), 0, stream, p, epilogue, blocks, started_if_0);
    } catch (const CudaError&) {
      throw StatusError(SGEMM_STATUS_EXECUTION_FAILED);
    }
  }
}

std::size_t scaled_c_bytes(const GemmBatch& batch) {
  const GemmProblem& p = batch.first;
  const double elements = static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(batch.count);
  return sizeof(float) *
         (elements < 0x1p60 ? static_cast<std::size_t>(p.m * p.n * batch.count) : std::size_t{1} << 60U);
}

void save_scaled_c(const GemmBatch& batch, void* memory, cudaStream_t stream) {
  launch(save_kernel, blocks_for(batch), dim3(THREADS), 0, stream, batch, static_cast<float*>(memory));
}

void restore_scaled_c(const GemmBatch& batch, const void* memory, cudaStream_t stream) {
  launch(restore_kernel, blocks_for(batch), dim3(THREADS), 0, stream, batch, static_cast<const float*>(memory));
}

}  // namespace sgemm
