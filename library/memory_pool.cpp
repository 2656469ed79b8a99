#include "memory_pool.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <utility>
#include <vector>

namespace sgemm {
namespace {

using Clock = std::chrono::steady_clock;

// How often the pool looks at how much memory is free, and for how long it does not ask again for what there was no
// room for. Both questions take longer than a small product.
constexpr std::chrono::milliseconds BETWEEN_LOOKS{100};
constexpr std::chrono::milliseconds BETWEEN_REFUSALS{10};

constexpr std::size_t MIB = std::size_t{1} << 20U;
constexpr std::size_t LEAST_KEPT = 64 * MIB;  // however little is free: cuBLAS has a workspace of this size, too
constexpr std::size_t KEPT_PART = 32;         // of the device's memory, at most
constexpr std::size_t KEPT_PART_OF_FREE = 4;
constexpr std::size_t GRAPHS_PART = 8;  // of the device's memory, at most, without a limit

/// The graph that a stream is captured into, and the number of the capture, which no other one has.
struct Capture {
  bool active = false;  ///< the stream is captured, or can not be asked
  unsigned long long id = 0;
  cudaGraph_t graph = nullptr;  ///< null: nothing can be captured
};

Capture capture_of(cudaStream_t stream) {
  Capture capture;
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
#if CUDART_VERSION >= 13000
  const cudaError_t error =
      cudaStreamGetCaptureInfo(stream, &status, &capture.id, &capture.graph, nullptr, nullptr, nullptr);
#else
  const cudaError_t error = cudaStreamGetCaptureInfo_v2(stream, &status, &capture.id, &capture.graph, nullptr, nullptr);
#endif
  capture.active = error != cudaSuccess || status != cudaStreamCaptureStatusNone;
  if (error != cudaSuccess || status != cudaStreamCaptureStatusActive) {
    capture.graph = nullptr;
  }
  return capture;
}

/// The number of this thread, whose own stream has one name in all threads, or 0 for other streams.
/// cudaStreamGetId() breaks the capture.
int thread_of(cudaStream_t stream) {
  static std::atomic<int> threads{0};
  thread_local const int number = ++threads;
  return stream == cudaStreamPerThread ? number : 0;
}

/// Graphs call back into the library when they are destroyed, so that it has to stay loaded.
void stay_loaded() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&stay_loaded), &info) != 0) {
    dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
  }
}

}  // namespace

/// That of a device's handles. It is never destroyed, because graphs may outlive all handles.
struct MemoryPool::Pool {
  Pool(int device, std::size_t limit);

  /// That of the current device, with one more handle.
  static Pool* for_handle(std::size_t limit, std::uint64_t context);
  void leave();

  Block allocate(std::size_t bytes, cudaStream_t stream);
  void free(void* memory, cudaStream_t stream) { cudaFreeAsync(memory, stream); }
  /// An event that memory is freed behind, on whatever device then. Null: there is none.
  cudaEvent_t make_event();
  void free_behind(cudaEvent_t event, void* memory);
  void trim();
  std::size_t limit() const { return limit_; }

 private:
  using GraphStream = std::tuple<unsigned long long, cudaStream_t, int>;  ///< capture, stream, and its thread
  /// What a graph has, until it is destroyed.
  struct Holding {
    Pool* pool;
    GraphStream place;
    Block memory;
  };

  void* take(std::size_t bytes, cudaStream_t stream) const;
  bool has_stream(cudaStream_t& stream);
  Block take_for(const Capture& capture, std::size_t bytes, cudaStream_t stream);
  bool hold(cudaGraph_t graph, const Holding& holding);
  void give_up(const Holding& holding);
  void free_returned();
  void keep(std::size_t bytes);
  void look_at_free_memory();

  std::size_t limit_;
  std::size_t most_kept_ = 0;
  std::size_t most_of_graphs_ = 0;
  cudaMemPool_t pool_ = nullptr;  ///< null: the device has none

