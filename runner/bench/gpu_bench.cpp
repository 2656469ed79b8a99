#include "bench/bench.hpp"

#include "base/outcome.hpp"
#include "bench/operand_set.hpp"
#include "common/cuda_check.hpp"
#include "device/cublas_handle.hpp"
#include "device/cuda_handles.hpp"
#include "device/device_problem.hpp"
#include "device/telemetry.hpp"
#include "device/trace.hpp"
#include "judge/limits.hpp"
#include "judge/witness.hpp"
#include "problem/batch.hpp"
#include "timing/gpu_timers.hpp"
#include "timing/turn.hpp"
#include "verify/accuracy.hpp"
#include "verify/verify_parts.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <exception>
#include <iterator>
#include <new>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <cuda_profiler_api.h>
#include <fmt/format.h>

namespace sgemm {
namespace {

constexpr std::string_view RIVAL = "cublas";

const Build& rival() { return find_kernel(RIVAL)->build(Target::for_gpu); }

/// The most memory that a reference takes: two doubles per element, its value and the scale of its bound, and the
/// workspace that it is computed in.
double reference_bytes(const Shape& shape) {
  const double elements = static_cast<double>(elements_of_c(shape));
  const double inputs = static_cast<double>(shape.m + shape.n) * static_cast<double>(shape.k);
  const double workspace = std::min(inputs * sizeof(double), static_cast<double>(Coverage{}.workspace_bytes));
  return 2.0 * elements * sizeof(double) + workspace;
}

/// Throws CaseStopped where `bytes` of `what` have no room.
void require_room(double bytes, std::string_view what) {
  constexpr double GIB = 1024.0 * 1024.0 * 1024.0;
  const auto free = static_cast<double>(free_device_bytes());
  if (bytes > free) {
    throw CaseStopped(Outcome::skipped,
                      fmt::format("needs {:.1f} GiB of {}, {:.1f} GiB are free", bytes / GIB, what, free / GIB));
  }
}

double occupancy(const Resources& resources, int max_threads_per_sm) {
  constexpr int WARP = 32;
  const int warps_per_block = (resources.threads_per_block + WARP - 1) / WARP;
  return static_cast<double>(resources.blocks_per_sm * warps_per_block) / (max_threads_per_sm / WARP);
}

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

/// One of the kernels that take turns on the same operands, and how right a witness wants it.
struct Contender {
  Prepared kernel;
  Owner owner = Owner::kernel;
  Standard standard{};
};

/// What the modes of the GPU's bench have in common: the stream, the flush buffer, the timers and the telemetry, which
/// all cases share, and the steps that a mode is made of. Functions throw CaseStopped, std::bad_alloc, and the errors
/// of CUDA and of libraries, which the bench turns into outcomes.
class GpuSession {
 public:
  GpuSession(const Device& device, const Protocol& protocol, StopToken stop)
      : device_(device),
        protocol_(protocol),
        stop_(stop),
        stream_(make_stream()),
        flush_(protocol.l2 == L2State::cold ? std::make_unique<L2Flush>() : nullptr),
        event_timer_(device, flush_.get(), stream_.get()),
        end_to_end_timer_(flush_.get(), stream_.get()),
        telemetry_(Telemetry::open(device.pci_bus_id)),
        floor_(event_timer_.measure_floor()),
        idle_c_(telemetry_ ? telemetry_->sample().temperature_c : std::nullopt) {}

  GpuFacts facts() const {
    return {telemetry_ ? telemetry_->driver_version() : "", flush_ ? flush_->bytes() : 0, floor_.empty_kernel_us,
            floor_.resolution_us};
  }

  const Device& device() const { return device_; }
  const Protocol& protocol() const { return protocol_; }
  const StopToken& stop() const { return stop_; }
  cudaStream_t stream() const { return stream_.get(); }
  int late_rounds() const { return event_timer_.hold().late_rounds(); }
  const Telemetry* telemetry() const { return telemetry_.get(); }  ///< null where there is none
  std::optional<int> idle_c() const { return idle_c_; }            ///< temperature before the first case

  OnDevice& on_device(OperandSet& operands) {
    if (!operands.device) {
      require_memory(operands);
      operands.device = std::make_unique<OnDevice>(operands, protocol_.l2 == L2State::cold);
    }
    return static_cast<OnDevice&>(*operands.device);
  }

