#include "bench/gpu_bench.hpp"

#include "base/outcome.hpp"
#include "bench/configuration_choice.hpp"
#include "common/cuda_check.hpp"
#include "device/cublas_handle.hpp"
#include "device/cuda_handles.hpp"
#include "device/device_problem.hpp"
#include "device/l2_flush.hpp"
#include "device/telemetry.hpp"
#include "device/watch.hpp"
#include "problem/batch.hpp"
#include "timing/gpu_timers.hpp"
#include "timing/turn.hpp"
#include "verify/accuracy.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <cuda_profiler_api.h>
#include <fmt/format.h>

namespace sgemm {
namespace {

constexpr std::string_view RIVAL = "cublas";

const Build& rival() {
  const auto found =
      std::find_if(kernels().begin(), kernels().end(), [](const Kernel& kernel) { return kernel.id() == RIVAL; });
  return found->build(Target::for_gpu);
}

constexpr double GIB = 1024.0 * 1024.0 * 1024.0;

/// The most memory that a reference takes: two doubles per element, its value and the scale of its bound, and the
/// workspace that it is computed in.
double reference_bytes(const Shape& shape) {
  const double elements = static_cast<double>(elements_of_c(shape));
  const double inputs = static_cast<double>(shape.m + shape.n) * static_cast<double>(shape.k);
  const double workspace = std::min(inputs * sizeof(double), static_cast<double>(Coverage{}.workspace_bytes));
  return 2.0 * elements * sizeof(double) + workspace;
}

void require_memory(const Shape& shape, bool verify) {
  std::size_t free = 0;
  std::size_t total = 0;
  CUDA_CHECK(cudaMemGetInfo(&free, &total));
  const double needed = DeviceProblem::bytes_needed(shape) + (verify ? reference_bytes(shape) : 0.0);
  if (needed > static_cast<double>(free)) {
    throw CaseStopped(Outcome::skipped, fmt::format("needs {:.1f} GiB of device memory, {:.1f} GiB are free",
                                                    needed / GIB, static_cast<double>(free) / GIB));
  }
}

void require_workspace(std::size_t bytes) {
  std::size_t free = 0;
  std::size_t total = 0;
  CUDA_CHECK(cudaMemGetInfo(&free, &total));
  if (bytes > free) {
    throw CaseStopped(Outcome::skipped, fmt::format("needs {:.1f} GiB of workspace, {:.1f} GiB are free",
                                                    static_cast<double>(bytes) / GIB, static_cast<double>(free) / GIB));
  }
}

double occupancy(const Resources& resources, int max_threads_per_sm) {
  constexpr int WARP = 32;
  const int warps_per_block = (resources.threads_per_block + WARP - 1) / WARP;
  return static_cast<double>(resources.blocks_per_sm * warps_per_block) / (max_threads_per_sm / WARP);
}

bool out_of_memory(const CublasError& error) { return error.status() == CUBLAS_STATUS_ALLOC_FAILED; }
bool out_of_memory(const CudaError& error) { return error.code() == cudaErrorMemoryAllocation; }

/// The state of one operand set on the device.
struct OnDevice final : DeviceState {
  OnDevice(OperandSet& operands, bool cold) : problem(operands.shape, operands.host(), cold) {}

  DeviceProblem problem;
  std::unique_ptr<Reference> reference;
  std::optional<Prepared> cublas;
  std::optional<double> cublas_alone_us;
  std::optional<double> cublas_rel_err;
};

class CudaBench final : public GpuBench {
 public:
  CudaBench(const Device& device, const Protocol& protocol, StopToken stop, std::optional<TuningFile> tuning);

  GpuFacts facts() const override;
  void require(const Kernel& kernel, OperandSet& operands) override;
  void run(const Kernel& kernel, OperandSet& operands, const Observer& observer, Record& record) override;
  TuningResult tune(const Kernel& kernel, OperandSet& operands, const Observer& observer) override;
  Verdict check_host_result(OperandSet& operands, const Observer& observer, const Record& record) override;
  double cublas_rel_err(OperandSet& operands, const Observer& observer, const Record& record) override;
  bool lost() const override { return !lost_after_.empty(); }

 private:
  class ConfigurationBench;

