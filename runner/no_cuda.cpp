// Answers to the runner in a build without the CUDA toolkit: there is no GPU.

#include "bench/bench.hpp"
#include "device/device.hpp"
#include "user/library.hpp"
#include "verify/verify_parts.hpp"

#include <stdexcept>

namespace sgemm {

DeviceQuery query_device(int) { return {std::nullopt, "the runner was built without the CUDA toolkit"}; }

std::unique_ptr<UserCode> load_device_code(const std::filesystem::path&) {
  throw std::logic_error("there is no GPU to launch on");
}

GpuLibraries gpu_libraries() { return {}; }

std::unique_ptr<GpuBench> GpuBench::open(const Device&, const Protocol&, StopToken) {
  throw std::logic_error("there is no device to be opened");
}

std::unique_ptr<Reference> compute_gpu_reference(const Problem&, std::uint64_t, const Coverage&, Roundings) {
  throw std::logic_error("there is no GPU for a reference");
}

}  // namespace sgemm
