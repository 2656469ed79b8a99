#pragma once

#include "gemm_call.hpp"

#include <cuda_runtime_api.h>

#include <cstddef>

namespace sgemm {

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
