#pragma once

#include "bench/runs_cases.hpp"
#include "profile/ncu.hpp"

#include <optional>
#include <string>
#include <vector>

namespace sgemm {

class CaseRunner;

/// Reads a GPU's counters of each case with Nsight Compute. The program is started once more under ncu, with the
/// arguments that it was started with, and runs that case alone: first to verify it, then once between
/// cudaProfilerStart() and cudaProfilerStop().
class CaseProfiler final : public RunsCases {
 public:
  /// `driver` is the version of the GPU's driver, or empty; a case may take `seconds_per_case`, or as long as it likes.
  /// Throws UsageError where there is no ncu.
  CaseProfiler(std::vector<std::string> arguments, const std::string& driver, std::optional<double> seconds_per_case,
               StopToken stop);

  Record run(const Case& item, const Observer& observer) override;
  const std::string& gpu_error() const override { return gpu_error_; }
  GpuFacts gpu_facts() const override { return {driver_, 0, 0.0, 0.0}; }

 private:
  /// Throws CaseStopped where there are no counters.
  Record profile(const Case& item, const Observer& observer);

  const Ncu ncu_;
  const std::vector<std::string> arguments_;
  const std::string driver_;
  const std::optional<double> seconds_per_case_;
  const StopToken stop_;
  const std::string gpu_error_;
  std::vector<std::string> dropped_metrics_;
  std::string refusal_;  ///< why no case can be profiled here, once it is known
};

/// Whether this process was started by a CaseProfiler.
bool is_profiled_process();

/// Runs the case of `plan` that the CaseProfiler names, and leaves its record there.
void run_profiled_case(CaseRunner& runner, const std::vector<Case>& plan);

}  // namespace sgemm
