#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace sgemm {

/// Memory of the GPU for the work of calls, from one pool for each device, which all handles share. The pool keeps
/// freed memory for the next allocation, so that a program that waits for the GPU between calls does not map memory
/// again and again. It keeps less where little is free beside it. The executor has no pools, so tests on it bring an
/// implementation of their own.
class MemoryPool {
 public:
  /// On the current device. There may be no pools on it; every allocation fails then.
  MemoryPool();
  /// The last one on a device gives back all memory of the pool, what work still uses behind that work.
  ~MemoryPool();
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  struct Block {
    void* data = nullptr;  ///< null: there is no room
    bool of_graph = false;
  };

  /// Memory that work on `stream` may use from now on. If the stream is captured, it is the memory of the graph: all
  /// work of that stream in the graph has the same, until the graph and all that was made of it are destroyed.
  Block allocate(std::size_t bytes, cudaStream_t stream);
  /// Frees it behind the work that is on `stream` now, unless a graph has it.
  void free(const Block& block, cudaStream_t stream);
  /// Gives memory that is not in use back to the system.
  void trim();
  /// The most bytes that an allocation may have: those of SGEMM_MEMORY, or ANY_WORKSPACE of choice.hpp.
  std::size_t limit() const;

 private:
  class Pool;
  Pool* pool_;
};

}  // namespace sgemm
