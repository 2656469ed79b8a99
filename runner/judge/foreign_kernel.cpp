#include "judge/foreign_kernel.hpp"

#include "common/cuda_check.hpp"

#include <chrono>

namespace sgemm {
namespace {

using Clock = std::chrono::steady_clock;

Event make_gate() {
  cudaEvent_t event = nullptr;
  CUDA_CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming | cudaEventInterprocess));
  return Event(event);
}

}  // namespace

ForeignKernel::ForeignKernel(StopToken stop) : launcher(stop), gate(make_gate()) {}

std::string handle_of(const Event& gate) {
  cudaIpcEventHandle_t handle{};
  CUDA_CHECK(cudaIpcGetEventHandle(&handle, gate.get()));
  return hexadecimal(&handle, sizeof(handle));
}

std::vector<Places> places_of(DeviceProblem& problem, int launches) {
  std::vector<Places> places;
  for (int launch = 0; launch < launches; ++launch) {
    const Problem p = problem.operands(Owner::kernel, launch);
    const SharedOperands& shared = *problem.shared();
    places.push_back({shared.place_of(p.a), shared.place_of(p.b), shared.place_of(p.c)});
  }
  return places;
}

RoundTrip round_trip(ForeignKernel& foreign, const std::vector<Places>& launches, cudaStream_t stream) {
  CUDA_CHECK(cudaStreamSynchronize(stream));
  const Clock::time_point start = Clock::now();
  CUDA_CHECK(cudaEventRecord(foreign.gate.get(), stream));
  const double told_us = foreign.launcher.sample(launches);
  return {std::chrono::duration<double, std::micro>(Clock::now() - start).count(), told_us};
}

}  // namespace sgemm
