#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>

namespace sgemm {

/// Memory of the GPU in the order of streams. The pool keeps freed memory for the next allocation, so that a program
/// that waits for the GPU between calls does not map memory again and again. The executor has no pools, so tests on it
/// bring an implementation of their own.
class MemoryPool {
 public:
  /// On the current device. There may be no pools on it; every allocation fails then.
  MemoryPool();
  /// Memory that work still uses is given back behind that work.
  ~MemoryPool();

  /// Memory that work on `stream` may use from now on; null if there is no room.
  void* allocate(std::size_t bytes, cudaStream_t stream);
  /// Frees it behind the work that is on `stream` now.
  void free(void* memory, cudaStream_t stream);
  /// Gives memory that is not in use back to the system.
  void trim();

 private:
  struct Pool;
  std::unique_ptr<Pool> pool_;
};

}  // namespace sgemm
