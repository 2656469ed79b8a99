#include "base/outcome.hpp"
#include "bench/gpu/session.hpp"
#include "common/cuda_check.hpp"
#include "device/trace.hpp"
#include "record/record.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace sgemm {
namespace {

Contender cublas(GpuSession& gpu, OperandSet& operands) {
  return {gpu.cublas_of(operands), Owner::cublas, GpuSession::standard_of(operands, AccuracyClass::fp32)};
}

/// Samples of cuBLAS on its own and on operands that stay, which are taken once for all kernels on the same ones.
const std::vector<double>& cublas_alone_us(GpuSession& gpu, const GpuCase& item) {
  OnDevice& state = gpu.on_device(item.operands);
  if (state.cublas_alone_us.empty()) {
    const Round round = gpu.round_of(item.operands, {cublas(gpu, item.operands)});
    const Observer alone = [&](std::string_view activity) { item.observer(fmt::format("cuBLAS alone: {}", activity)); };
    state.cublas_alone_us = take_samples(round, gpu.sampling(1), alone).kernel_us;
  }
  return state.cublas_alone_us;
}

/// Device memory that nobody has.
std::size_t free_bytes() {
  std::size_t free = 0;
  std::size_t total = 0;
  CUDA_CHECK(cudaMemGetInfo(&free, &total));
  return free;
}

/// The first launch loads code, and samples need no more memory than a launch, but for some of the judge's.
void note_leak(std::size_t free_before, Record& record) {
  constexpr std::size_t MIB = std::size_t{1} << 20U;
  constexpr std::size_t OF_JUDGE = 64 * MIB;
  const std::size_t free = free_bytes();
  if (free + OF_JUDGE < free_before) {
    record.note = fmt::format("{} MiB of the GPU's memory went while it ran", (free_before - free) / MIB);
  }
}

}  // namespace

void measure(GpuSession& gpu, const GpuCase& item) {
  const auto& [kernel, operands, observer, record] = item;
  const std::vector<double>& alone_us = cublas_alone_us(gpu, item);
  const Prepared prepared = gpu.prepare(item);
  const std::size_t free_before = free_bytes();
  gpu.run_verified(prepared, item);

  std::unique_ptr<Witness> witness = gpu.witness_of(item);
  const Contender contender{prepared, Owner::kernel,
                            GpuSession::standard_of(operands, kernel.accuracy, record.rel_err)};
  Watch watch(gpu.telemetry());
  const Round round = gpu.round_of(operands, {contender, cublas(gpu, operands)}, witness.get());
  Timings timings = take_samples(round, gpu.sampling(2), observer);
  if (gpu.telemetry() != nullptr) {
    const Trace trace = watch.stop();
    record.trace = to_json(trace);
    record.telemetry = to_json(trace.points.front().sample, trace.points.back().sample);
  }
  if (kernel.file) {
    note_leak(free_before, record);
  }
  if (witness) {
    witness.reset();  // the operands are those of the reference again
    gpu.run_once(prepared, operands, Owner::kernel);
    gpu.verify(item, 0, "after timing: ");
  } else if (gpu.protocol().verify) {
    gpu.verify(item, timings.launches_per_sample - 1, "after timing: ");
  }
  if (gpu.protocol().energy) {
    measure_energy(gpu, item, prepared);
  }

  gpu.note_resources(item);
  Measurement measurement = measurement_of(std::move(timings), operands.size);
  gpu.require_possible(item, measurement.time_us.median, measurement.timings.launches_per_sample, gpu.protocol().l2);
  compare_with_alone(measurement, alone_us);
  const std::optional<double> peak = gpu.device().fp32_peak_gflops();
  if (peak && kernel.accuracy == AccuracyClass::fp32) {
    measurement.percent_of_peak = 100.0 * measurement.gflops / *peak;
  }
  record.measurement = std::move(measurement);
}

}  // namespace sgemm
