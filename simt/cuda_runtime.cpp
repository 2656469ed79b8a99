// The calls of CUDA's runtime that the hosts of kernels use.

#include "simt/device_memory.hpp"
#include "simt/gpu_models.hpp"

#include <cuda_runtime.h>

#include <cstddef>
#include <cstring>

const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "cudaSuccess";
    case cudaErrorInvalidValue:
      return "cudaErrorInvalidValue";
    case cudaErrorMemoryAllocation:
      return "cudaErrorMemoryAllocation";
    case cudaErrorInvalidConfiguration:
      return "cudaErrorInvalidConfiguration";
    case cudaErrorNotSupported:
      return "cudaErrorNotSupported";
  }
  return "unrecognized error code";
}

const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "no error";
    case cudaErrorInvalidValue:
      return "invalid argument";
    case cudaErrorMemoryAllocation:
      return "out of memory";
    case cudaErrorInvalidConfiguration:
      return "invalid configuration argument";
    case cudaErrorNotSupported:
      return "operation not supported";
  }
  return "unrecognized error code";
}

cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }

cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  switch (attribute) {
    case cudaDevAttrMultiProcessorCount:
      *value = static_cast<int>(simt::find_gpu_model("h200")->sms);
      return cudaSuccess;
    case cudaDevAttrComputeCapabilityMajor:
      *value = 9;
      return cudaSuccess;
    case cudaDevAttrComputeCapabilityMinor:
      *value = 0;
      return cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      *value = simt::MAX_DYNAMIC_SMEM;
      return cudaSuccess;
  }
  return cudaErrorInvalidValue;
}

cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  *memory = simt::allocate(bytes);
  return cudaSuccess;
}

cudaError_t cudaFree(void* memory) {
  return memory == nullptr || simt::release(memory) ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t cudaMemset(void* memory, int value, std::size_t bytes) {
  std::memset(memory, value, bytes);
  return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void*, cudaFuncAttribute, int value) {
  return value >= 0 && static_cast<std::size_t>(value) <= simt::MAX_DYNAMIC_SMEM ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes*, const void*) { return cudaErrorNotSupported; }

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int*, const void*, int, std::size_t) {
  return cudaErrorNotSupported;
}

namespace simt {

cudaError_t check(const cudaLaunchConfig_t& config) {
  constexpr unsigned MOST_BLOCKS_X = 0x7FFFFFFFU;
  constexpr unsigned MOST_BLOCKS_YZ = 0xFFFFU;
  constexpr unsigned MOST_THREADS_Z = 64;
  const dim3& grid = config.gridDim;
  const dim3& block = config.blockDim;
  const auto within = [](unsigned value, unsigned most) { return value >= 1 && value <= most; };
  const bool valid = within(grid.x, MOST_BLOCKS_X) && within(grid.y, MOST_BLOCKS_YZ) &&
                     within(grid.z, MOST_BLOCKS_YZ) && within(block.x, MAX_THREADS_PER_BLOCK) &&
                     within(block.y, MAX_THREADS_PER_BLOCK) && within(block.z, MOST_THREADS_Z) &&
                     block.x * block.y * block.z <= MAX_THREADS_PER_BLOCK;
  if (!valid) {
    return cudaErrorInvalidConfiguration;
  }
  return config.dynamicSmemBytes <= MAX_DYNAMIC_SMEM ? cudaSuccess : cudaErrorInvalidValue;
}

}  // namespace simt
