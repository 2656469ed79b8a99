#pragma once

// Stands in for CUDA's header of the same name: no profiler follows the executor.

#include <cuda_runtime_api.h>

inline cudaError_t cudaProfilerStart() { return cudaSuccess; }
inline cudaError_t cudaProfilerStop() { return cudaSuccess; }