  /// Throws CaseStopped (skipped) where the operands and their reference have no room.
  void require_memory(const OperandSet& operands) const {
    require_room(
        DeviceProblem::bytes_needed(operands.shape) + (protocol_.verify ? reference_bytes(operands.shape) : 0.0),
        "device memory");
  }

  const Reference& reference(OperandSet& operands, const Observer& observer) {
    OnDevice& state = on_device(operands);
    if (!state.reference) {
      stop_.check();
      observer("computing the reference");
      state.reference = Reference::compute(state.problem.reference_operands(), Platform::gpu, protocol_.seed, {},
                                           roundings_of(operands.data));
    }
    return *state.reference;
  }

  const Prepared& cublas_of(OperandSet& operands) {
    OnDevice& state = on_device(operands);
    if (!state.cublas) {
      state.cublas = rival().prepare(state.problem.operands());
    }
    return *state.cublas;
  }

  /// Prepares the configuration that the kernel chooses, after the reference, because a workspace may take the memory
  /// that it needs.
  Prepared prepare(const GpuCase& item) {
    const auto& [kernel, operands, observer, record] = item;
    if (protocol_.verify && !kernel.file) {  // of a file it is computed later, so that its kernel can not find it
      reference(operands, observer);
    }
    stop_.check();
    observer("preparing");
    const Problem problem = on_device(operands).problem.operands();
    const Build& build = kernel.build(Target::for_gpu);
    const Configuration configuration = build.configurations(problem).front();
    record.describe_choice(kernel, configuration);
    require_room(static_cast<double>(configuration.workspace_bytes), "workspace");
    return build.prepare(configuration);
  }

  /// Launches as in a sample, the last time with a C as a kernel finds it, and waits.
  void run(const Prepared& kernel, OperandSet& operands, int launches = 1) {
    DeviceProblem& problem = on_device(operands).problem;
    for (int launch = 0; launch < launches - 1; ++launch) {
      kernel(problem.operands(launch), stream());
    }
    problem.restore(launches, stream());
    kernel(problem.operands(launches - 1), stream());
    CUDA_CHECK(cudaStreamSynchronize(stream()));
  }

  /// Runs the kernel once, which loads its code, and verifies it where results are verified.
  void run_verified(const Prepared& kernel, const GpuCase& item) {
    run(kernel, item.operands);
    if (protocol_.verify) {
      verify(item, 0, "");
    }
  }

  /// Compares the C of one launch with the reference; `when` begins the reason where it is wrong.
  void verify(const GpuCase& item, int launch, std::string_view when) {
    reference(item.operands, item.observer);
    stop_.check();
    item.observer("verifying");
    compare(item, launch, when);
  }

  /// As verify(), where a request to stop comes too late to matter.
  void compare(const GpuCase& item, int launch, std::string_view when) {
    OnDevice& state = on_device(item.operands);
    const Problem problem = state.problem.operands(launch);
    item.record.judge(state.reference->check(problem.c, problem.ldc, item.record.accuracy), when, protocol_.beta, [&] {
      if (launch != 0 || !when.empty() || problem.ldc != problem.n) {
        return std::string();  // of other operands than the host's
      }
      std::vector<float> c(elements_of_c(problem));
      CUDA_CHECK(cudaMemcpy(c.data(), problem.c, c.size() * sizeof(float), cudaMemcpyDeviceToHost));
      return cause_of_wrong(item.operands.original(), c.data());
    });
    const double most = most_rel_err(item.record.accuracy, item.operands.data, item.operands.shape.k);
    if (item.record.rel_err.value_or(0.0) > most) {
      throw CaseStopped(Outcome::incorrect,
                        fmt::format("{}the relative error is {:.2g}, and sums in FP32 have {:.2g} at most", when,
                                    *item.record.rel_err, most));
    }
  }

  /// Throws CaseStopped (implausible) where a launch can not have taken so little time. `launches` were timed together,
  /// and `state` is that of the L2 before them. `what` begins the reason.
  void require_possible(const GpuCase& item, double us, int launches, L2State state, std::string_view what = "") const {
    using Operands = Circumstances::Operands;
    const Operands operands = protocol_.time == TimeMode::end_to_end ? Operands::unknown
                              : state == L2State::cold               ? Operands::in_dram
                                                                     : Operands::anywhere;
    sgemm::require_possible(
        us, limits_of(device_, item.operands.shape, item.kernel, {operands, 1, launches, floor_.empty_kernel_us}),
        what);
  }

