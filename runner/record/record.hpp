#pragma once

#include "base/outcome.hpp"
#include "base/statistics.hpp"
#include "count/count.hpp"
#include "device/telemetry.hpp"
#include "host/kernel.hpp"
#include "problem/case.hpp"
#include "problem/operands.hpp"
#include "problem/sizes.hpp"
#include "timing/sampling.hpp"
#include "verify/accuracy.hpp"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace sgemm {

/// The speed of one measured case. Times are of one launch.
struct Measurement {
  Timings timings;
  Summary time_us;
  double gflops = 0.0;
  std::optional<double> percent_of_peak;  ///< of the GPU's FP32 peak; absent for CPU kernels and other precisions
  /// How many times faster than cuBLAS the kernel is: median of the ratios of paired samples, with its interval.
  std::optional<double> vs_cublas;
  std::optional<Interval> vs_cublas_ci;
  /// That ratio against the median of cuBLAS measured with no other kernel beside it.
  std::optional<double> vs_cublas_alone;
  std::optional<double> cublas_alone_us;
};

/// Summary, speed and paired ratio of `timings`; the optional fields that need more than those stay empty.
Measurement measurement_of(Timings timings, const Size& size);

/// One case: one kernel on one problem, and how it ended.
struct Record {
  explicit Record(const Case& item);

  std::string name;  ///< Case::name()
  std::string kernel;
  int number = -1;
  std::string variant;
  std::optional<KernelFile> file;  ///< that the kernel comes from; nothing for one of the program
  Platform platform = Platform::gpu;
  AccuracyClass accuracy = AccuracyClass::fp32;
  Size size;
  std::optional<Distribution> data;
  int repetition_index = 0;  ///< with --benchmark_repetitions

  Outcome outcome = Outcome::measured;
  std::string reason;  ///< one line, empty for `measured`, `executed`, `compared` and `counted`
  bool verified = false;
  std::string detail;               ///< what a library chose, or which configuration was chosen and how
  std::string note;                 ///< for the reader of the console, one line; empty where there is nothing to say
  std::size_t workspace_bytes = 0;  ///< of device memory, beside A, B and C
  std::optional<double> rel_err;
  std::optional<double> max_bound_ratio;
  std::optional<Accuracy> errors;  ///< with --accuracy, where the kernel ran
  std::optional<Resources> resources;
  std::optional<double> occupancy;  ///< resident warps over the most an SM holds, 0 to 1
  std::optional<std::pair<TelemetrySample, TelemetrySample>> telemetry;  ///< at the start and at the end
  std::optional<Measurement> measurement;                                ///< present exactly for `measured`
  std::optional<Counts> counts;                                          ///< present exactly for `counted`

  /// Takes down what a comparison found. Throws CaseStopped (incorrect) where C is wrong and the kernel's class
  /// promises better; `when` leads the reason, and `beta` may help to explain it.
  void judge(const Verdict& verdict, std::string_view when, float beta = 1.0F);
  /// Ends the case with any outcome but `measured`, `executed`, `compared` and `counted`.
  void stop(Outcome how, const std::string& why);
  bool throttled() const { return telemetry && telemetry->second.throttled(); }
};

/// The record's object in the results file (results.schema.json), shaped like one of Google Benchmark's. Fields that
/// do not apply are absent.
nlohmann::ordered_json to_json(const Record& record, int repetitions);
/// The record of `item` that to_json() made this of, but for what JSON can not hold: the console's note, errors that
/// are no numbers, and fractions of nanoseconds. Throws nlohmann::json::exception for any other JSON.
Record record_from_json(const Case& item, const nlohmann::ordered_json& json);

}  // namespace sgemm
