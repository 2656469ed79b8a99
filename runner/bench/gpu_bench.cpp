#include "bench/gpu_bench.hpp"

#include "base/outcome.hpp"
#include "bench/configuration_choice.hpp"
#include "common/cuda_check.hpp"
#include "device/cublas_handle.hpp"
#include "device/cuda_handles.hpp"
#include "device/device_problem.hpp"
#include "device/l2_flush.hpp"
#include "device/telemetry.hpp"
#include "timing/gpu_timers.hpp"
#include "verify/accuracy.hpp"

#include <algorithm>
#include <exception>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace sgemm {
namespace {

constexpr std::string_view RIVAL = "cublas";

const Kernel& rival() {
  const auto found =
      std::find_if(kernels().begin(), kernels().end(), [](const Kernel& kernel) { return kernel.id() == RIVAL; });
  return *found;
}

constexpr double GIB = 1024.0 * 1024.0 * 1024.0;

/// What a reference takes at most: two doubles per element, its value and the scale of its bound, and the workspace
/// that it is computed in.
double reference_bytes(const Problem& shape) {
  const double elements = static_cast<double>(shape.m) * static_cast<double>(shape.n);
  const double inputs = static_cast<double>(shape.m + shape.n) * static_cast<double>(shape.k);
  const double workspace = std::min(inputs * sizeof(double), static_cast<double>(Coverage{}.workspace_bytes));
  return 2.0 * elements * sizeof(double) + workspace;
}

void require_memory(const Problem& shape, bool verify) {
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

class CudaBench final : public GpuBench {
 public:
  CudaBench(const Device& device, const Options& options, std::optional<TuningFile> tuning);

  GpuFacts facts() const override;
  void run(const Kernel& kernel, const Size& size, const InputsSource& inputs, const Observer& observer,
           Record& record) override;
  TuningResult tune(const Kernel& kernel, const Size& size, const InputsSource& inputs,
                    const Observer& observer) override;
  Verdict check_host_result(const Record& record, const InputsSource& inputs, const std::vector<float>& c,
                            const Observer& observer) override;
  double cublas_rel_err(const Record& record, const InputsSource& inputs, const Observer& observer) override;
  bool lost() const override { return !lost_after_.empty(); }

 private:
  struct SizeState;
  class ConfigurationBench;

  /// Does what `work` does and turns errors of the libraries into the case's outcome.
  template <class Work>
  auto guarded(const std::string& case_name, const Work& work);
  void note_failure(const std::string& case_name);
  void measure(const Kernel& kernel, const Size& size, const InputsSource& inputs, const Observer& observer,
               Record& record);
  void require_device() const;
  void require_capable(const Kernel& kernel, const Problem& shape) const;
  /// Of the record's size and data.
  SizeState& state_of(const Record& record, const InputsSource& inputs);
  const Reference& reference(SizeState& state, const Observer& observer);
  void measure_cublas_alone(SizeState& state, const Observer& observer);
  Round round_of(SizeState& state, std::vector<Contender> contenders);
  SamplingOptions sampling(int contenders) const;
  /// With the configuration that the tuning file or the kernel chooses.
  Prepared prepare(const Kernel& kernel, const Problem& problem, Record& record) const;
  /// Launches on the operands of `owner`, with a C as a kernel finds it, and waits.
  void run_once(const Launch& launch, SizeState& state, Owner owner);
  void verify(const Kernel& kernel, SizeState& state, int launch, std::string_view when, const Observer& observer,
              Record& record);

  const Device device_;
  const Options& options_;
  const std::optional<TuningFile> tuning_;
  Stream stream_;
  std::unique_ptr<L2Flush> flush_;  ///< null for a warm L2
  EventTimer event_timer_;
  EndToEndTimer end_to_end_timer_;
  std::unique_ptr<Telemetry> telemetry_;
  EventTimer::Floor floor_;
  std::unique_ptr<SizeState> state_;
  std::string lost_after_;
};

struct CudaBench::SizeState {
  SizeState(const Record& record, const Problem& shape, std::shared_ptr<const HostOperands> host, bool cold)
      : size(record.size), data(record.data), inputs(std::move(host)), problem(shape, *inputs, cold) {}

  Size size;
  std::optional<Distribution> data;
  std::shared_ptr<const HostOperands> inputs;
  DeviceProblem problem;
  std::unique_ptr<Reference> reference;
  Prepared cublas;
  std::optional<double> cublas_alone_us;
  std::optional<double> cublas_rel_err;
};

CudaBench::CudaBench(const Device& device, const Options& options, std::optional<TuningFile> tuning)
    : device_(device),
      options_(options),
      tuning_(std::move(tuning)),
      stream_(make_stream()),
      flush_(options.l2 == L2State::cold ? std::make_unique<L2Flush>(device.l2_bytes) : nullptr),
      event_timer_(device, flush_.get(), stream_.get()),
      end_to_end_timer_(flush_.get(), stream_.get()),
      telemetry_(Telemetry::open(device.pci_bus_id)),
      floor_(event_timer_.measure_floor()) {}

GpuFacts CudaBench::facts() const {
  return {telemetry_ ? telemetry_->driver_version() : "", flush_ ? flush_->bytes() : 0, floor_.empty_kernel_us,
          floor_.resolution_us};
}

void CudaBench::require_device() const {
  if (lost()) {
    throw CaseStopped(Outcome::skipped, "device lost after an earlier failure in " + lost_after_);
  }
}

void CudaBench::require_capable(const Kernel& kernel, const Problem& shape) const {
  require_device();
  if (kernel.min_compute_capability > device_.compute_capability) {
    throw CaseStopped(Outcome::not_supported, fmt::format("needs compute capability {}, this device has {}",
                                                          capability_text(kernel.min_compute_capability),
                                                          capability_text(device_.compute_capability)));
  }
  if (kernel.max_compute_capability != 0 && kernel.max_compute_capability < device_.compute_capability) {
    throw CaseStopped(Outcome::not_supported, fmt::format("needs instructions of compute capability {}, which {} lacks",
                                                          capability_text(kernel.max_compute_capability),
                                                          capability_text(device_.compute_capability)));
  }
  if (!kernel.missing_code.empty()) {
    throw CaseStopped(Outcome::not_supported,
                      fmt::format("this build has no code for {0}: add {1} to -DCMAKE_CUDA_ARCHITECTURES",
                                  kernel.missing_code, kernel.missing_code.substr(3) + "-real"));
  }
  if (const std::optional<std::string> reason = kernel.unsupported(shape)) {
    throw CaseStopped(Outcome::not_supported, *reason);
  }
}

CudaBench::SizeState& CudaBench::state_of(const Record& record, const InputsSource& inputs) {
  const Size& size = record.size;
  if (!state_ || state_->size != size || state_->data != record.data) {
    state_.reset();  // first, so that its memory is free for the next
    const Problem shape = shape_of(size.m, size.n, size.k, options_.alpha, options_.beta);
    require_memory(shape, options_.verify);
    state_ = std::make_unique<SizeState>(record, shape, inputs(), options_.l2 == L2State::cold);
  }
  return *state_;
}

const Reference& CudaBench::reference(SizeState& state, const Observer& observer) {
  if (!state.reference) {
    observer("computing the reference");
    const Roundings roundings = roundings_of(state.data.value_or(options_.data));
    state.reference =
        Reference::compute(state.problem.reference_operands(), Platform::gpu, options_.seed, {}, roundings);
  }
  return *state.reference;
}

Round CudaBench::round_of(SizeState& state, std::vector<Contender> contenders) {
  if (options_.time == TimeMode::end_to_end) {
    return [this, &state, contenders = std::move(contenders)](const std::vector<int>& order, int) {
      return end_to_end_timer_.round(contenders, state.problem, *state.inputs, order);
    };
  }
  return [this, &state, contenders = std::move(contenders)](const std::vector<int>& order, int launches) {
    return event_timer_.round(contenders, state.problem, order, launches);
  };
}

SamplingOptions CudaBench::sampling(int contenders) const {
  return {contenders, options_.time == TimeMode::kernel, options_.max_seconds, options_.seed};
}

void CudaBench::measure_cublas_alone(SizeState& state, const Observer& observer) {
  if (state.cublas_alone_us) {
    return;
  }
  state.cublas = rival().prepare(state.problem.operands(Owner::cublas));
  const Observer alone = [&](std::string_view activity) { observer(fmt::format("cuBLAS alone: {}", activity)); };
  const Timings timings = take_samples(round_of(state, {{state.cublas.launch, Owner::cublas}}), sampling(1), alone);
  state.cublas_alone_us = median(timings.kernel_us);
}

Prepared CudaBench::prepare(const Kernel& kernel, const Problem& problem, Record& record) const {
  if (!kernel.configurations) {
    Prepared prepared = kernel.prepare(problem);
    record.detail = prepared.detail;
    record.workspace_bytes = prepared.workspace_bytes;
    return prepared;
  }
  const ConfigurationChoice choice =
      choose(kernel.configurations(problem), tuning_ ? tuning_->find(kernel.id(), problem) : nullptr);
  record.detail = choice.detail;
  record.note = choice.note;
  record.workspace_bytes = choice.configuration.workspace_bytes;
  require_workspace(choice.configuration.workspace_bytes);
  return kernel.prepare_configuration(problem, choice.configuration.name);
}

void CudaBench::run_once(const Launch& launch, SizeState& state, Owner owner) {
  state.problem.restore(owner, 1, stream_.get());
  launch(state.problem.operands(owner), stream_.get());
  CUDA_CHECK(cudaStreamSynchronize(stream_.get()));
}

void CudaBench::verify(const Kernel& kernel, SizeState& state, int launch, std::string_view when,
                       const Observer& observer, Record& record) {
  const Reference& expected = reference(state, observer);
  observer("verifying");
  const Problem operands = state.problem.operands(Owner::kernel, launch);
  judge(expected.check(operands.c, operands.ldc, kernel.accuracy), when, record);
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

void CudaBench::run(const Kernel& kernel, const Size& size, const InputsSource& inputs, const Observer& observer,
                    Record& record) {
  guarded(record.name, [&] { measure(kernel, size, inputs, observer, record); });
}

void CudaBench::measure(const Kernel& kernel, const Size& size, const InputsSource& inputs, const Observer& observer,
                        Record& record) {
  require_capable(kernel, shape_of(size.m, size.n, size.k, options_.alpha, options_.beta));
  observer("preparing");
  SizeState& state = state_of(record, inputs);
  if (!options_.accuracy) {
    measure_cublas_alone(state, observer);
  }

  if (options_.verify) {
    reference(state, observer);  // before a workspace takes the memory that it needs
  }
  observer("preparing");
  const Prepared prepared = prepare(kernel, state.problem.operands(Owner::kernel), record);
  if (options_.accuracy) {
    run_once(prepared.launch, state, Owner::kernel);
    verify(kernel, state, 0, "", observer, record);
    record.outcome = Outcome::compared;
    return;
  }
  if (kernel.resources) {
    record.resources = kernel.resources();
    record.occupancy = occupancy(*record.resources, device_.max_threads_per_sm);
  }
  if (options_.verify) {
    run_once(prepared.launch, state, Owner::kernel);
    verify(kernel, state, 0, "", observer, record);
  }

  if (telemetry_) {
    record.telemetry.emplace(telemetry_->sample(), TelemetrySample{});
  }
  Timings timings = take_samples(
      round_of(state, {{prepared.launch, Owner::kernel}, {state.cublas.launch, Owner::cublas}}), sampling(2), observer);
  if (telemetry_) {
    record.telemetry->second = telemetry_->sample();
  }
  if (options_.verify) {
    verify(kernel, state, timings.launches_per_sample - 1, "after timing: ", observer, record);
  }

  Measurement measurement = measurement_of(std::move(timings), size);
  measurement.cublas_alone_us = state.cublas_alone_us;
  measurement.vs_cublas_alone = *state.cublas_alone_us / measurement.time_us.median;
  const std::optional<double> peak = device_.fp32_peak_gflops();
  if (peak && kernel.accuracy == AccuracyClass::fp32) {
    measurement.percent_of_peak = 100.0 * measurement.gflops / *peak;
  }
  record.measurement = std::move(measurement);
}

/// One kernel's configurations on the operands of one size.
class CudaBench::ConfigurationBench final : public TuningBench {
 public:
  ConfigurationBench(CudaBench& bench, const Kernel& kernel, SizeState& state, const Observer& observer)
      : bench_(bench), kernel_(kernel), state_(state), observer_(observer), record_(kernel, state.size) {}

  Launch prepare(const Configuration& configuration) override {
    bench_.require_device();
    return bench_.guarded(record_.name, [&] {
      require_workspace(configuration.workspace_bytes);
      return kernel_.prepare_configuration(state_.problem.operands(Owner::kernel), configuration.name).launch;
    });
  }

  void verify(const Launch& launch, std::string_view when) override {
    bench_.require_device();
    bench_.guarded(record_.name, [&] {
      bench_.run_once(launch, state_, Owner::kernel);
      bench_.verify(kernel_, state_, 0, when, observer_, record_);
    });
  }

  Round round_of(const std::vector<Launch>& launches) override {
    std::vector<Contender> contenders;
    for (const Launch& launch : launches) {
      contenders.push_back({launch, Owner::kernel});
    }
    return bench_.round_of(state_, std::move(contenders));
  }

 private:
  CudaBench& bench_;
  const Kernel& kernel_;
  SizeState& state_;
  const Observer& observer_;
  Record record_;
};

TuningResult CudaBench::tune(const Kernel& kernel, const Size& size, const InputsSource& inputs,
                             const Observer& observer) {
  const Record record(kernel, size);
  return guarded(record.name, [&] {
    require_capable(kernel, shape_of(size.m, size.n, size.k, options_.alpha, options_.beta));
    observer("preparing");
    SizeState& state = state_of(record, inputs);
    reference(state, observer);  // before workspaces take the memory that it needs
    const Problem problem = state.problem.operands(Owner::kernel);
    ConfigurationBench bench(*this, kernel, state, observer);
    TuningResult result;
    result.trials = try_all(kernel.configurations(problem), bench, sampling(1), observer);
    result.best = best_of(result.trials, kernel.id(), problem);
    return result;
  });
}

Verdict CudaBench::check_host_result(const Record& record, const InputsSource& inputs, const std::vector<float>& c,
                                     const Observer& observer) {
  return guarded(record.name, [&] {
    SizeState& state = state_of(record, inputs);
    const Reference& expected = reference(state, observer);
    observer("verifying");
    const Problem operands = state.problem.operands(Owner::kernel);
    CUDA_CHECK(cudaMemcpy(operands.c, c.data(), c.size() * sizeof(float), cudaMemcpyHostToDevice));
    return expected.check(operands.c, operands.ldc, record.accuracy);
  });
}

double CudaBench::cublas_rel_err(const Record& record, const InputsSource& inputs, const Observer& observer) {
  return guarded(record.name, [&] {
    SizeState& state = state_of(record, inputs);
    if (!state.cublas_rel_err) {
      const Problem operands = state.problem.operands(Owner::cublas);
      const Reference& expected = reference(state, observer);
      run_once(rival().prepare(operands).launch, state, Owner::cublas);
      state.cublas_rel_err = expected.check(operands.c, operands.ldc, AccuracyClass::fp32).rel_err;
    }
    return *state.cublas_rel_err;
  });
}

void CudaBench::note_failure(const std::string& case_name) {
  cudaGetLastError();
  // An error that stays is returned by every call from now on.
  if (!lost() && cudaDeviceSynchronize() != cudaSuccess) {
    lost_after_ = case_name;
  }
}

}  // namespace

std::unique_ptr<GpuBench> GpuBench::open(const Device& device, const Options& options,
                                         std::optional<TuningFile> tuning) {
  return std::make_unique<CudaBench>(device, options, std::move(tuning));
}

}  // namespace sgemm