  /// Notes what a block occupies, once the kernel has been launched.
  void note_resources(const GpuCase& item) {
    Record& record = item.record;
    if (const auto& resources = item.kernel.build(Target::for_gpu).resources) {
      record.resources = resources();
    }
    if (record.resources) {
      record.occupancy = occupancy(*record.resources, device_.max_threads_per_sm);
    }
  }

  /// All samples are taken by such rounds: operands are restored, the L2 is flushed, and the launches are timed.
  /// With a witness they are new for each round, and each result is looked at.
  Round round_of(OperandSet& operands, const std::vector<Contender>& contenders, Witness* witness = nullptr) {
    DeviceProblem& problem = on_device(operands).problem;
    std::vector<Prepared> kernels;
    std::ranges::transform(contenders, std::back_inserter(kernels), &Contender::kernel);
    if (protocol_.time == TimeMode::end_to_end) {
      return end_to_end_timer_.round_of(std::move(kernels), problem, operands.host());
    }
    SampleCare care;
    if (witness != nullptr) {
      care = {[witness](int most) { return witness->draw_launches(most); },
              [witness](int launches) { witness->renew(launches); },
              [witness, contenders](int index) {
                const Contender& contender = contenders[static_cast<std::size_t>(index)];
                witness->require_right(contender.owner, contender.standard);
              }};
    }
    return event_timer_.round_of(std::move(kernels), problem, std::move(care));
  }

  /// For the samples of a file's kernel; null where operands stay the same: of the suite's own kernels, with a warm L2,
  /// from end to end, where nothing is verified, and of shapes and kinds that can not be renewed.
  std::unique_ptr<Witness> witness_of(const GpuCase& item) {
    OperandSet& operands = item.operands;
    if (!item.kernel.file || !protocol_.verify || protocol_.l2 != L2State::cold || protocol_.time != TimeMode::kernel ||
        !Witness::can_renew(operands.shape, operands.data)) {
      return nullptr;
    }
    const Secret secret = protocol_.secret.empty() ? Secret::draw() : Secret::parse(protocol_.secret);
    item.record.secret = secret.text();
    return std::make_unique<Witness>(secret, on_device(operands).problem, operands.shape, operands.data, stream());
  }

  /// How right a kernel has to be in samples; `rel_err` is what it had when it was verified.
  static Standard standard_of(const OperandSet& operands, AccuracyClass accuracy,
                              std::optional<double> rel_err = std::nullopt) {
    Standard standard;
    standard.bound = error_bound(accuracy, operands.shape.k, operands.shape.alpha, roundings_of(operands.data));
    standard.rel_err = rel_err.value_or(standard.rel_err);
    standard.most_rel_err = most_rel_err(accuracy, operands.data, operands.shape.k);
    return standard;
  }

