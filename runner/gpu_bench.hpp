#pragma once

#include "cuda_handles.hpp"
#include "device.hpp"
#include "device_problem.hpp"
#include "environment.hpp"
#include "gpu_timers.hpp"
#include "kernel.hpp"
#include "l2_flush.hpp"
#include "operands.hpp"
#include "options.hpp"
#include "record.hpp"
#include "sampling.hpp"
#include "sizes.hpp"
#include "telemetry.hpp"
#include "verify.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sgemm {

/// Makes, or finds, the host's copy of the operands of the size at hand.
using InputsSource = std::function<std::shared_ptr<const HostOperands>()>;

/// Measures GPU kernels, each beside cuBLAS. Holds what is shared by all cases (stream, flush buffer, telemetry) and by
/// those of one size (operands, reference, cuBLAS prepared and measured alone), which is replaced with the size.
class GpuBench {
 public:
  /// `options` outlives the bench. Measures the floor of the event times. Throws CudaError.
  GpuBench(const Device& device, const Options& options);
  ~GpuBench();

  GpuFacts facts() const;

  /// Fills `record` with the case. Where it can not be measured, throws CaseStopped, CudaError, CublasError or
  /// std::bad_alloc.
  void run(const Kernel& kernel, const Size& size, const InputsSource& inputs, const Observer& observer,
           Record& record);

  /// Compares C computed by a CPU kernel with the reference made on the GPU.
  Verdict check_host_result(const Size& size, const InputsSource& inputs, const std::vector<float>& c,
                            AccuracyClass accuracy, const Observer& observer);

  /// To be called after an error in a case: some leave the device unusable for the rest of the process, and then all
  /// later cases are skipped.
  void note_failure(const std::string& case_name);
  bool lost() const { return !lost_after_.empty(); }

 private:
  struct SizeState;

  void require_capable(const Kernel& kernel, const Problem& shape) const;
  SizeState& state_of(const Size& size, const InputsSource& inputs);
  const Reference& reference(SizeState& state, const Observer& observer);
  void measure_cublas_alone(SizeState& state, const Observer& observer);
  Round round_of(SizeState& state, std::vector<Contender> contenders);
  SamplingOptions sampling(int contenders) const;
  void verify(const Kernel& kernel, SizeState& state, int launch, std::string_view when, const Observer& observer,
              Record& record);

  const Device device_;
  const Options& options_;
  Stream stream_;
  std::unique_ptr<L2Flush> flush_;  ///< null for a warm L2
  EventTimer event_timer_;
  EndToEndTimer end_to_end_timer_;
  std::unique_ptr<Telemetry> telemetry_;
  EventTimer::Floor floor_;
  std::unique_ptr<SizeState> state_;
  std::string lost_after_;
};

}  // namespace sgemm
