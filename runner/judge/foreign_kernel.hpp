#pragma once

#include "device/cuda_handles.hpp"
#include "device/device_problem.hpp"
#include "judge/launcher.hpp"
#include "judge/round_trip.hpp"

#include <cuda_runtime_api.h>

#include <vector>

namespace sgemm {

/// A file's kernel as the judge knows it: the launcher that has it, and what came of the ways to it and back.
struct ForeignKernel {
  /// Starts the launcher.
  explicit ForeignKernel(StopToken stop);

  Launcher launcher;
  Event gate;                    ///< opens for the launcher when the work before it is done
  int launches = 1;              ///< of each sample
  RoundTripCost cost;            ///< of such a sample
  std::vector<RoundTrip> trips;  ///< with such samples
};

/// The handle of an event that processes share.
std::string handle_of(const Event& gate);

/// Where the launcher finds the kernel's operands.
std::vector<Places> places_of(DeviceProblem& problem, int launches);

/// Opens the gate when all work on the stream is done, has the launcher launch, and waits.
RoundTrip round_trip(ForeignKernel& foreign, const std::vector<Places>& launches, cudaStream_t stream);

}  // namespace sgemm
