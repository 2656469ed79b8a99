#include "host_blas.hpp"
#include "memory_pool.hpp"

#include <algorithm>
#include <cstring>

namespace sgemm {

test::PoolState& test::pool_state() {
  thread_local PoolState state;
  return state;
}

struct MemoryPool::Pool {
  std::size_t limit;
};

MemoryPool::MemoryPool(std::size_t limit, std::uint64_t) : pool_(new Pool{limit}) {}
MemoryPool::~MemoryPool() { delete pool_; }

MemoryPool::Block MemoryPool::allocate(std::size_t bytes, cudaStream_t) {
  void* memory = nullptr;
  if (test::pool_state().full || cudaMalloc(&memory, bytes) != cudaSuccess) {
    return {};
  }
  ++test::pool_state().allocations;
  ++test::pool_state().live;
  std::memset(memory, 0xFF, bytes);  // a pool's memory may hold anything
  return {memory, false};
}

void MemoryPool::free(const Block& block, cudaStream_t, bool) {
  if (block.data != nullptr) {
    --test::pool_state().live;
    cudaFree(block.data);
  }
}

void MemoryPool::trim() {
  test::capture_state().forbids();
  ++test::pool_state().trims;
}

std::size_t MemoryPool::limit() const { return std::min(pool_->limit, test::pool_state().limit); }

}  // namespace sgemm