  SamplingOptions sampling(int contenders) const {
    return {contenders, protocol_.time == TimeMode::kernel, protocol_.max_seconds, protocol_.seed, stop_};
  }

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

bool out_of_memory(const std::exception& error) {
  const auto* const of_cuda = dynamic_cast<const CudaError*>(&error);
  const auto* const of_cublas = dynamic_cast<const CublasError*>(&error);
  return (of_cuda != nullptr && of_cuda->code() == cudaErrorMemoryAllocation) ||
         (of_cublas != nullptr && of_cublas->status() == CUBLAS_STATUS_ALLOC_FAILED);
}

Contender cublas(GpuSession& gpu, OperandSet& operands) {
  return {gpu.cublas_of(operands), Owner::cublas, GpuSession::standard_of(operands, AccuracyClass::fp32)};
}

/// Samples of cuBLAS on its own and on operands that stay, which are taken once for all kernels on the same ones.
const Alone& cublas_alone(GpuSession& gpu, const GpuCase& item) {
  Alone& state = gpu.on_device(item.operands).cublas_alone;
  if (state.samples_us.empty()) {
    const Round round = gpu.round_of(item.operands, {cublas(gpu, item.operands)});
    const Observer alone = [&](std::string_view activity) { item.observer(fmt::format("cuBLAS alone: {}", activity)); };
    Watch watch(gpu.telemetry());
    state.samples_us = take_samples(round, gpu.sampling(1), alone).kernel_us;
    state.trace = watch.stop();
  }
  return state;
}

/// The first launch loads code, and samples need no more memory than a launch, but for some of the judge's.
void note_leak(std::size_t free_before, Record& record) {
  constexpr std::size_t MIB = std::size_t{1} << 20U;
  constexpr std::size_t OF_JUDGE = 64 * MIB;
  const std::size_t free = free_device_bytes();
  if (free + OF_JUDGE < free_before) {
    record.note = fmt::format("{} MiB of the GPU's memory went while it ran", (free_before - free) / MIB);
  }
}

Turn turn_of(GpuSession& gpu, const GpuCase& item, const Prepared& kernel, double seconds) {
  DeviceProblem& problem = gpu.on_device(item.operands).problem;
  // What a kernel fails to write shows up as NaN, however often it was launched.
  problem.restore(1, gpu.stream());
  EventQueue queue(kernel, problem.operands(), gpu.stream());
  return take_turn(queue, seconds, gpu.telemetry(), gpu.stop(), item.observer);
}

/// The energy of turns that follow the samples.
void measure_energy(GpuSession& gpu, const GpuCase& item, const Prepared& kernel) {
  Turns turns;
  turns.cublas = turn_of(gpu, item, gpu.cublas_of(item.operands), ENERGY_SECONDS);
  turns.kernel = turn_of(gpu, item, kernel, ENERGY_SECONDS);
  gpu.stop().check();
  if (gpu.protocol().verify) {
    gpu.verify(item, 0, "after the turn for energy: ");
  }
  gpu.require_possible(item, turns.kernel.launch_us(), turns.kernel.launches_per_batch, L2State::warm,
                       "in the turn for energy: ");
  item.record.energy = to_json(turns, flops(item.operands.size));
}

/// A kernel may wear out with its launches, of which a slow one has few samples.
void wear_out(GpuSession& gpu, const GpuCase& item, const Prepared& kernel) {
  constexpr int LAUNCHES = 1000;
  constexpr int AT_A_TIME = 10;
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
  const Problem problem = gpu.on_device(item.operands).problem.operands();
  for (int i = 0; i < LAUNCHES && std::chrono::steady_clock::now() < end; i += AT_A_TIME) {
    for (int j = 0; j < AT_A_TIME; ++j) {
      kernel(problem, gpu.stream());
    }
    CUDA_CHECK(cudaStreamSynchronize(gpu.stream()));
  }
}

/// The last verification is of new operands: a kernel would know those of the first one again.
void verify_renewed(GpuSession& gpu, const GpuCase& item, const Contender& contender, Witness& witness) {
  std::unique_ptr<Reference>& reference = gpu.on_device(item.operands).reference;
  wear_out(gpu, item, contender.kernel);
  witness.renew(1);
  gpu.run(contender.kernel, item.operands);
  reference.reset();
  gpu.verify(item, 0, "after timing: ");
  witness.require_right(contender.owner, contender.standard);  // A and B are still the judge's
  reference.reset();                                           // those that follow are of the operands that stay
}

/// Paired samples of the kernel and cuBLAS, warm, cold or end to end, and their energy where the protocol asks for it.
void measure(GpuSession& gpu, const GpuCase& item) {
  const auto& [kernel, operands, observer, record] = item;
  const int late_before = gpu.late_rounds();
  const Alone& alone = cublas_alone(gpu, item);
  const Prepared prepared = gpu.prepare(item);
  const std::size_t free_before = free_device_bytes();
  gpu.run_verified(prepared, item);

  std::unique_ptr<Witness> witness = gpu.witness_of(item);
  const Contender contender{prepared, Owner::kernel,
                            GpuSession::standard_of(operands, kernel.accuracy, record.rel_err)};
  Watch watch(gpu.telemetry());
  const Round round = gpu.round_of(operands, {contender, cublas(gpu, operands)}, witness.get());
  Timings timings = take_samples(round, gpu.sampling(2), observer);
  if (gpu.telemetry() != nullptr) {
    const Trace trace = watch.stop();
    record.trace = to_json(trace);
    record.telemetry = to_json(trace.points.front().sample, trace.points.back().sample);
  }
  if (const int late = gpu.late_rounds() - late_before; late > 0) {
    record.note = fmt::format("the host was late in {} rounds: their times have its own in them", late);
  }
  if (kernel.file) {
    note_leak(free_before, record);
  }
  if (witness) {
    const double of_samples = witness->rel_err();
    verify_renewed(gpu, item, contender, *witness);
    witness.reset();
    gpu.on_device(operands).problem.fill(operands.host());
    record.rel_err = std::max(record.rel_err.value_or(0.0), of_samples);
  } else if (gpu.protocol().verify) {
    const int launches = timings.launches_per_sample;
    // C is cuBLAS's, or may be that or an earlier launch's: samples with a warm L2 keep it.
    if (timings.last != 0 || gpu.protocol().l2 == L2State::warm) {
      gpu.run(prepared, operands, launches);
    }
    gpu.verify(item, launches - 1, "after timing: ");
  }
  if (gpu.protocol().energy) {
    measure_energy(gpu, item, prepared);
  }

  gpu.note_resources(item);
  Measurement measurement = measurement_of(std::move(timings), operands.size);
  gpu.require_possible(item, measurement.time_us.median, measurement.timings.launches_per_sample, gpu.protocol().l2);
  compare_with_alone(measurement, alone);
  const std::optional<double> peak = gpu.device().fp32_peak_gflops();
  if (peak && kernel.accuracy == AccuracyClass::fp32) {
    measurement.percent_of_peak = 100.0 * measurement.gflops / *peak;
  }
  record.measurement = std::move(measurement);
}

/// One launch, of which the errors are recorded.
void compare_errors(GpuSession& gpu, const GpuCase& item) {
  const Prepared prepared = gpu.prepare(item);
  gpu.run(prepared, item.operands);
  gpu.verify(item, 0, "");
  item.record.outcome = Outcome::compared;
}

/// One launch between cudaProfilerStart() and cudaProfilerStop().
void launch_profiled(GpuSession& gpu, const GpuCase& item) {
  const Prepared prepared = gpu.prepare(item);
  gpu.run_verified(prepared, item);  // what a first launch loads is not profiled

  DeviceProblem& problem = gpu.on_device(item.operands).problem;
  problem.restore(1, gpu.stream());
  CUDA_CHECK(cudaStreamSynchronize(gpu.stream()));
  CUDA_CHECK(cudaProfilerStart());
  prepared(problem.operands(), gpu.stream());
  CUDA_CHECK(cudaStreamSynchronize(gpu.stream()));
  CUDA_CHECK(cudaProfilerStop());
  gpu.note_resources(item);
  item.record.outcome = Outcome::profiled;
}

/// A turn each of the kernel and of cuBLAS, as long as the protocol says.
void sustain(GpuSession& gpu, const GpuCase& item) {
  const Prepared prepared = gpu.prepare(item);
  gpu.run_verified(prepared, item);

  const auto idle = [&] {
    const Pause pause = [](double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); };
    return cool_down(gpu.telemetry(), gpu.idle_c(), pause, gpu.stop(), item.observer);
  };
  Sustained result;
  result.asked_s = gpu.protocol().sustain_s;
  result.before_kernel = idle();
  result.turns.kernel = turn_of(gpu, item, prepared, result.asked_s);
  if (result.turns.kernel.batch_us.empty()) {
    gpu.stop().check();
  }
  if (gpu.protocol().verify) {
    item.observer("verifying");
    gpu.compare(item, 0, "after its turn: ");  // an interrupted turn counts as well, so nothing asks to stop
  }
  gpu.require_possible(item, result.turns.kernel.launch_us(), result.turns.kernel.launches_per_batch, L2State::warm);
  if (!gpu.stop().requested()) {
    result.before_cublas = idle();
    result.turns.cublas = turn_of(gpu, item, gpu.cublas_of(item.operands), result.asked_s);
  }
  item.record.sustained = to_json(result, flops(item.operands.size));
  item.record.outcome = Outcome::sustained;
  gpu.note_resources(item);
}

/// What the mode of the run asks for.
void run_mode(GpuSession& gpu, const GpuCase& item) {
  switch (gpu.protocol().mode) {
    case Mode::accuracy:
      return compare_errors(gpu, item);
    case Mode::profile:
      return launch_profiled(gpu, item);
    case Mode::sustain:
      return sustain(gpu, item);
    default:
      return measure(gpu, item);
  }
}

/// The session, guarded: errors of CUDA and of libraries become the case's outcome.
class CudaBench final : public GpuBench {
 public:
  CudaBench(const Device& device, const Protocol& protocol, StopToken stop) : gpu_(device, protocol, stop) {}