  std::mutex mutex_;  ///< of what follows
  int handles_ = 0;
  std::size_t kept_ = 0;
  Clock::time_point next_look_;
  Clock::time_point full_until_;
  std::size_t refused_ = std::numeric_limits<std::size_t>::max();  ///< bytes for which there is no room until then
  cudaStream_t stream_ = nullptr;  ///< on which the memory of graphs comes and goes. The host waits for it
  cudaStream_t behind_ = nullptr;  ///< which waits for streams of programs

  std::mutex graphs_mutex_;  ///< of what follows. Graphs that end need it, so that nobody calls CUDA with it.
  std::map<GraphStream, Block> graphs_;  ///< the memory of one stream's work in a graph
  std::size_t of_graphs_ = 0;
  std::vector<void*> returned_;  ///< memory of graphs that are gone
};

MemoryPool::Pool::Pool(int device, std::size_t limit) : limit_(limit) {
  std::size_t free = 0;
  std::size_t total = 0;
  cudaMemGetInfo(&free, &total);
  most_kept_ = std::min(limit_, std::max(LEAST_KEPT, total / KEPT_PART));
  most_of_graphs_ = limit_ == std::numeric_limits<std::size_t>::max() ? total / GRAPHS_PART : limit_;
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  properties.location.id = device;
  if (limit_ <= total) {  // of all that handles use at the same time
    constexpr std::size_t GRANULARITY = 2 * MIB;
    properties.maxSize = (limit_ + GRANULARITY - 1) / GRANULARITY * GRANULARITY;
  }
  if (limit_ == 0) {
    return;
  }
  if (cudaMemPoolCreate(&pool_, &properties) != cudaSuccess) {
    properties.maxSize = 0;  // which an older driver does not know
    if (cudaMemPoolCreate(&pool_, &properties) != cudaSuccess) {
      pool_ = nullptr;
      return;
    }
  }
  // A call on one stream never waits for the memory of another stream's: that one may wait for this.
  int never = 0;
  cudaMemPoolSetAttribute(pool_, cudaMemPoolReuseAllowInternalDependencies, &never);
}

MemoryPool::Pool* MemoryPool::Pool::for_handle(std::size_t limit, std::uint64_t context) {
  static std::mutex mutex;
  static auto* const pools = new std::map<std::tuple<std::uint64_t, int, std::size_t>, Pool*>;
  int device = 0;
  if (cudaGetDevice(&device) != cudaSuccess) {
    return nullptr;
  }
  const std::lock_guard lock(mutex);
  Pool*& pool = (*pools)[{context, device, limit}];
  if (pool == nullptr) {
    pool = new Pool(device, limit);
  }
  const std::lock_guard of_pool(pool->mutex_);
  if (++pool->handles_ == 1) {
    pool->keep(pool->most_kept_);
  }
  return pool;
}

void MemoryPool::Pool::leave() {
  const std::lock_guard lock(mutex_);
  if (--handles_ == 0) {
    free_returned();
    keep(0);
  }
}

/// The pool keeps at most so many bytes that are not in use, from now on.
void MemoryPool::Pool::keep(std::size_t bytes) {
  if (pool_ == nullptr) {
    return;
  }
  std::uint64_t threshold = bytes;
  cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &threshold);
  if (bytes < kept_) {
    cudaMemPoolTrimTo(pool_, bytes);
    // At least so many bytes are left then. They may be one piece, of any size.
    std::uint64_t reserved = 0;
    if (cudaMemPoolGetAttribute(pool_, cudaMemPoolAttrReservedMemCurrent, &reserved) == cudaSuccess &&
        reserved > bytes) {
      cudaMemPoolTrimTo(pool_, 0);
    }
  }
  kept_ = bytes;
}

