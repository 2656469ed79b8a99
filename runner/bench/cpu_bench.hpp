#pragma once

#include "bench/bench.hpp"

namespace sgemm {

/// Times kernels of the host, by its clock.
class CpuBench final : public HostBench {
 public:
  using HostBench::HostBench;

  void require(const Kernel& kernel, OperandSet& operands) override;
  void run(const Kernel& kernel, OperandSet& operands, const Observer& observer, Record& record) override;
};

}  // namespace sgemm
