#pragma once

#include "base/interrupt.hpp"
#include "bench/bench.hpp"
#include "count/count.hpp"
#include "device/device.hpp"
#include "problem/case.hpp"
#include "record/record.hpp"
#include "record/results_file.hpp"
#include "timing/sampling.hpp"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sgemm {

/// Takes cases one by one from the plan to a record, whatever happens on the way: in this process (CaseRunner), or in
/// others (case_process.cpp).
class Runner {
 public:
  virtual ~Runner() = default;

  /// Never throws for what a case can do wrong.
  virtual Record run(const Case& item, const Observer& observer) = 0;
  /// Why no GPU kernel can be run on a GPU; empty when they can.
  const std::string& gpu_error() const { return gpu_error_; }
  const GpuFacts& gpu_facts() const { return gpu_facts_; }

 protected:
  std::string gpu_error_;
  GpuFacts gpu_facts_;
};

/// Runs cases in this process. It chooses the bench and owns the operands.
class CaseRunner final : public Runner {
 public:
  struct Settings {
    bool use_gpu = true;        ///< prepare the GPU, where there is one
    CountingOptions counting;   ///< in the mode `count`, but for `force`, which holds in all
    BenchMaker several_gpus{};  ///< for products on several GPUs; without it there are none
  };

  /// The protocol outlives the runner. If the GPU can not be prepared, gpu_error() says why, and GPU kernels run on the
  /// executor. Cases end as skipped once `stop` is requested.
  CaseRunner(const Protocol& protocol, const DeviceQuery& query, const Settings& settings, StopToken stop = {});

  Record run(const Case& item, const Observer& observer) override;
  /// Whether a bench is lost.
  bool lost() const;

 private:
  /// Makes it for the first kernel that needs it.
  Bench& bench_of(const Kernel& kernel);
  /// Throws CaseStopped where a profiler could see nothing of the kernel.
  void require_profilable(const Kernel& kernel) const;
  /// The operands of the case. They replace the operands of the case before, unless they are the same.
  OperandSet& operands_of(const Case& item);
  /// Runs the case for run(), which records how it ended early.
  void fill(Record& record, const Case& item, const Observer& observer);

  const Protocol& protocol_;
  const std::optional<Device> device_;
  const Settings settings_;
  const StopToken stop_;
  std::unique_ptr<GpuBench> gpu_;
  std::unique_ptr<Bench> several_gpus_;
  std::map<HostWork, std::unique_ptr<Bench>> of_host_;
  std::unique_ptr<OperandSet> operands_;  // the last member: its device memory is freed before the device is closed
};

/// A run, as the command line asks for it.
struct Run {
  const Protocol& protocol;
  const DeviceQuery& device;
  const std::vector<Case>& plan;
  CaseRunner::Settings settings;
  std::vector<std::string> argv;           ///< for a process that runs cases
  std::optional<double> seconds_per_case;  ///< in such a process; nothing for as long as it likes
  bool ranks_are_processes = false;        ///< that mpirun or srun started
  bool judged = false;                     ///< files are strangers': what they print could pass for the judge's words
};

/// The runner of a plan. Files' kernels are kept away from all else, and so are ranks that are threads: what hangs or
/// crashes costs its case alone.
std::unique_ptr<Runner> make_runner(const Run& run);

/// Runs cases in a process of their own: this program once more, with the same command line. Throws std::runtime_error
/// where it does not come up.
std::unique_ptr<Runner> make_case_process(const Run& run);
/// Whether this is such a process.
bool is_case_process();
/// What it does: runs the cases of the run's plan that it is asked for by name, until it is asked for no more.
void serve_cases(const Run& run);

}  // namespace sgemm
