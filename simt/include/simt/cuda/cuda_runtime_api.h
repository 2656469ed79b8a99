#pragma once

// Stands in for CUDA's header of the same name: the types of the host's side of CUDA, and the calls that kernels'
// hosts make. Names and values are CUDA's; the functions belong to the executor, so that this and the CUDA runtime can
// be part of one program.

#include <cstddef>

/// Tells sources which of the two headers they were compiled with.
#define SIMT_CUDA_RUNTIME 1

enum cudaError {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInvalidConfiguration = 9,
  cudaErrorNotSupported = 801,
};
using cudaError_t = cudaError;

const char* cudaGetErrorName(cudaError_t error);
const char* cudaGetErrorString(cudaError_t error);

/// Launches are complete when they return, so every stream is in order with all others and none needs to exist.
using cudaStream_t = struct CUstream_st*;

/// Every call is complete when it returns, so there is nothing to wait for.
cudaError_t cudaStreamSynchronize(cudaStream_t stream);

/// The device that kernels are told of: an H200, by simt/gpu_models.hpp.
cudaError_t cudaGetDevice(int* device);
enum cudaDeviceAttr {
  cudaDevAttrMultiProcessorCount = 16,
  cudaDevAttrComputeCapabilityMajor = 75,
  cudaDevAttrComputeCapabilityMinor = 76,
  cudaDevAttrMaxSharedMemoryPerBlockOptin = 97,
};
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device);

/// Memory of the host, which checked and counted kernels may use from then on. Throws std::bad_alloc where there is not
/// enough.
cudaError_t cudaMalloc(void** memory, std::size_t bytes);
cudaError_t cudaFree(void* memory);
cudaError_t cudaMemset(void* memory, int value, std::size_t bytes);