  /// Calls `work` and turns errors of the libraries into the case's outcome.
  template <class Work>
  auto guarded(const std::string& case_name, const Work& work);
  void note_failure(const std::string& case_name);
  void measure(const Kernel& kernel, OperandSet& operands, const Observer& observer, Record& record);
  void require_device() const;
  /// Throws CaseStopped where the first launch's A or B is not what the host has.
  void require_inputs_unchanged(OperandSet& operands);
  OnDevice& on_device(OperandSet& operands);
  const Reference& reference(OperandSet& operands, const Observer& observer);
  void measure_cublas_alone(OperandSet& operands, const Observer& observer);
  Round round_of(OperandSet& operands, std::vector<Contender> contenders);
  SamplingOptions sampling(int contenders) const;
  /// Prepares the configuration that the tuning file or the kernel chooses.
  Prepared prepare(const Kernel& kernel, const Problem& problem, Record& record) const;
  /// Launches on the operands of `owner`, with a C as a kernel finds it, and waits.
  void run_once(const Prepared& kernel, OnDevice& state, Owner owner);
  /// Notes what a block occupies, once the kernel has been launched.
  void note_resources(const Kernel& kernel, Record& record) const;
  /// The launch whose counters a profiler reads.
  void launch_profiled(const Prepared& kernel, OnDevice& state);
  void verify(OperandSet& operands, int launch, std::string_view when, const Observer& observer, Record& record);
  /// Compares the C of one launch with the reference, which has been computed.
  void compare(OperandSet& operands, int launch, std::string_view when, Record& record);
  const Prepared& cublas_of(OnDevice& state);
  Turn turn_of(const Prepared& kernel, OnDevice& state, Owner owner, double seconds, const Observer& observer);
  /// What follows the samples with --energy.
  void measure_energy(const Prepared& kernel, OperandSet& operands, const Observer& observer, Record& record);
  void sustain(const Prepared& kernel, OperandSet& operands, const Observer& observer, Record& record);

