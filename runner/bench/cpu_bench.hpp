#pragma once

#include "bench/bench.hpp"

namespace sgemm {

/// Times kernels of the host, by its clock.
class CpuBench final : public HostBench {
 public:
  /// `force`: run what takes a kernel minutes.
  CpuBench(const Protocol& protocol, GpuBench* gpu, StopToken stop, bool force)
      : HostBench(protocol, gpu, stop), force_(force) {}

  void require(const Kernel& kernel, OperandSet& operands) override;
  void run(const Kernel& kernel, OperandSet& operands, const Observer& observer, Record& record) override;

 private:
  const bool force_;
};

}  // namespace sgemm
