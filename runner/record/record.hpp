#pragma once

#include "base/kernel.hpp"
#include "base/outcome.hpp"
#include "base/statistics.hpp"
#include "count/count.hpp"
#include "device/telemetry.hpp"
#include "device/trace.hpp"
#include "problem/case.hpp"
#include "problem/operands.hpp"
#include "problem/sizes.hpp"
#include "schedule/grid.hpp"
#include "timing/sampling.hpp"
#include "timing/turn.hpp"
#include "verify/accuracy.hpp"

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sgemm {

/// Samples of cuBLAS with no other kernel beside it, and what the GPU did meanwhile.
struct Alone {
  std::vector<double> samples_us;
  Trace trace;
};

/// The speed of one measured case. Times are of one launch.
struct Measurement {
  Timings timings;
  Summary time_us;
  double gflops = 0.0;
  std::optional<double> percent_of_peak;  ///< of the GPU's FP32 peak; absent for CPU kernels and other precisions
  /// How many times faster than cuBLAS the kernel is: median of the ratios of paired samples, with its interval.
  std::optional<double> vs_cublas;
  std::optional<Interval> vs_cublas_ci;
  /// The ratio to the median of cuBLAS that was measured alone, with no other kernel beside it.
  std::optional<double> vs_cublas_alone;
  std::optional<Interval> vs_cublas_alone_ci;  ///< from the ends of both medians' intervals
  std::optional<double> cublas_alone_us;
  Alone alone;
};

/// Summary, speed and paired ratio of `timings`. Optional fields that need other facts stay empty.
Measurement measurement_of(Timings timings, const Size& size);

/// Fills in what samples of cuBLAS alone tell.
void compare_with_alone(Measurement& measurement, Alone alone);

/// How a product was spread over GPUs.
struct Spread {
  int gpus = 1;
  Grid grid;
  std::string exchange;         ///< how pieces travelled, see Team::exchange()
  double received_bytes = 0.0;  ///< for one product, by the GPU that receives most
  /// Of the GPUs on the machine of rank 0, by rank, at the start and at the end.
  std::vector<std::pair<TelemetrySample, TelemetrySample>> telemetry;
  /// Microseconds that the GPUs take for the same blocks of C when all operands are in place. Nothing that exchanges
  /// operands is faster. These samples took turns with those of the product.
  std::vector<double> ceiling_us;
  /// Median of the ratios of paired samples, ceiling over product, with its interval. Present where the case was timed.
  std::optional<double> of_ceiling;
  std::optional<Interval> of_ceiling_ci;
};

/// One case: one kernel on one problem, and how it ended.
struct Record {
  explicit Record(const Case& item);

  std::string name;  ///< Case::name()
  std::string kernel;
  int number = -1;
  std::string variant;
  std::optional<KernelFile> file;  ///< that the kernel comes from; nothing for one of the program
  std::string launch;              ///< of a file: the statements that started its product
  Platform platform = Platform::gpu;
  AccuracyClass accuracy = AccuracyClass::fp32;
  Size size;
  std::optional<Distribution> data;
  int repetition_index = 0;  ///< with --benchmark_repetitions

  Outcome outcome = Outcome::measured;
  std::string
      reason;  ///< one line, empty for `measured`, `sustained`, `executed`, `compared`, `counted` and `profiled`
  bool verified = false;
  std::string detail;               ///< which configuration was chosen, or what a library says of its choice
  std::string note;                 ///< for the reader of the console, one line; empty where there is nothing to say
  std::string secret;               ///< that the operands of samples were made of; empty where they stayed the same
  std::size_t workspace_bytes = 0;  ///< of device memory, beside A, B and C
  std::optional<double> rel_err;
  std::optional<double> max_bound_ratio;
  std::optional<Accuracy> errors;  ///< with --accuracy, where the kernel ran
  std::optional<Resources> resources;
  std::optional<double> occupancy;         ///< resident warps over the most an SM holds, 0 to 1
  std::optional<Measurement> measurement;  ///< present exactly for `measured`

  // Parts that only files and tables have a use for are what the file has of them; null where they do not apply.
  Json telemetry;  ///< at the start and at the end
  Json trace;      ///< while the samples were taken
  Json energy;     ///< with --energy; of those measured
  Json sustained;  ///< present exactly for `sustained`
  Json spread;     ///< of products on several GPUs
  Json counts;     ///< present exactly for `counted`

  /// What the file has of it, as a process has told that ran the case; null for a record of this process. Beside
  /// it only `outcome`, `reason`, `verified`, `launch`, `rel_err`, `note` and the parts are set.
  Json told;

  /// Records the configuration that runs: "128x256, by cost model", or what a library says of its choice.
  void describe_choice(const Kernel& chosen, const Configuration& configuration);
  /// Records the findings of a comparison. Throws CaseStopped (incorrect) if C is outside a bound that the kernel's
  /// class promises. The reason begins with `when`, and `beta` and `cause`, where it finds one, may help to explain it.
  void judge(const Verdict& verdict, std::string_view when, float beta = 1.0F,
             const std::function<std::string()>& cause = {});
  /// Ends the case with any outcome but those for which `reason` is empty.
  void stop(Outcome how, const std::string& why);
  /// Whether the clock of the GPU was held down while samples were taken or the kernel ran; of several GPUs, at the
  /// end.
  bool throttled() const;
};

/// The record's object in the results file (results.schema.json), shaped like one of Google Benchmark's. Fields that
/// do not apply are absent.
Json to_json(const Record& record, int repetitions = 1);
Json to_json(const Spread& spread);
/// The record of `item` of which another process told this.
Record told_record(const Case& item, Json told);

// Samples, traces and turns in the results file (results.schema.json). What follows from samples is written beside
// them.

Json to_json(const TelemetrySample& start, const TelemetrySample& end);
Json to_json(const Trace& trace);

/// `flops` is the work of one launch.
Json to_json(const Turns& turns, double flops);
Json to_json(const Sustained& sustained, double flops);

}  // namespace sgemm
