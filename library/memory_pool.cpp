#include "memory_pool.hpp"

#include <cstdint>
#include <limits>

namespace sgemm {

struct MemoryPool::Pool {
  explicit Pool(cudaMemPool_t pool) : handle(pool) {}
  ~Pool() { cudaMemPoolDestroy(handle); }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  cudaMemPool_t handle;
};

MemoryPool::MemoryPool() {
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  cudaMemPool_t pool = nullptr;
  if (cudaGetDevice(&properties.location.id) == cudaSuccess && cudaMemPoolCreate(&pool, &properties) == cudaSuccess) {
    pool_ = std::make_unique<Pool>(pool);
    std::uint64_t keep_all = std::numeric_limits<std::uint64_t>::max();
    cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep_all);
  } else {
    cudaGetLastError();  // the program does not have to see that there are no pools
  }
}

MemoryPool::~MemoryPool() = default;

void* MemoryPool::allocate(std::size_t bytes, cudaStream_t stream) {
  void* memory = nullptr;
  if (!pool_ || cudaMallocFromPoolAsync(&memory, bytes, pool_->handle, stream) != cudaSuccess) {
    cudaGetLastError();
    return nullptr;
  }
  return memory;
}

void MemoryPool::free(void* memory, cudaStream_t stream) { cudaFreeAsync(memory, stream); }

void MemoryPool::trim() {
  if (pool_) {
    cudaMemPoolTrimTo(pool_->handle, 0);
  }
}

}  // namespace sgemm
