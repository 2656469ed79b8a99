#pragma once

#include "bench/gpu/session.hpp"

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

}  // namespace sgemm