void MemoryPool::Pool::look_at_free_memory() {
  const Clock::time_point now = Clock::now();
  if (now < next_look_) {
    return;
  }
  next_look_ = now + BETWEEN_LOOKS;
  std::size_t free = 0;
  std::size_t total = 0;
  if (cudaMemGetInfo(&free, &total) == cudaSuccess) {
    const std::size_t bytes = std::min(most_kept_, std::max(LEAST_KEPT, free / KEPT_PART_OF_FREE));
    if (bytes != kept_) {
      keep(bytes);
    }
  }
}

void* MemoryPool::Pool::take(std::size_t bytes, cudaStream_t stream) const {
  void* memory = nullptr;
  return cudaMallocFromPoolAsync(&memory, bytes, pool_, stream) == cudaSuccess ? memory : nullptr;
}

MemoryPool::Block MemoryPool::Pool::allocate(std::size_t bytes, cudaStream_t stream) {
  if (pool_ == nullptr || bytes > limit_) {
    return {};
  }
  const Capture capture = capture_of(stream);
  {
    const std::lock_guard lock(mutex_);
    free_returned();
    if (capture.active) {
      return capture.graph == nullptr ? Block{} : take_for(capture, bytes, stream);
    }
    look_at_free_memory();
    if (bytes >= refused_ && Clock::now() < full_until_) {
      return {};
    }
  }
  void* memory = take(bytes, stream);
  if (memory == nullptr) {  // what the pool keeps may be in pieces that are too small
    cudaMemPoolTrimTo(pool_, 0);
    memory = take(bytes, stream);
  }
  const std::lock_guard lock(mutex_);
  if (memory == nullptr) {
    full_until_ = Clock::now() + BETWEEN_REFUSALS;
    refused_ = bytes;
  } else if (bytes >= refused_) {
    refused_ = std::numeric_limits<std::size_t>::max();
  }
  return {memory, false, bytes};
}

/// Makes one of the pool's own streams. With `mutex_`.
bool MemoryPool::Pool::has_stream(cudaStream_t& stream) {
  return stream != nullptr || cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess;
}

cudaEvent_t MemoryPool::Pool::make_event() {
  const std::lock_guard lock(mutex_);
  cudaEvent_t event = nullptr;
  return has_stream(behind_) && cudaEventCreateWithFlags(&event, cudaEventDisableTiming) == cudaSuccess ? event
                                                                                                        : nullptr;
}

void MemoryPool::Pool::free_behind(cudaEvent_t event, void* memory) {
  if (cudaStreamWaitEvent(behind_, event, 0) == cudaSuccess) {
    free(memory, behind_);
  }
}

/// Memory for a captured stream. An allocation that is captured itself would make the graph one of those that can
/// neither be cloned nor be a part of another one.
MemoryPool::Block MemoryPool::Pool::take_for(const Capture& capture, std::size_t bytes, cudaStream_t stream) {
  const GraphStream place{capture.id, stream, thread_of(stream)};
  {
    const std::lock_guard lock(graphs_mutex_);
    if (const auto found = graphs_.find(place); found != graphs_.end() && found->second.bytes >= bytes) {
      return found->second;  // the work of a stream comes one after the other
    }
    if (bytes > most_of_graphs_ - of_graphs_) {
      return {};
    }
  }
  const Block memory{has_stream(stream_) ? take(bytes, stream_) : nullptr, true, bytes};
  // Once it is there, every stream may use it.
  const bool is_there = memory.data != nullptr && cudaStreamSynchronize(stream_) == cudaSuccess;
  return is_there && hold(capture.graph, {this, place, memory}) ? memory : Block{};
}

