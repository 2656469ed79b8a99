#pragma once

#include "base/interrupt.hpp"
#include "bench/runs_cases.hpp"

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace sgemm {

class CaseRunner;

/// Runs cases in a process of their own, which is this program once more with the same command line. Where a case ends
/// that process, or takes too long, it is recorded as failed, and a new process takes the cases that are left. What one
/// case does to another's memory, or to the GPU, goes with the process.
class CaseProcess final : public RunsCases {
 public:
  /// `arguments` are this program's own. A case may take so many seconds; nothing for as long as it likes. Once `stop`
  /// is requested, the case under way has a moment to end by itself. `checkable` says whether --check, which was not
  /// asked for, could tell more of a file's kernel that crashes.
  CaseProcess(std::vector<std::string> arguments, std::optional<double> seconds_per_case, bool checkable,
              StopToken stop);
  ~CaseProcess() override;
  CaseProcess(const CaseProcess&) = delete;
  CaseProcess& operator=(const CaseProcess&) = delete;

  Record run(const Case& item, const Observer& observer) override;
  const std::string& gpu_error() const override { return gpu_error_; }
  GpuFacts gpu_facts() const override { return gpu_facts_; }

 private:
  struct Message;

  /// Throws std::runtime_error where the process does not come up.
  void start();
  /// The next message of the process. Throws CaseStopped where it ends, takes too long, or is stopped instead.
  Message receive(bool checkable = false);
  /// Waits for the process to end, and ends it where it does not. Returns its state, as waitpid() tells it.
  int end();

  const std::vector<std::string> arguments_;
  const std::optional<double> seconds_per_case_;
  const bool checkable_;
  const StopToken stop_;
  pid_t process_ = 0;  ///< 0 while there is none
  int connection_ = -1;
  std::string received_;  ///< what has not been taken as a message yet
  std::string gpu_error_;
  GpuFacts gpu_facts_;
};

/// Whether this is the process of a CaseProcess.
bool is_case_process();

/// What that process does: runs the cases of `plan` that it is asked for, until it is asked for no more.
void serve_cases(CaseRunner& runner, const std::vector<Case>& plan);

}  // namespace sgemm
