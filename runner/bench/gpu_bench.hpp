#pragma once

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

#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace sgemm {

/// Makes, or finds, the host's copy of the operands of the size at hand.
using InputsSource = std::function<std::shared_ptr<const HostOperands>()>;

/// Measures GPU kernels, each beside cuBLAS. Holds what is shared by all cases (stream, flush buffer, telemetry) and by
/// those of one size and distribution (operands, reference, cuBLAS prepared and measured alone), which is replaced with
/// the size.
class GpuBench {
 public:
  /// `options` outlives the bench. Configurations are those of `tuning` where it has the case, and else the kernels'
  /// own choice. Measures the floor of the event times. Throws std::runtime_error where the device
  /// can not be used.
  static std::unique_ptr<GpuBench> open(const Device& device, const Options& options, std::optional<TuningFile> tuning);
  virtual ~GpuBench() = default;

  virtual GpuFacts facts() const = 0;

  /// Fills `record` with the case; with Options::accuracy, with its errors instead of times. Where it can not be
  /// measured, throws CaseStopped or std::bad_alloc. Some errors leave the device unusable for the rest of the process:
  /// all later cases are then skipped.
  virtual void run(const Kernel& kernel, const Size& size, const InputsSource& inputs, const Observer& observer,
                   Record& record) = 0;

  /// Tries all configurations of a kernel that has some. Throws as run().
  virtual TuningResult tune(const Kernel& kernel, const Size& size, const InputsSource& inputs,
                            const Observer& observer) = 0;

  /// Compares C computed by a CPU kernel, in the case `record`, with the reference made on the GPU. Throws as run().
  virtual Verdict check_host_result(const Record& record, const InputsSource& inputs, const std::vector<float>& c,
                                    const Observer& observer) = 0;

  /// The relative error of cublasSgemm on the operands of the case `record`. Throws as run().
  virtual double cublas_rel_err(const Record& record, const InputsSource& inputs, const Observer& observer) = 0;

  /// Whether an earlier case left the device unusable.
  virtual bool lost() const = 0;
};

}  // namespace sgemm
