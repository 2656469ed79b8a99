// CUDA's runtime for the tests.

#include "fake_cuda.hpp"

#include <cstdint>
#include <numeric>
#include <utility>

FakeCuda* fake_cuda() {
  static auto* const fake = new FakeCuda;
  return fake;
}

struct CUevent_st {
  int device;
  cudaStream_t stream = nullptr;  ///< of the last record
  int records = 0;
};

namespace {

thread_local cudaStreamCaptureMode mode_of_thread = cudaStreamCaptureModeGlobal;

cudaError_t result(cudaError_t error) {
  if (error != cudaSuccess) {
    fake_cuda()->error = error;
  }
  return error;
}

/// Of a call that may do what a capture forbids.
cudaError_t unsafe() {
  FakeCuda& fake = *fake_cuda();
  if (fake.captured.empty() || mode_of_thread == cudaStreamCaptureModeRelaxed) {
    return cudaSuccess;
  }
  ++fake.broken_captures;
  return result(cudaErrorStreamCaptureUnsupported);
}

}  // namespace

cudaError_t cudaGetLastError() { return std::exchange(fake_cuda()->error, cudaSuccess); }
cudaError_t cudaPeekAtLastError() { return fake_cuda()->error; }

/// A function that succeeds, and what it does.
#define SUCCEEDS(signature, statement) \
  cudaError_t signature {              \
    statement;                         \
    return cudaSuccess;                \
  }

SUCCEEDS(cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode), std::swap(*mode, mode_of_thread))

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  const bool captured = fake_cuda()->captured.count(stream) > 0;
  *status = captured ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  // The default stream waits for others, so that nothing can be said of it while one is captured.
  return stream == nullptr && !captured && !fake_cuda()->captured.empty() ? result(cudaErrorStreamCaptureImplicit)
                                                                          : cudaSuccess;
}

cudaError_t cudaGetDevice(int* device) {
  ++fake_cuda()->calls;
  *device = fake_cuda()->device;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr which, int) {
  // 1e3 bytes a microsecond
  *value = which == cudaDevAttrMemoryClockRate ? 500 : which == cudaDevAttrGlobalMemoryBusWidth ? 8000 : 0;
  return cudaSuccess;
}

SUCCEEDS(cudaEventCreate(cudaEvent_t* event), *event = new CUevent_st{fake_cuda()->device})

// Streams of tests are of the device that is current.
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  ++fake_cuda()->calls;
  if (event->device != fake_cuda()->device) {
    return result(cudaErrorInvalidResourceHandle);
  }
  ++event->records;
  event->stream = stream;
  return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  ++fake_cuda()->calls;
  return event->stream != nullptr && event->stream == fake_cuda()->busy ? cudaErrorNotReady : unsafe();
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) { return cudaEventCreate(event); }

SUCCEEDS(cudaEventDestroy(cudaEvent_t event), delete event)

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  if (event->stream == fake_cuda()->busy && stream != event->stream) {
    ++fake_cuda()->waits;
    fake_cuda()->waiting.insert(stream);
  }
  return cudaSuccess;
}

cudaError_t cudaFree(void*) { return cudaSuccess; }

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t) {
  *milliseconds = static_cast<float>(begin->records == 1 ? FakeCuda::FIRST_MS : FakeCuda::LATER_MS);
  return unsafe();
}

// ---- Memory ----

std::size_t FakePool::reserved() const {
  return std::accumulate(idle.begin(), idle.end(), std::accumulate(pending.begin(), pending.end(), in_use));
}

void FakePool::trim(std::size_t bytes) {
  while (!idle.empty() && reserved() > bytes) {
    idle.erase(idle.begin());
  }
}

std::size_t FakeCuda::free() const {
  std::size_t taken = of_others;
  for (const auto& pool : pools) {
    taken += pool->reserved();
  }
  return total - taken;
}

void FakeCuda::synchronize() {
  for (const auto& pool : pools) {
    pool->trim(pool->threshold);
  }
}