  const Device device_;
  const Protocol& protocol_;
  const StopToken stop_;
  const std::optional<TuningFile> tuning_;
  Stream stream_;
  std::unique_ptr<L2Flush> flush_;  ///< null for a warm L2
  EventTimer event_timer_;
  EndToEndTimer end_to_end_timer_;
  std::unique_ptr<Telemetry> telemetry_;
  EventTimer::Floor floor_;
  std::optional<int> idle_c_;  ///< temperature before the first case
  std::string lost_after_;
};

CudaBench::CudaBench(const Device& device, const Protocol& protocol, StopToken stop, std::optional<TuningFile> tuning)
    : device_(device),
      protocol_(protocol),
      stop_(stop),
      tuning_(std::move(tuning)),
      stream_(make_stream()),
      flush_(protocol.l2 == L2State::cold ? std::make_unique<L2Flush>(device.l2_bytes) : nullptr),
      event_timer_(device, flush_.get(), stream_.get()),
      end_to_end_timer_(flush_.get(), stream_.get()),
      telemetry_(Telemetry::open(device.pci_bus_id)),
      floor_(event_timer_.measure_floor()),
      idle_c_(telemetry_ ? telemetry_->sample().temperature_c : std::nullopt) {}

GpuFacts CudaBench::facts() const {
  return {telemetry_ ? telemetry_->driver_version() : "", flush_ ? flush_->bytes() : 0, floor_.empty_kernel_us,
          floor_.resolution_us};
}

template <class Work>
auto CudaBench::guarded(const std::string& case_name, const Work& work) {
  const auto stop = [&](const auto& error) {
    note_failure(case_name);
    return out_of_memory(error) ? CaseStopped(Outcome::skipped, "not enough device memory")
                                : CaseStopped(Outcome::failed, error.what());
  };
  try {
    return work();
  } catch (const CaseStopped&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const CudaError& error) {
    throw stop(error);
  } catch (const CublasError& error) {
    throw stop(error);
  } catch (const std::exception& error) {
    note_failure(case_name);
    throw CaseStopped(Outcome::failed, error.what());
  }
}

void CudaBench::require_device() const {
  if (lost()) {
    throw CaseStopped(Outcome::skipped, "device lost after an earlier failure in " + lost_after_);
  }
}

void CudaBench::require(const Kernel& kernel, OperandSet& operands) {
  require_device();
  if (!kernel.build(Target::for_gpu)) {
    throw CaseStopped(Outcome::not_supported, "was not built for GPUs");
  }
  require_code_for(device_, kernel);
  if (!operands.device) {
    guarded("sgemm/" + kernel.id(), [&] { require_memory(operands.shape, protocol_.verify); });
  }
}

OnDevice& CudaBench::on_device(OperandSet& operands) {
  if (!operands.device) {
    require_memory(operands.shape, protocol_.verify);
    operands.device = std::make_unique<OnDevice>(operands, protocol_.l2 == L2State::cold);
  }
  return static_cast<OnDevice&>(*operands.device);
}

const Reference& CudaBench::reference(OperandSet& operands, const Observer& observer) {
  OnDevice& state = on_device(operands);
  if (!state.reference) {
    stop_.check();
    observer("computing the reference");
    state.reference = Reference::compute(state.problem.reference_operands(), Platform::gpu, protocol_.seed, {},
                                         roundings_of(operands.data));
  }
  return *state.reference;
}

Round CudaBench::round_of(OperandSet& operands, std::vector<Contender> contenders) {
  OnDevice& state = on_device(operands);
  if (protocol_.time == TimeMode::end_to_end) {
    return [this, &state, &inputs = operands.host(), contenders = std::move(contenders)](const std::vector<int>& order,
                                                                                         int) {
      return end_to_end_timer_.round(contenders, state.problem, inputs, order);
    };
  }
  return [this, &state, contenders = std::move(contenders)](const std::vector<int>& order, int launches) {
    return event_timer_.round(contenders, state.problem, order, launches);
  };
}

SamplingOptions CudaBench::sampling(int contenders) const {
  return {contenders, protocol_.time == TimeMode::kernel, protocol_.max_seconds, protocol_.seed, stop_};
}

void CudaBench::measure_cublas_alone(OperandSet& operands, const Observer& observer) {
  OnDevice& state = on_device(operands);
  if (state.cublas_alone_us) {
    return;
  }
  cublas_of(state);
  const Observer alone = [&](std::string_view activity) { observer(fmt::format("cuBLAS alone: {}", activity)); };
  const Timings timings = take_samples(round_of(operands, {{*state.cublas, Owner::cublas}}), sampling(1), alone);
  state.cublas_alone_us = median(timings.kernel_us);
}

const Prepared& CudaBench::cublas_of(OnDevice& state) {
  if (!state.cublas) {
    state.cublas = rival().prepare(state.problem.operands(Owner::cublas));
  }
  return *state.cublas;
}

Prepared CudaBench::prepare(const Kernel& kernel, const Problem& problem, Record& record) const {
  const Build& build = kernel.build(Target::for_gpu);
  const std::vector<Configuration> all = build.configurations(problem);
  if (!kernel.tunable) {
    describe_own_choice(kernel, all.front(), record);
    require_workspace(all.front().workspace_bytes);
    return build.prepare(all.front());
  }
  const ConfigurationChoice choice = choose(all, tuning_ ? tuning_->find(kernel.id(), problem) : nullptr);
  record.detail = choice.detail;
  record.note = choice.note;
  record.workspace_bytes = choice.configuration.workspace_bytes;
  require_workspace(choice.configuration.workspace_bytes);
  return build.prepare(choice.configuration);
}

void CudaBench::run_once(const Prepared& kernel, OnDevice& state, Owner owner) {
  state.problem.restore(owner, 1, stream_.get());
  kernel(state.problem.operands(owner), stream_.get());
  CUDA_CHECK(cudaStreamSynchronize(stream_.get()));
}

void CudaBench::note_resources(const Kernel& kernel, Record& record) const {
  if (const auto& resources = kernel.build(Target::for_gpu).resources) {
    record.resources = resources();
  }
  if (record.resources) {
    record.occupancy = occupancy(*record.resources, device_.max_threads_per_sm);
  }
}

void CudaBench::launch_profiled(const Prepared& kernel, OnDevice& state) {
  state.problem.restore(Owner::kernel, 1, stream_.get());
  CUDA_CHECK(cudaStreamSynchronize(stream_.get()));
  CUDA_CHECK(cudaProfilerStart());
  kernel(state.problem.operands(Owner::kernel), stream_.get());
  CUDA_CHECK(cudaStreamSynchronize(stream_.get()));
  CUDA_CHECK(cudaProfilerStop());
}

void CudaBench::verify(OperandSet& operands, int launch, std::string_view when, const Observer& observer,
                       Record& record) {
  reference(operands, observer);
  stop_.check();
  observer("verifying");
  compare(operands, launch, when, record);
}

void CudaBench::compare(OperandSet& operands, int launch, std::string_view when, Record& record) {
  OnDevice& state = on_device(operands);
  const Problem problem = state.problem.operands(Owner::kernel, launch);
  record.judge(state.reference->check(problem.c, problem.ldc, record.accuracy), when, protocol_.beta);
}

Turn CudaBench::turn_of(const Prepared& kernel, OnDevice& state, Owner owner, double seconds,
                        const Observer& observer) {
  // What a kernel fails to write shows up as NaN, however often it was launched.
  state.problem.restore(owner, 1, stream_.get());
  EventQueue queue(kernel, state.problem.operands(owner), stream_.get());
  return take_turn(queue, seconds, telemetry_.get(), stop_, observer);
}

void CudaBench::measure_energy(const Prepared& kernel, OperandSet& operands, const Observer& observer, Record& record) {
  OnDevice& state = on_device(operands);
  Turns turns;
  turns.cublas = turn_of(cublas_of(state), state, Owner::cublas, ENERGY_SECONDS, observer);
  turns.kernel = turn_of(kernel, state, Owner::kernel, ENERGY_SECONDS, observer);
  stop_.check();
  if (protocol_.verify) {
    verify(operands, 0, "after the turn for energy: ", observer, record);
  }
  record.energy = std::move(turns);
}

void CudaBench::sustain(const Prepared& kernel, OperandSet& operands, const Observer& observer, Record& record) {
  OnDevice& state = on_device(operands);
  const auto idle = [&] {
    const Pause pause = [](double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); };
    return cool_down(telemetry_.get(), idle_c_, pause, stop_, observer);
  };
  Sustained result;
  result.asked_s = protocol_.sustain_s;
  result.before_kernel = idle();
  result.turns.kernel = turn_of(kernel, state, Owner::kernel, protocol_.sustain_s, observer);
  if (result.turns.kernel.batch_us.empty()) {
    stop_.check();
  }
  if (protocol_.verify) {
    observer("verifying");
    compare(operands, 0, "after its turn: ", record);  // an interrupted turn counts as well, so nothing asks to stop
  }
  if (!stop_.requested()) {
    result.before_cublas = idle();
    result.turns.cublas = turn_of(cublas_of(state), state, Owner::cublas, protocol_.sustain_s, observer);
  }
  record.sustained = std::move(result);
  record.outcome = Outcome::sustained;
}

void CudaBench::run(const Kernel& kernel, OperandSet& operands, const Observer& observer, Record& record) {
  guarded(record.name, [&] {
    if (!kernel.file) {
      measure(kernel, operands, observer, record);
      return;
    }
    try {
      measure(kernel, operands, observer, record);
      require_inputs_unchanged(operands);
    } catch (...) {
      operands.device.reset();  // whatever a file's kernel did to them, the next kernel has its operands anew
      throw;
    }
  });
}

void CudaBench::require_inputs_unchanged(OperandSet& operands) {
  const Problem problem = on_device(operands).problem.operands(Owner::kernel);
  const auto require = [](const std::vector<float>& expected, const float* on_device, char name) {
    std::vector<float> found(expected.size());
    const std::size_t bytes = expected.size() * sizeof(float);
    CUDA_CHECK(cudaMemcpy(found.data(), on_device, bytes, cudaMemcpyDeviceToHost));
    if (std::memcmp(found.data(), expected.data(), bytes) != 0) {
      throw CaseStopped(Outcome::failed, fmt::format("writes to {}, which is an input", name));
    }
  };
  require(operands.host().a, problem.a, 'A');
  require(operands.host().b, problem.b, 'B');
}

void CudaBench::measure(const Kernel& kernel, OperandSet& operands, const Observer& observer, Record& record) {
  const bool accuracy = protocol_.mode == Mode::accuracy;
  if (protocol_.mode == Mode::measure) {
    measure_cublas_alone(operands, observer);
  }
  if (protocol_.verify) {
    reference(operands, observer);  // before a workspace takes the memory that it needs
  }
  stop_.check();
  observer("preparing");
  OnDevice& state = on_device(operands);
  const Prepared prepared = prepare(kernel, state.problem.operands(Owner::kernel), record);
  if (accuracy) {
    run_once(prepared, state, Owner::kernel);
    verify(operands, 0, "", observer, record);
    record.outcome = Outcome::compared;
    return;
  }
  if (protocol_.verify || protocol_.mode == Mode::profile) {
    run_once(prepared, state, Owner::kernel);
  }
  if (protocol_.verify) {
    verify(operands, 0, "", observer, record);
  }
  if (protocol_.mode == Mode::profile) {
    launch_profiled(prepared, state);
    note_resources(kernel, record);
    record.outcome = Outcome::profiled;
    return;
  }

  if (protocol_.mode == Mode::sustain) {
    sustain(prepared, operands, observer, record);
    note_resources(kernel, record);
    return;
  }

  Watch watch(telemetry_.get());
  Timings timings = take_samples(round_of(operands, {{prepared, Owner::kernel}, {cublas_of(state), Owner::cublas}}),
                                 sampling(2), observer);
  if (telemetry_) {
    record.trace = watch.stop();
    record.telemetry.emplace(record.trace->points.front().sample, record.trace->points.back().sample);
  }
  if (protocol_.verify) {
    verify(operands, timings.launches_per_sample - 1, "after timing: ", observer, record);
  }
  if (protocol_.energy) {
    measure_energy(prepared, operands, observer, record);
  }

  note_resources(kernel, record);
  Measurement measurement = measurement_of(std::move(timings), operands.size);
  measurement.cublas_alone_us = state.cublas_alone_us;
  measurement.vs_cublas_alone = *state.cublas_alone_us / measurement.time_us.median;
  const std::optional<double> peak = device_.fp32_peak_gflops();
  if (peak && kernel.accuracy == AccuracyClass::fp32) {
    measurement.percent_of_peak = 100.0 * measurement.gflops / *peak;
  }
  record.measurement = std::move(measurement);
}

/// One kernel's configurations on one operand set.
class CudaBench::ConfigurationBench final : public TuningBench {
 public:
  ConfigurationBench(CudaBench& bench, const Kernel& kernel, OperandSet& operands, const Observer& observer)
      : bench_(bench),
        kernel_(kernel),
        operands_(operands),
        observer_(observer),
        record_({&kernel, operands.size, {}}) {}

