#pragma once

#include "common/cuda_check.hpp"

#include <cuda_runtime_api.h>

#include <memory>
#include <type_traits>

namespace sgemm {

// Errors while destroying are ignored: they repeat an earlier one, or the process is ending.

template <auto DESTROY>
struct Destroy {
  template <class Handle>
  void operator()(Handle* handle) const {
    DESTROY(handle);
  }
};
using Stream = std::unique_ptr<std::remove_pointer_t<cudaStream_t>, Destroy<cudaStreamDestroy>>;
using Event = std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, Destroy<cudaEventDestroy>>;

/// A stream that waits for earlier work on the default stream: a copy from pageable memory may still run there when its
/// call has returned.
inline Stream make_stream() {
  cudaStream_t stream = nullptr;
  CUDA_CHECK(cudaStreamCreate(&stream));
  return Stream(stream);
}

inline Event make_event() {
  cudaEvent_t event = nullptr;
  CUDA_CHECK(cudaEventCreate(&event));
  return Event(event);
}

}  // namespace sgemm