void FakeCuda::destroy_graph() {
  ++capture;
  for (const FakeUserObject& object : std::exchange(held, {})) {
    object.destroy(object.argument);
  }
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  ++fake_cuda()->questions;
  *free = fake_cuda()->free();
  *total = fake_cuda()->total;
  return cudaSuccess;
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties) {
  if (properties->maxSize > 0 && !fake_cuda()->knows_limits) {
    return result(cudaErrorInvalidValue);
  }
  auto made = std::make_unique<FakePool>();
  made->most = properties->maxSize;
  *pool = reinterpret_cast<cudaMemPool_t>(made.get());
  fake_cuda()->pools.push_back(std::move(made));
  return unsafe();
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr which, void* value) {
  if (which == cudaMemPoolAttrReleaseThreshold) {
    reinterpret_cast<FakePool*>(pool)->threshold = *static_cast<unsigned long long*>(value);
  } else if (which == cudaMemPoolReuseAllowInternalDependencies) {
    reinterpret_cast<FakePool*>(pool)->may_wait = *static_cast<int*>(value) != 0;
  }
  return cudaSuccess;
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr which, void* value) {
  if (which != cudaMemPoolAttrReservedMemCurrent) {
    return result(cudaErrorInvalidValue);
  }
  *static_cast<unsigned long long*>(value) = reinterpret_cast<FakePool*>(pool)->reserved();
  return cudaSuccess;
}

/// At least so many bytes stay, so that a larger piece than the rest stays whole.
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, std::size_t bytes) {
  FakePool& from = *reinterpret_cast<FakePool*>(pool);
  while (!from.idle.empty() && from.reserved() - *from.idle.begin() >= bytes) {
    from.idle.erase(from.idle.begin());
  }
  return unsafe();
}

cudaError_t cudaMallocFromPoolAsync(void** memory, std::size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
  FakeCuda& fake = *fake_cuda();
  fake.memory_nodes += static_cast<int>(fake.captured.count(stream));
  FakePool& from = *reinterpret_cast<FakePool*>(pool);
  if (const auto piece = from.idle.lower_bound(bytes); piece != from.idle.end()) {
    bytes = *piece;
    from.idle.erase(piece);
  } else if (const auto used = from.pending.lower_bound(bytes);
             used != from.pending.end() && (stream == fake.busy || from.may_wait)) {
    bytes = *used;
    from.pending.erase(used);
    fake.waits += stream == fake.busy ? 0 : 1;
  } else if (bytes > fake.free() || (from.most > 0 && from.reserved() + bytes > from.most)) {
    ++fake.refused_allocations;
    return result(cudaErrorMemoryAllocation);
  }
  from.in_use += bytes;
  *memory = new char;
  fake.allocations[*memory] = {&from, bytes};
  return cudaSuccess;
}

cudaError_t cudaFreeAsync(void* memory, cudaStream_t stream) {
  const auto found = fake_cuda()->allocations.find(memory);
  if (found == fake_cuda()->allocations.end()) {
    return result(cudaErrorInvalidValue);
  }
  const auto& [pool, bytes] = found->second;
  pool->in_use -= bytes;
  (stream != nullptr && stream == fake_cuda()->busy ? pool->pending : pool->idle).insert(bytes);
  fake_cuda()->allocations.erase(found);
  delete static_cast<char*>(memory);
  return cudaSuccess;
}

// ---- Streams and graphs ----

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  static std::uintptr_t number = 1024;
  *stream = reinterpret_cast<cudaStream_t>(++number);
  fake_cuda()->device_of_stream = fake_cuda()->device;
  return unsafe();
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  fake_cuda()->waits_of_host += static_cast<int>(fake_cuda()->waiting.count(stream));
  return unsafe();
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id,
                                     cudaGraph_t* graph, const cudaGraphNode_t**, const cudaGraphEdgeData**,
                                     std::size_t*) {
  *id = fake_cuda()->capture;
  *graph = reinterpret_cast<cudaGraph_t>(512);
  return cudaStreamIsCapturing(stream, status);
}

SUCCEEDS(cudaUserObjectCreate(cudaUserObject_t* object, void* argument, cudaHostFn_t destroy, unsigned, unsigned),
         *object = reinterpret_cast<cudaUserObject_t>(new FakeUserObject{argument, destroy}))

cudaError_t cudaUserObjectRelease(cudaUserObject_t object, unsigned) {
  const std::unique_ptr<FakeUserObject> ends(reinterpret_cast<FakeUserObject*>(object));
  ends->destroy(ends->argument);
  return cudaSuccess;
}

cudaError_t cudaGraphRetainUserObject(cudaGraph_t, cudaUserObject_t object, unsigned, unsigned) {
  if (fake_cuda()->graph_refuses) {
    return result(cudaErrorInvalidValue);
  }
  const std::unique_ptr<FakeUserObject> moved(reinterpret_cast<FakeUserObject*>(object));
  fake_cuda()->held.push_back(*moved);
  return cudaSuccess;
}
