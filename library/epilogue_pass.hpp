#pragma once

#include "gemm_epilogue.hpp"
#include "gemm_problem.hpp"

#include <cuda_runtime_api.h>

namespace sgemm {

// An epilogue in kernels of its own, before and behind the product, where the kernel that multiplies has none.

/// Bytes that these kernels move for each element of D.
double epilogue_pass_bytes(const GemmEpilogue& epilogue);

/// Enqueues a copy of C to D, if C is another matrix and may be read. Throws CudaError.
void prepare_d(const GemmProblem& p, const GemmEpilogue& epilogue, cudaStream_t stream);

/// Enqueues D = the bias, to which a product with a beta of 1 is added. Throws CudaError.
void start_from_bias(const GemmProblem& p, const GemmEpilogue& epilogue, cudaStream_t stream);

/// The same where a beta on the GPU is 0. Returns `beta`, which becomes what the product is added with. Throws
/// CudaError.
const float* start_from_bias_if_beta_is_0(const GemmProblem& p, const GemmEpilogue& epilogue, float* beta,
                                          cudaStream_t stream);

/// Enqueues the rest of the epilogue for D, which has alpha * op(A) * op(B) + beta * C. C may be gone by then, so that
/// nothing can be begun again: throws a StatusError of SGEMM_STATUS_EXECUTION_FAILED. D was started from the bias where
/// the number at `started_if_0`, on the GPU, is 0; null: it was not.
void finish_d(const GemmProblem& p, const GemmEpilogue& epilogue, cudaStream_t stream,
              const float* started_if_0 = nullptr);

}  // namespace sgemm