/// Lets a graph hold memory until it is destroyed. False: it does not, and the memory is returned.
bool MemoryPool::Pool::hold(cudaGraph_t graph, const Holding& holding) {
  static const bool stays = (stay_loaded(), true);
  static_cast<void>(stays);
  {
    const std::lock_guard lock(graphs_mutex_);
    graphs_[holding.place] = holding.memory;
    of_graphs_ += holding.memory.bytes;
  }
  // CUDA calls this on a thread of its own, where nothing may call CUDA.
  const auto destroyed = [](void* argument) {
    const std::unique_ptr<Holding> ends(static_cast<Holding*>(argument));
    ends->pool->give_up(*ends);
  };
  auto owned = std::make_unique<Holding>(holding);
  cudaUserObject_t object = nullptr;
  if (cudaUserObjectCreate(&object, owned.get(), destroyed, 1, cudaUserObjectNoDestructorSync) != cudaSuccess) {
    give_up(holding);
    return false;
  }
  owned.release();
  if (cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove) != cudaSuccess) {
    cudaUserObjectRelease(object, 1);  // which gives it up
    return false;
  }
  return true;
}

/// The memory of a graph is freed at the next call of the pool.
void MemoryPool::Pool::give_up(const Holding& holding) {
  const std::lock_guard lock(graphs_mutex_);
  if (const auto found = graphs_.find(holding.place);
      found != graphs_.end() && found->second.data == holding.memory.data) {
    graphs_.erase(found);
  }
  of_graphs_ -= holding.memory.bytes;
  returned_.push_back(holding.memory.data);
}

void MemoryPool::Pool::free_returned() {
  std::vector<void*> returned;
  {
    const std::lock_guard lock(graphs_mutex_);
    returned.swap(returned_);
  }
  for (void* const memory : returned) {
    free(memory, stream_);
  }
}

void MemoryPool::Pool::trim() {
  const std::lock_guard lock(mutex_);
  free_returned();
  if (pool_ != nullptr) {
    cudaMemPoolTrimTo(pool_, 0);
  }
}

MemoryPool::MemoryPool(std::size_t limit, std::uint64_t context) : pool_(Pool::for_handle(limit, context)) {}

MemoryPool::~MemoryPool() {
  free_kept();
  if (pool_ != nullptr) {
    pool_->leave();
  }
}

void MemoryPool::free_kept() {
  if (done_with_kept_ != nullptr) {
    pool_->free_behind(done_with_kept_, kept_.data);
    cudaEventDestroy(std::exchange(done_with_kept_, nullptr));
    kept_ = {};
  }
}

/// Whether work on a stream would follow the last work in the memory that stays, without waiting for another stream. A
/// new stream may have the number of one that is gone, so that it waits as well.
bool MemoryPool::may_use_kept(cudaStream_t stream) const {
  return !capture_of(stream).active &&
         (cudaEventQuery(done_with_kept_) == cudaSuccess ||
          (stream == stream_of_kept_ && cudaStreamWaitEvent(stream, done_with_kept_, 0) == cudaSuccess));
}

MemoryPool::Block MemoryPool::allocate(std::size_t bytes, cudaStream_t stream) {
  if (bytes <= kept_.bytes && may_use_kept(stream)) {
    return kept_;
  }
  return pool_ == nullptr ? Block{} : pool_->allocate(bytes, stream);
}

void MemoryPool::free(const Block& block, cudaStream_t stream, bool stays) {
  if (block.data == nullptr || block.of_graph) {
    return;
  }
  const bool is_kept = block.data == kept_.data;
  const bool can_stay =
      is_kept || (stays && (kept_.data == nullptr || (block.bytes > kept_.bytes && may_use_kept(stream))));
  if (can_stay && done_with_kept_ == nullptr) {
    done_with_kept_ = pool_->make_event();
  }
  if (can_stay && done_with_kept_ != nullptr) {
    if (!is_kept && kept_.data != nullptr) {
      pool_->free(kept_.data, stream);
    }
    kept_ = block;
    stream_of_kept_ = stream;
    cudaEventRecord(done_with_kept_, stream);
  } else {
    pool_->free(block.data, stream);
  }
}

void MemoryPool::trim() {
  if (pool_ != nullptr) {
    pool_->trim();
  }
}

std::size_t MemoryPool::limit() const { return pool_ == nullptr ? 0 : pool_->limit(); }

}  // namespace sgemm
