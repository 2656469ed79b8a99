#pragma once

#include "bench/bench.hpp"
#include "count/count.hpp"

namespace sgemm {

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
