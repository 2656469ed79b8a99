#pragma once

// Stands in for the header of NVIDIA's samples, with what their programs do around a kernel.

#include <cuda_runtime.h>

#include <stdexcept>
#include <string>

inline void checkCudaErrors(cudaError_t error) {
  if (error != cudaSuccess) {
    throw std::runtime_error(std::string("checkCudaErrors: ") + cudaGetErrorString(error));
  }
}
inline void getLastCudaError(const char*) { checkCudaErrors(cudaGetLastError()); }
inline int findCudaDevice(int, const char**) { return 0; }
