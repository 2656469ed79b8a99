#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <vector>

/// Takes the memory of the current GPU, down to pieces of 2 MiB, until it is destroyed.
class AllMemory {
 public:
  AllMemory() {
    for (std::size_t bytes = std::size_t{1} << 36U; bytes >= std::size_t{1} << 21U;) {
      void* memory = nullptr;
      if (cudaMalloc(&memory, bytes) == cudaSuccess) {
        taken_.push_back(memory);
        bytes_ += bytes;
      } else {
        cudaGetLastError();
        bytes /= 2;
      }
    }
  }
  ~AllMemory() {
    for (void* const memory : taken_) {
      cudaFree(memory);
    }
  }
  AllMemory(const AllMemory&) = delete;
  AllMemory& operator=(const AllMemory&) = delete;

  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_ = 0;
  std::vector<void*> taken_;
};