  GpuFacts facts() const override { return gpu_.facts(); }
  bool lost() const override { return !lost_after_.empty(); }

  void require(const Kernel& kernel, OperandSet& operands) override {
    require_device();
    if (!kernel.build(Target::for_gpu)) {
      throw CaseStopped(Outcome::not_supported, "was not built for GPUs");
    }
    require_code_for(gpu_.device(), kernel);
    if (!operands.device) {
      guarded("sgemm/" + kernel.id(), [&] { gpu_.require_memory(operands); });
    }
  }

  void run(const Kernel& kernel, OperandSet& operands, const Observer& observer, Record& record) override {
    guarded(record.name, [&] {
      const GpuCase item{kernel, operands, observer, record};
      if (!kernel.file) {
        run_mode(gpu_, item);
        return;
      }
      try {
        DeviceProblem& problem = gpu_.on_device(operands).problem;
        problem.move(gpu_.protocol().seed);  // as for samples, so that a place does not tell what a launch is for
        problem.fill(operands.host());
        run_mode(gpu_, item);
        require_inputs_unchanged(operands);
      } catch (...) {
        operands.device.reset();  // whatever a file's kernel did to them, the next kernel has its operands anew
        throw;
      }
    });
  }

  Verdict check_host_result(OperandSet& operands, const Observer& observer, const Record& record) override {
    return guarded(record.name, [&] {
      const Reference& expected = gpu_.reference(operands, observer);
      const Problem problem = gpu_.on_device(operands).problem.operands();
      const std::vector<float>& c = operands.result();
      CUDA_CHECK(cudaMemcpy(problem.c, c.data(), c.size() * sizeof(float), cudaMemcpyHostToDevice));
      return expected.check(problem.c, problem.ldc, record.accuracy);
    });
  }

