#pragma once

// What is done to C and D in kernels of their own, before and behind the product.

#include "gemm_epilogue.hpp"
#include "gemm_problem.hpp"

#include <cuda_runtime_api.h>

#include <cstddef>

namespace sgemm {

// An epilogue, where the kernel that multiplies has none.

/// Bytes that these kernels move for each element of D.
double epilogue_pass_bytes(const GemmEpilogue& epilogue);

/// Enqueues a copy of C to D, if C is another matrix and may be read. Throws CudaError.
void prepare_d(const GemmProblem& p, const GemmEpilogue& epilogue, cudaStream_t stream);

/// Enqueues D = the bias where beta is 0. `beta`, on the GPU unless it is null, becomes what the product is added with:
/// 1 then. Throws CudaError.
void start_from_bias(const GemmProblem& p, const GemmEpilogue& epilogue, float* beta, cudaStream_t stream);

/// Enqueues the rest of the epilogue for D, which has alpha * op(A) * op(B) + beta * C. C may be gone by then, so that
/// nothing can be begun again: throws a StatusError of SGEMM_STATUS_EXECUTION_FAILED. D was started from the bias where
/// the number at `started_if_0`, on the GPU, is 0; null: it was not.
void finish_d(const GemmProblem& p, const GemmEpilogue& epilogue, cudaStream_t stream,
              const float* started_if_0 = nullptr);

// cuBLAS multiplies by an alpha on the GPU even if that is 0, and then Inf and NaN in A and B make C NaN. So beta * C
// is saved before its call and restored behind it, if alpha is 0 by then. Otherwise both kernels copy nothing. The
// functions are for batches with scalars on the GPU. They throw CudaError.

/// Bytes for a batch, at most 2^62, which no memory has.
std::size_t scaled_c_bytes(const GemmBatch& batch);

/// Enqueues the copy of beta * C to `memory`. C is not read if beta is 0.
void save_scaled_c(const GemmBatch& batch, void* memory, cudaStream_t stream);

/// Enqueues the copy of `memory` to C.
void restore_scaled_c(const GemmBatch& batch, const void* memory, cudaStream_t stream);

}  // namespace sgemm
