#pragma once

#include "bench/bench.hpp"
#include "count/count.hpp"

#include <map>
#include <optional>
#include <string>

namespace sgemm {

/// Times kernels of the host, by its clock.
class CpuBench final : public HostBench {
 public:
  using HostBench::HostBench;

  void require(const Kernel& kernel, OperandSet& operands) override;
  void run(const Kernel& kernel, OperandSet& operands, const Observer& observer, Record& record) override;
};

/// Executes GPU kernels on the CPU and verifies them. If the protocol says so, every access to memory is checked.
/// Nothing is timed.
class ExecutorBench final : public HostBench {
 public:
  using HostBench::HostBench;

  void require(const Kernel& kernel, OperandSet& operands) override;
  void run(const Kernel& kernel, OperandSet& operands, const Observer& observer, Record& record) override;

 private:
  /// Runs and returns the kernel's own choice.
  Prepared execute(const Kernel& kernel, const Problem& problem) const;
  /// Seconds that the executor is expected to take, judged by the faster of two runs of a small problem; nothing
  /// where the kernel can not compute that one.
  std::optional<double> estimate_seconds(const Kernel& kernel, const Size& size);

  std::map<std::string, std::optional<double>> products_per_second_;  ///< by id
};

/// Executes blocks of GPU kernels on the CPU and counts what they ask of a GPU.
class CountingBench final : public HostBench {
 public:
  CountingBench(const Protocol& protocol, GpuBench* gpu, StopToken stop, const CountingOptions& options)
      : HostBench(protocol, gpu, stop), options_(options) {}

  void require(const Kernel& kernel, OperandSet& operands) override;
  void run(const Kernel& kernel, OperandSet& operands, const Observer& observer, Record& record) override;

 private:
  const CountingOptions options_;
};

}  // namespace sgemm
