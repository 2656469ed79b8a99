#pragma once

// Stands in for the CUDA driver's header: its version and names that kernels' hosts mention. The driver's functions
// are not modelled.

#include <cuda_runtime_api.h>

#define CUDA_VERSION 12080

using CUstream = cudaStream_t;
using CUdeviceptr = unsigned long long;
using CUresult = int;
constexpr CUresult CUDA_SUCCESS = 0;
