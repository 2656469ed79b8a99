#include "host_blas.hpp"
#include "memory_pool.hpp"

#include <cstring>

namespace sgemm {

test::PoolState& test::pool_state() {
  thread_local PoolState state;
  return state;
}

struct MemoryPool::Pool {};

MemoryPool::MemoryPool() = default;
MemoryPool::~MemoryPool() = default;

void* MemoryPool::allocate(std::size_t bytes, cudaStream_t) {
  void* memory = nullptr;
  if (test::pool_state().full || cudaMalloc(&memory, bytes) != cudaSuccess) {
    return nullptr;
  }
  ++test::pool_state().allocations;
  ++test::pool_state().live;
  std::memset(memory, 0xFF, bytes);  // a pool's memory may hold anything
  return memory;
}

void MemoryPool::free(void* memory, cudaStream_t) {
  --test::pool_state().live;
  cudaFree(memory);
}

void MemoryPool::trim() { ++test::pool_state().trims; }

}  // namespace sgemm
