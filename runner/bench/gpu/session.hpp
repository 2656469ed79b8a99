#pragma once

#include "bench/bench.hpp"
#include "bench/operand_set.hpp"
#include "device/cuda_handles.hpp"
#include "device/device_problem.hpp"
#include "device/telemetry.hpp"
#include "judge/witness.hpp"
#include "timing/gpu_timers.hpp"

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace sgemm {

/// The state of one operand set on the device.
struct OnDevice final : DeviceState {
  OnDevice(OperandSet& operands, bool cold) : problem(operands.shape, operands.host(), cold) {}

  DeviceProblem problem;
  std::unique_ptr<Reference> reference;
  std::optional<Prepared> cublas;
  Alone cublas_alone;  ///< no samples until they are taken
  std::optional<double> cublas_rel_err;
};

/// A case on its way to a filled record.
struct GpuCase {
  const Kernel& kernel;
  OperandSet& operands;
  const Observer& observer;
  Record& record;
};

/// What the modes of the GPU's bench have in common: the stream, the flush buffer, the timers and the telemetry, which
/// all cases share, and the steps that a mode is made of. Functions throw CaseStopped, std::bad_alloc, and the errors
/// of CUDA and of libraries, which the bench turns into outcomes.
class GpuSession {
 public:
  /// As GpuBench::open().
  GpuSession(const Device& device, const Protocol& protocol, StopToken stop);

  GpuFacts facts() const;
  const Device& device() const { return device_; }
  const Protocol& protocol() const { return protocol_; }
  const StopToken& stop() const { return stop_; }
  cudaStream_t stream() const { return stream_.get(); }
  int late_rounds() const { return event_timer_.hold().late_rounds(); }
  const Telemetry* telemetry() const { return telemetry_.get(); }  ///< null where there is none
  std::optional<int> idle_c() const { return idle_c_; }            ///< temperature before the first case

  OnDevice& on_device(OperandSet& operands);
  /// Throws CaseStopped (skipped) where the operands and their reference have no room.
  void require_memory(const OperandSet& operands) const;
  const Reference& reference(OperandSet& operands, const Observer& observer);
  const Prepared& cublas_of(OperandSet& operands);

  /// Prepares the configuration that the kernel chooses, after the reference, because a workspace may take the memory
  /// that it needs.
  Prepared prepare(const GpuCase& item);
  /// Launches with a C as a kernel finds it, and waits.
  void run_once(const Prepared& kernel, OperandSet& operands);
  /// Runs the kernel and verifies it, where results are verified.
  void run_verified(const Prepared& kernel, const GpuCase& item);
  /// Compares the C of one launch with the reference; `when` begins the reason where it is wrong.
  void verify(const GpuCase& item, int launch, std::string_view when);
  /// As verify(), where a request to stop comes too late to matter.
  void compare(const GpuCase& item, int launch, std::string_view when);
  /// Throws CaseStopped (implausible) where a launch can not have taken so little time. `launches` were timed together,
  /// and `state` is that of the L2 before them. `what` begins the reason.
  void require_possible(const GpuCase& item, double us, int launches, L2State state, std::string_view what = "") const;
  /// Notes what a block occupies, once the kernel has been launched.
  void note_resources(const GpuCase& item);

  /// All samples are taken by such rounds: operands are restored, the L2 is flushed, and the launches are timed.
  /// With a witness they are new for each round, and each result is looked at.
  Round round_of(OperandSet& operands, std::vector<Contender> contenders, Witness* witness = nullptr);
  /// For the samples of a file's kernel; null where operands stay the same: of the suite's own kernels, with a warm L2,
  /// from end to end, where nothing is verified, and of shapes and kinds that can not be renewed.
  std::unique_ptr<Witness> witness_of(const GpuCase& item);
  /// How right a kernel has to be in samples; `rel_err` is what it had when it was verified.
  static Standard standard_of(const OperandSet& operands, AccuracyClass accuracy,
                              std::optional<double> rel_err = std::nullopt);
  SamplingOptions sampling(int contenders) const;

 private:
  const Device device_;
  const Protocol& protocol_;
  const StopToken stop_;
  Stream stream_;
  std::unique_ptr<L2Flush> flush_;  ///< null for a warm L2
  EventTimer event_timer_;
  EndToEndTimer end_to_end_timer_;
  std::unique_ptr<Telemetry> telemetry_;
  EventTimer::Floor floor_;
  std::optional<int> idle_c_;
};

}  // namespace sgemm
