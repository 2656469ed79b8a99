#pragma once

#include "bench/bench.hpp"
#include "device/device.hpp"
#include "record/environment.hpp"

#include <memory>

namespace sgemm {

/// Measures GPU kernels, each beside cuBLAS. The bench holds what all cases share: the stream, the flush buffer, the
/// telemetry. The operand set holds what belongs to operands: their copies on the device, the reference, and cuBLAS
/// prepared and measured alone.
class GpuBench : public Bench {
 public:
  /// The protocol outlives the bench. Measures the floor of the event times. Throws std::runtime_error if the device
  /// can not be used.
  static std::unique_ptr<GpuBench> open(const Device& device, const Protocol& protocol, StopToken stop);

  virtual GpuFacts facts() const = 0;

  /// Compares the C that a kernel on the host has left in `operands` with the reference made on the GPU, in the case
  /// `record`. Throws as run().
  virtual Verdict check_host_result(OperandSet& operands, const Observer& observer, const Record& record) = 0;

  /// The relative error of cublasSgemm on these operands. Throws as run().
  virtual double cublas_rel_err(OperandSet& operands, const Observer& observer, const Record& record) = 0;
};

}  // namespace sgemm
