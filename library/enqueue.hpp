#pragma once

#include "algorithm.hpp"
#include "gemm_epilogue.hpp"
#include "gemm_problem.hpp"

#include <cuda_runtime_api.h>

namespace sgemm {

/// Enqueues a batch by an algorithm. Returns false if CUDA refused, and cuBLAS can compute the batch instead. It can
/// not where products are in C already, because C would get them twice: that is a StatusError of
/// SGEMM_STATUS_EXECUTION_FAILED.
bool enqueue(const Algorithm& algorithm, const GemmBatch& batch, void* workspace, cudaStream_t stream);

/// The same for a batch of one product with its epilogue, by an algorithm that has epilogues.
bool enqueue(const Algorithm& algorithm, const GemmBatch& batch, const GemmEpilogue& epilogue, void* workspace,
             cudaStream_t stream);

}  // namespace sgemm
