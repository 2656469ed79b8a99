#pragma once

#include "bench/gpu_bench.hpp"
#include "bench/tuner.hpp"
#include "bench/tuning_file.hpp"
#include "cli/options.hpp"
#include "device/device.hpp"
#include "host/kernel.hpp"
#include "problem/operands.hpp"
#include "problem/sizes.hpp"
#include "record/environment.hpp"
#include "record/record.hpp"
#include "timing/sampling.hpp"
#include "verify/verify.hpp"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sgemm {

/// Takes cases one by one from kernel and size to a record, whatever happens on the way.
class CaseRunner {
 public:
  /// `options` outlives the runner. With `use_gpu` and a device, the GPU is prepared; where that fails, gpu_error()
  /// says why, and GPU kernels run on the executor. On the GPU they follow `tuning`.
  CaseRunner(const Options& options, const DeviceQuery& query, bool use_gpu,
             std::optional<TuningFile> tuning = std::nullopt);
  ~CaseRunner();

  /// Never throws for what a case can do wrong; an interrupt, noticed between rounds, ends it as skipped. `data` goes
  /// with Options::accuracy; without it, the operands are those of Options::data.
  Record run(const Kernel& kernel, const Size& size, const Observer& observer,
             std::optional<Distribution> data = std::nullopt);

  /// Tries all configurations of a kernel on the GPU, which there has to be. Never throws, as run().
  TuningResult tune(const Kernel& kernel, const Size& size, const Observer& observer);

  /// Why no GPU kernel can be run on a GPU; empty when they can.
  const std::string& gpu_error() const { return gpu_error_; }
  GpuFacts gpu_facts() const { return gpu_ ? gpu_->facts() : GpuFacts{}; }

 private:
  struct HostState;

  /// Of the record's size and data.
  HostState& host_state(const Record& record);
  void run_on_cpu(const Kernel& kernel, const Size& size, const Observer& observer, Record& record);
  void run_on_executor(const Kernel& kernel, const Size& size, const Observer& observer, Record& record);
  /// Sets the record's errors beside those of cublasSgemm.
  void compare_with_cublas(const Observer& observer, Record& record);
  void run_counted(const Kernel& kernel, const Size& size, const Observer& observer, Record& record);
  /// Seconds that the executor is expected to take, judged by the kernel's speed on a small problem.
  double estimate_seconds(const Kernel& kernel, const Problem& shape);
  /// Runs the executor's launch of `kernel` on the problem, checked where the options say so. Returns what it ran.
  Prepared execute(const Kernel& kernel, const Problem& problem);
  void verify(HostState& state, std::string_view when, const Observer& observer, Record& record);
  Verdict check(HostState& state, const Observer& observer, const Record& record);

  const Options& options_;
  std::string gpu_error_;
  std::unique_ptr<HostState> host_;
  std::unique_ptr<GpuBench> gpu_;
  std::map<std::string, double> products_per_second_;  ///< of kernels on the executor
};

}  // namespace sgemm
