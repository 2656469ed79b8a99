#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace sgemm {

/// Memory of the GPU for the work of a handle's calls, from a pool that all handles of a device with the same limit
/// share. The pool keeps
/// freed memory for the next allocation, so that a program that waits for the GPU between calls does not map memory
/// again and again. It keeps less where little is free beside it. The executor has no pools, so tests on it bring an
/// implementation of their own.
class MemoryPool {
 public:
  /// On the current device in a context (cuda_guard.hpp). Handles that share the pool have at most `limit` bytes at a
  /// time. There may be no pools on the device; every allocation fails then.
  MemoryPool(std::size_t limit, std::uint64_t context);
  /// The last one on a device gives back all memory of the pool, what work still uses behind that work.
  ~MemoryPool();
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  struct Block {
    void* data = nullptr;  ///< null: there is no room
    bool of_graph = false;
    std::size_t bytes = 0;
  };

  /// Memory that work on `stream` may use from now on. If the stream is captured, it is the memory of the graph: all
  /// work of that stream in the graph has the same, until the graph and all that was made of it are destroyed.
  Block allocate(std::size_t bytes, cudaStream_t stream);
  /// Frees it behind the work that is on `stream` now, unless a graph has it. If it `stays`, the handle has it from now
  /// on, for calls that need no more: others can take the memory of a pool, but not this.
  void free(const Block& block, cudaStream_t stream, bool stays);
  /// The handle has none from now on: what work still uses is freed behind that work. Any device may be current.
  void free_kept();
  /// Gives memory that is not in use back to the system.
  void trim();
  /// The most bytes that an allocation may have.
  std::size_t limit() const;

 private:
  struct Pool;
  bool may_use_kept(cudaStream_t stream) const;

  Pool* pool_;
  Block kept_;                             ///< that stays with the handle
  cudaStream_t stream_of_kept_ = nullptr;  ///< of the last work in it
  cudaEvent_t done_with_kept_ = nullptr;   ///< behind that work
};

/// A number of bytes as SGEMM_MEMORY has it: "0", "800000000", "512M", "2G" or "2GiB", in units of 1024. Nothing: it is
/// none.
std::optional<std::size_t> bytes_of(const std::string& text);

/// What the variable SGEMM_MEMORY allows the handles of a device. Without it there is no limit. A wrong value is named
/// on standard error, once in a process, and sets none.
std::size_t memory_limit();

}  // namespace sgemm
