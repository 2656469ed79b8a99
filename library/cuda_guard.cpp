#include "cuda_guard.hpp"

#include <dlfcn.h>

#include <atomic>

namespace sgemm {
namespace {

/// Sets the mode of this thread, and returns the one before.
int exchange(int mode) {
  auto exchanged = static_cast<cudaStreamCaptureMode>(mode);
  cudaThreadExchangeStreamCaptureMode(&exchanged);
  return exchanged;
}

using GetId = int (*)(void* context, unsigned long long* id);

/// cuCtxGetId(), once the runtime has loaded the driver. The driver is not linked.
GetId find_get_id() {
  void* const driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  return reinterpret_cast<GetId>(driver == nullptr ? nullptr : dlsym(driver, "cuCtxGetId"));
}

}  // namespace

std::uint64_t context_id() {
  static std::atomic<GetId> known{nullptr};
  unsigned long long id = 0;
  GetId get = known;
  if (get == nullptr || get(nullptr, &id) != 0) {
    cudaFree(nullptr);  // loads the driver, and makes a context
    known = get = find_get_id();
    id = 0;
    if (get != nullptr && get(nullptr, &id) != 0) {
      id = 0;
    }
  }
  return id;
}

RelaxedCapture::RelaxedCapture() : mode_(exchange(cudaStreamCaptureModeRelaxed)) {}
RelaxedCapture::~RelaxedCapture() { exchange(mode_); }

}  // namespace sgemm
