#pragma once

#include "bench/gpu/session.hpp"
#include "bench/tuner.hpp"

#include <functional>

namespace sgemm {

// What a GPU's bench does with a kernel in each mode, one file a mode.

/// Paired samples of the kernel and cuBLAS, warm, cold or end to end, and their energy where the protocol asks for it.
void measure(GpuSession& gpu, const GpuCase& item);
/// A turn each of the kernel and of cuBLAS, as long as the protocol says.
void sustain(GpuSession& gpu, const GpuCase& item);
/// One launch, of which the errors are recorded.
void compare_errors(GpuSession& gpu, const GpuCase& item);
/// One launch between cudaProfilerStart() and cudaProfilerStop().
void launch_profiled(GpuSession& gpu, const GpuCase& item);

/// The energy of turns that follow the samples.
void measure_energy(GpuSession& gpu, const GpuCase& item, const Prepared& kernel);

/// Calls the function and turns errors of CUDA and of libraries into the outcome of a case.
using Guard = std::function<void(const std::function<void()>&)>;

/// All configurations of a kernel on one operand set. `guard` is called for what concerns a single one.
TuningResult try_configurations(GpuSession& gpu, const GpuCase& item, const Guard& guard);

}  // namespace sgemm