  Prepared prepare(const Configuration& configuration) override {
    bench_.require_device();
    return bench_.guarded(record_.name, [&] {
      require_workspace(configuration.workspace_bytes);
      return kernel_.build(Target::for_gpu).prepare(configuration);
    });
  }

  void verify(const Prepared& prepared, std::string_view when) override {
    bench_.require_device();
    bench_.guarded(record_.name, [&] {
      bench_.run_once(prepared, bench_.on_device(operands_), Owner::kernel);
      bench_.verify(operands_, 0, when, observer_, record_);
    });
  }

  Round round_of(const std::vector<Prepared>& all) override {
    std::vector<Contender> contenders;
    for (const Prepared& each : all) {
      contenders.push_back({each, Owner::kernel});
    }
    return bench_.round_of(operands_, std::move(contenders));
  }

 private:
  CudaBench& bench_;
  const Kernel& kernel_;
  OperandSet& operands_;
  const Observer& observer_;
  Record record_;
};

TuningResult CudaBench::tune(const Kernel& kernel, OperandSet& operands, const Observer& observer) {
  return guarded(Case{&kernel, operands.size, {}}.name(), [&] {
    reference(operands, observer);  // before workspaces take the memory that it needs
    const Problem problem = on_device(operands).problem.operands(Owner::kernel);
    ConfigurationBench bench(*this, kernel, operands, observer);
    TuningResult result;
    result.trials = try_all(kernel.build(Target::for_gpu).configurations(problem), bench, sampling(1), observer);
    result.best = best_of(result.trials, kernel.id(), problem);
    return result;
  });
}

Verdict CudaBench::check_host_result(OperandSet& operands, const Observer& observer, const Record& record) {
  return guarded(record.name, [&] {
    const Reference& expected = reference(operands, observer);
    const Problem problem = on_device(operands).problem.operands(Owner::kernel);
    const std::vector<float>& c = operands.result();
    CUDA_CHECK(cudaMemcpy(problem.c, c.data(), c.size() * sizeof(float), cudaMemcpyHostToDevice));
    return expected.check(problem.c, problem.ldc, record.accuracy);
  });
}

double CudaBench::cublas_rel_err(OperandSet& operands, const Observer& observer, const Record& record) {
  return guarded(record.name, [&] {
    OnDevice& state = on_device(operands);
    if (!state.cublas_rel_err) {
      const Problem problem = state.problem.operands(Owner::cublas);
      const Reference& expected = reference(operands, observer);
      run_once(rival().prepare(problem), state, Owner::cublas);
      state.cublas_rel_err = expected.check(problem.c, problem.ldc, AccuracyClass::fp32).rel_err;
    }
    return *state.cublas_rel_err;
  });
}

void CudaBench::note_failure(const std::string& case_name) {
  cudaGetLastError();
  // A permanent error comes back from every later call.
  if (!lost() && cudaDeviceSynchronize() != cudaSuccess) {
    lost_after_ = case_name;
  }
}

}  // namespace

std::unique_ptr<GpuBench> GpuBench::open(const Device& device, const Protocol& protocol, StopToken stop,
                                         const std::optional<TuningFile>& tuning) {
  return std::make_unique<CudaBench>(device, protocol, stop, tuning);
}

}  // namespace sgemm
