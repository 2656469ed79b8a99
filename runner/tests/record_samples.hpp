#pragma once

#include "fakes.hpp"
#include "record/record.hpp"

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sgemm {

inline constexpr Size CUBE{1024, 1024, 1024};

inline Record record_of(const Kernel& kernel, const Size& size = CUBE, std::optional<Distribution> data = {}) {
  return Record({&kernel, size, data});
}

/// A record that differs from another one.
inline Record changed(Record record, const std::function<void(Record&)>& change) {
  change(record);
  return record;
}

/// Of a GPU kernel whose result was right.
inline Record record_with(Outcome outcome, std::optional<Distribution> data = {}) {
  Record record = record_of(fake_kernel(6, "coarse_2d"), CUBE, data);
  record.outcome = outcome;
  record.verified = true;
  record.rel_err = 3.2e-7;
  return record;
}

/// A GPU kernel that was measured beside cuBLAS: 100 us against 80 us.
inline Record measured_record() {
  Record record = record_of(fake_kernel(6, "coarse_2d", "vectorized"));
  record.verified = true;
  record.rel_err = 3.2e-7;
  record.max_bound_ratio = 0.02;
  record.resources = Resources{256, 128, 16384, 0, 2};
  record.occupancy = 0.25;
  record.detail = "64x64, by cost model";
  record.workspace_bytes = 4096;
  record.telemetry =
      to_json(TelemetrySample{1980, 3201, 310.5, 45, {}}, TelemetrySample{1965, 3201, 512.0, 51, {"sw_power_cap"}});
  Timings timings;
  timings.kernel_us = {100.0, 101.0, 99.0, 100.0, 100.0, 100.5, 99.5};
  timings.rival_us = {80.0, 81.0, 79.0, 80.0, 80.0, 80.5, 79.5};
  Measurement measurement = measurement_of(timings, CUBE);
  measurement.percent_of_peak = 32.1;
  const TelemetrySample capped{1965, 3201, 512.0, 51, {"sw_power_cap"}};
  compare_with_alone(measurement, {{77.0, 78.0, 79.0}, {{{0.0, capped}, {0.01, capped}}, ""}});
  record.measurement = measurement;
  return record;
}

/// The same with too few samples for an interval of 95 %.
inline Record of_three_samples() {
  Record record = measured_record();
  Timings timings;
  timings.kernel_us = {100.0, 101.0, 99.0};
  timings.rival_us = {100.0, 100.0, 100.0};
  record.measurement = measurement_of(timings, CUBE);
  compare_with_alone(*record.measurement, {{77.0, 78.0, 79.0}, {}});
  return record;
}

/// A turn of a second, of launches that took `us` each.
inline Turn turn_of(double us, const FakeBoard& board) {
  Turn turn;
  turn.launches_per_batch = 100;
  turn.batch_us.assign(static_cast<std::size_t>(1e4 / us), 100.0 * us);
  turn.trace = board.watch(1.0);
  return turn;
}

/// The same with a trace of its samples and with turns for the energy, the kernel's on a board at its limit of power.
inline Record record_with_energy() {
  Record record = measured_record();
  FakeBoard cool;
  cool.reasons.clear();
  cool.watts = 400.0;
  record.trace = to_json(cool.watch(0.05));
  record.energy = to_json(Turns{turn_of(100.0, {}), turn_of(80.0, cool)}, flops(CUBE));
  return record;
}

/// A GPU kernel that ran back to back, and cuBLAS after it.
inline Record sustained_record() {
  Record record = record_with(Outcome::sustained);
  record.resources = Resources{256, 128, 16384, 0, 2};
  FakeBoard cool;
  cool.reasons.clear();
  record.sustained =
      to_json(Sustained{1.0, {turn_of(100.0, {}), turn_of(80.0, cool)}, {0.0, 40, 40}, {12.5, 60, 42}}, flops(CUBE));
  return record;
}

/// A GPU kernel that the executor ran.
inline Record executed_record() {
  Record record = record_with(Outcome::executed);
  record.max_bound_ratio = 0.02;
  return record;
}

/// A GPU kernel whose errors on ill-conditioned operands were measured.
inline Record compared_record() {
  Record record = record_with(Outcome::compared, Distribution::cancelling);
  Verdict verdict;
  verdict.full = true;
  verdict.compared = 1 << 20;
  verdict.error_squares = 5.9e-4 * 5.9e-4;
  verdict.reference_squares = 1.0;
  verdict.max_bound_ratio = 0.036;
  verdict.componentwise_err = 1.5e-7;
  verdict.magnitude_squares = 34800.0 * 34800.0;
  record.judge(verdict, "");
  record.errors->vs_cublas = 1.25;
  return record;
}

/// Blocks of a launch, those that were executed, and the operations of these.
inline Requests requests_of(std::uint64_t blocks, std::uint64_t executed, std::uint64_t flops) {
  Requests requests;
  requests.blocks = blocks;
  requests.blocks_executed = executed;
  requests.flops = flops;
  return requests;
}

/// What a kernel asks of an H200, of which two of four blocks were executed.
inline Counts counts_of_launch() {
  constexpr simt::Traffic OF_A{1000, 2500, 0, 0, 128000};
  constexpr std::uint64_t FLOPS = 2'147'483'648;
  Requests requests = requests_of(4, 2, FLOPS);
  requests.traffic[static_cast<std::size_t>(simt::AccessKind::global_load)] = OF_A;
  requests.traffic[static_cast<std::size_t>(simt::AccessKind::shared_load)] = {2000, 0, 5000, 4000, 256000};
  requests.barriers = 64;
  requests.reads_per_element = {8.0, 16.0, 0.0};
  requests.in_step = {3000, 1500, 400, 48000, 12800};
  requests.in_turn = {3000, 750, 400, 72000, 12800};
  requests.lines = {{"06_coarse_2d.cu", 56, {}, "", {}, FLOPS, {}},
                    {"06_coarse_2d.cu", 93, simt::AccessKind::global_load, "A", OF_A, 0, {3, 4, {0, 16384}}}};
  return {simt::find_gpu_model("h200"), {{"", 256, 16384, 2, 4, 2'097'152, requests}}, {}};
}

inline Record counted_record(const Counts& counts = counts_of_launch()) {
  Record record = record_of(fake_kernel(6, "coarse_2d"));
  record.outcome = Outcome::counted;
  record.counts = to_json(counts);
  return record;
}

/// The same with a launch before it that splits the operands, of which all blocks were executed.
inline Record record_of_two_counted_launches() {
  Counts counts = counts_of_launch();
  std::vector<CountedLaunch>& launches = counts.launches;
  launches.front().function = "product_kernel";
  launches.front().requests.tensor_flops = 4'294'967'296;
  Requests requests = requests_of(2, 2, 1'048'576);
  const simt::Traffic& stores =
      requests.traffic[static_cast<std::size_t>(simt::AccessKind::global_store)] = {500, 2000, 0, 0, 64000};
  requests.reads_per_element = {1.0, 1.0, 0.0};
  requests.in_step = requests.in_turn = {2000, 0, 2000, 64000, 0};
  requests.lines = {
      {"split.cuh", 7, simt::AccessKind::global_store, std::string(simt::WORKSPACE), stores, 0, {1, 16, {0}}}};
  launches.insert(launches.begin(), {"split_kernel<true>", 128, 0, 3, 2, 1'048'576, requests});
  return counted_record(counts);
}

/// A GPU kernel that was launched for a profiler.
inline Record profiled_record() {
  Record record = record_with(Outcome::profiled);
  record.resources = Resources{256, 128, 16384, 0, 2};
  record.occupancy = 0.25;
  return record;
}

inline Record stopped_record(Outcome outcome, const std::string& reason) {
  Record record = record_of(fake_kernel(1, "naive"));
  record.stop(outcome, reason);
  return record;
}

/// Of a kernel on the CPU, which has neither pairs nor resources.
inline Record on_the_cpu(const Size& size) {
  Record record = record_of(fake_cpu_kernel("cpu_blas"), size);
  Timings timings;
  timings.kernel_us = {5000.0};
  record.measurement = measurement_of(timings, size);
  return record;
}

/// With numbers that JSON can not say.
inline Record with_infinite_errors() {
  Record record = compared_record();
  record.rel_err = std::numeric_limits<double>::quiet_NaN();
  record.max_bound_ratio = record.errors->verdict.componentwise_err = std::numeric_limits<double>::infinity();
  return record;
}

/// Turns of which nobody knows the energy.
inline Record with_unknown_energy() {
  Record record = record_with_energy();
  Turn without = turn_of(100.0, {});
  without.trace = {{}, "NVML is missing"};
  record.energy = to_json(Turns{without, without}, flops(CUBE));
  return record;
}

inline Record stopped(const Record& record) {
  return changed(record, [](Record& of) { of.stop(Outcome::incorrect, "because"); });
}

/// Over two GPUs, the second of which was throttled.
inline Spread spread_over_two() {
  const TelemetrySample cool{1980, 3201, 310.5, 45, {}};
  const TelemetrySample hot{1965, 3201, 699.0, 51, {"sw_power_cap"}};
  return {2, {1, 2}, "peer copies", 18432.0, {{cool, cool}, {cool, hot}}, {90.0, 91.0}, 0.9, Interval{0.89, 0.91}};
}

/// Records of all kinds, those of a GPU among them.
inline std::vector<std::pair<std::string, Record>> sample_records() {
  Record of_file = executed_record();
  of_file.file = KernelFile{"dir/my.cu", std::string(64, 'a'), "g++ -O2"};
  Record of_ranks = executed_record();
  of_ranks.spread = to_json(spread_over_two());
  Record without_cublas = sustained_record();
  without_cublas.sustained = to_json(Sustained{1.0, {turn_of(100.0, {}), {}}, {}, {}}, flops(CUBE));
  Counts without_flops = counts_of_launch();
  without_flops.launches.front().requests.flops.reset();
  return {{"on the CPU", on_the_cpu({512, 256, 64})},
          {"a batch", on_the_cpu({512, 256, 64, true, false, 96})},
          {"stopped", stopped_record(Outcome::failed, "out of order")},
          {"compared", compared_record()},
          {"infinite errors", with_infinite_errors()},
          {"compared, and wrong", stopped(compared_record())},
          {"counted, and wrong", stopped(counted_record())},
          {"counted", counted_record()},
          {"counted without operations", counted_record(without_flops)},
          {"two launches", record_of_two_counted_launches()},
          {"executed", executed_record()},
          {"of a file", of_file},
          {"on several GPUs", of_ranks},
          {"sustained", sustained_record()},
          {"sustained without cuBLAS", without_cublas},
          {"sustained, and wrong", stopped(sustained_record())},
          {"profiled", profiled_record()},
          {"three samples", of_three_samples()},
          {"measured", measured_record()},
          {"with energy", record_with_energy()},
          {"with unknown energy", with_unknown_energy()}};
}

}  // namespace sgemm
