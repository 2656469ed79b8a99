#pragma once

#include "base/interrupt.hpp"
#include "base/own_process.hpp"
#include "bench/case_runner.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

// Cases in other processes. Such a process is this program once more with the same command line, so it makes the same
// plan, and is asked for cases of it by name.

namespace sgemm {

/// Runs cases in a process of their own. Where a case ends that process, or takes too long, it is recorded as failed,
/// and a new process takes the cases that are left. What one case does to another's memory, or to the GPU, goes with
/// the process.
class CaseProcess final : public Runner {
 public:
  /// `arguments` are this program's own. A case may take so many seconds; nothing for as long as it likes. Once `stop`
  /// is requested, the case under way has a moment to end by itself. `checkable` says whether --check, which was not
  /// asked for, could tell more of a file's kernel that crashes.
  CaseProcess(std::vector<std::string> arguments, std::optional<double> seconds_per_case, bool checkable,
              OwnProcess::Trust trust, StopToken stop);

  Record run(const Case& item, const Observer& observer) override;
  const std::string& gpu_error() const override { return gpu_error_; }
  GpuFacts gpu_facts() const override { return gpu_facts_; }

 private:
  /// Throws std::runtime_error where the process does not come up.
  void start();
  using Clock = std::chrono::steady_clock;

  /// For a case's record, however many other messages come before it.
  struct Wait {
    std::optional<double> seconds;
    Clock::time_point begin = Clock::now();
    std::optional<Clock::time_point> stopped = std::nullopt;
  };

  /// The next message of the process. Throws CaseStopped where it ends, takes longer than the wait may, or is stopped
  /// instead.
  Json receive(Wait& wait, bool checkable = false);
  /// Throws CaseStopped where the process gives no record.
  Record ask_for(const Case& item, std::size_t reading, const Observer& observer);
  /// Runs a file's function as its parameters were read first, or in another way. Never throws.
  Record run_as(const Case& item, std::size_t reading, const Observer& observer);

  const std::vector<std::string> arguments_;
  const std::optional<double> seconds_per_case_;
  const bool checkable_;
  const OwnProcess::Trust trust_;
  const StopToken stop_;
  OwnProcess process_;
  std::string gpu_error_;
  GpuFacts gpu_facts_;
};

/// Whether this is the process of a CaseProcess.
bool is_case_process();

/// What such a process does: runs the cases of the run's plan that it is asked for, until it is asked for no more.
void serve_cases(const Run& run);

}  // namespace sgemm