  double cublas_rel_err(OperandSet& operands, const Observer& observer, const Record& record) override {
    return guarded(record.name, [&] {
      OnDevice& state = gpu_.on_device(operands);
      if (!state.cublas_rel_err) {
        const Reference& expected = gpu_.reference(operands, observer);
        gpu_.run(gpu_.cublas_of(operands), operands);
        const Problem problem = state.problem.operands();
        state.cublas_rel_err = expected.check(problem.c, problem.ldc, AccuracyClass::fp32).rel_err();
      }
      return *state.cublas_rel_err;
    });
  }

 private:
  template <class Work>
  auto guarded(const std::string& case_name, const Work& work) -> decltype(work()) {
    try {
      return work();
    } catch (const CaseStopped&) {
      throw;
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& error) {
      note_failure(case_name);
      throw out_of_memory(error) ? CaseStopped(Outcome::skipped, "not enough device memory")
                                 : CaseStopped(Outcome::failed, error.what());
    }
  }

  void note_failure(const std::string& case_name) {
    cudaGetLastError();
    // A permanent error comes back from every later call.
    if (!lost() && cudaDeviceSynchronize() != cudaSuccess) {
      lost_after_ = case_name;
    }
  }

  void require_device() const {
    if (lost()) {
      throw CaseStopped(Outcome::skipped, "device lost after an earlier failure in " + lost_after_);
    }
  }

  /// Throws CaseStopped where the first launch's A or B is not what the host has.
  void require_inputs_unchanged(OperandSet& operands) {
    DeviceProblem& on_device = gpu_.on_device(operands).problem;
    const std::string why = changed_input(operands.host(), [&](MatrixName name, std::size_t elements) {
      const Problem problem = on_device.operands();
      const float* const data = name == MatrixName::a   ? problem.a
                                : name == MatrixName::b ? problem.b
                                                        : on_device.reference_operands().c;
      std::vector<float> found(elements);
      CUDA_CHECK(cudaMemcpy(found.data(), data, elements * sizeof(float), cudaMemcpyDeviceToHost));
      return found;
    });
    if (!why.empty()) {
      throw CaseStopped(Outcome::failed, why);
    }
  }

  GpuSession gpu_;
  std::string lost_after_;
};

}  // namespace

std::unique_ptr<GpuBench> GpuBench::open(const Device& device, const Protocol& protocol, StopToken stop) {
  return std::make_unique<CudaBench>(device, protocol, stop);
}

}  // namespace sgemm
