#pragma once

// Nsight Compute's command line program, ncu.

#include "base/interrupt.hpp"
#include "count/counters.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sgemm {

/// What one run of ncu found.
struct NcuRun {
  std::vector<ProfiledLaunch> launches;  ///< between the program's cudaProfilerStart() and cudaProfilerStop()
  std::vector<std::string> rejected;     ///< metrics that ncu complained of
  std::string output;                    ///< what it and the program printed

  /// What keeps ncu from profiling anything on this machine; empty where it is something else.
  std::string refusal() const;
  /// The last lines of the output that have something on them, as one.
  std::string last_lines() const;
};

class Ncu {
 public:
  /// Takes $NCU, or else what PATH has, or else what lies beside the nvcc of this build. Throws UsageError where there
  /// is none.
  Ncu();

  const std::string& version() const { return version_; }  ///< "2025.3.1.0"; "unknown" where ncu does not tell

  /// Runs `program` under ncu, with `variables` ("NAME=value") in its environment, and reads `metrics` of its launches
  /// at the clocks it finds, with the caches emptied before each of ncu's passes. Throws CaseStopped where it takes
  /// longer than `seconds`, and where a stop is requested. `record` is what the program writes, in a folder of its own.
  NcuRun profile(const std::vector<std::string>& program, const std::vector<std::string>& variables,
                 const std::vector<std::string>& metrics, std::optional<double> seconds, StopToken stop,
                 const std::filesystem::path& record) const;

 private:
  std::string program_;
  std::string version_;
};

/// The launches in what `ncu --csv --page raw` prints: a row of names, one of units, and one of values for each launch.
/// Other lines, metrics that are not among `metrics`, and those without a number ("n/a") are left out.
std::vector<ProfiledLaunch> launches_in(std::string_view csv, const std::vector<std::string>& metrics);

/// Those of `metrics` that a line of an error or warning names, with or without their rollup (".sum").
std::vector<std::string> rejected_metrics(std::string_view output, const std::vector<std::string>& metrics);

}  // namespace sgemm
