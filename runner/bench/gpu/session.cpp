#include "bench/gpu/session.hpp"

#include "base/outcome.hpp"
#include "common/cuda_check.hpp"
#include "judge/limits.hpp"
#include "problem/batch.hpp"
#include "verify/accuracy.hpp"
#include "verify/verify_parts.hpp"

#include <algorithm>
#include <string>
#include <utility>

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

}  // namespace

GpuSession::GpuSession(const Device& device, const Protocol& protocol, StopToken stop)
    : device_(device),
      protocol_(protocol),
      stop_(stop),
      stream_(make_stream()),
      flush_(protocol.l2 == L2State::cold ? std::make_unique<L2Flush>(device.l2_bytes) : nullptr),
      event_timer_(device, flush_.get(), stream_.get()),
      end_to_end_timer_(flush_.get(), stream_.get()),
      telemetry_(Telemetry::open(device.pci_bus_id)),
      floor_(event_timer_.measure_floor()),
      idle_c_(telemetry_ ? telemetry_->sample().temperature_c : std::nullopt) {}

GpuFacts GpuSession::facts() const {
  return {telemetry_ ? telemetry_->driver_version() : "", flush_ ? flush_->bytes() : 0, floor_.empty_kernel_us,
          floor_.resolution_us};
}

OnDevice& GpuSession::on_device(OperandSet& operands) {
  if (!operands.device) {
    require_memory(operands);
    operands.device = std::make_unique<OnDevice>(operands, protocol_.l2 == L2State::cold);
  }
  return static_cast<OnDevice&>(*operands.device);
}

void GpuSession::require_memory(const OperandSet& operands) const {
  require_room(DeviceProblem::bytes_needed(operands.shape) + (protocol_.verify ? reference_bytes(operands.shape) : 0.0),
               "device memory");
}

const Reference& GpuSession::reference(OperandSet& operands, const Observer& observer) {
  OnDevice& state = on_device(operands);
  if (!state.reference) {
    stop_.check();
    observer("computing the reference");
    state.reference = Reference::compute(state.problem.reference_operands(), Platform::gpu, protocol_.seed, {},
                                         roundings_of(operands.data));
  }
  return *state.reference;
}

const Prepared& GpuSession::cublas_of(OperandSet& operands) {
  OnDevice& state = on_device(operands);
  if (!state.cublas) {
    state.cublas = rival().prepare(state.problem.operands());
  }
  return *state.cublas;
}

Prepared GpuSession::prepare(const GpuCase& item) {
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

void GpuSession::run_once(const Prepared& kernel, OperandSet& operands) {
  DeviceProblem& problem = on_device(operands).problem;
  problem.restore(1, stream());
  kernel(problem.operands(), stream());
  CUDA_CHECK(cudaStreamSynchronize(stream()));
}

void GpuSession::run_verified(const Prepared& kernel, const GpuCase& item) {
  if (protocol_.verify) {
    run_once(kernel, item.operands);
    verify(item, 0, "");
  }
}

void GpuSession::verify(const GpuCase& item, int launch, std::string_view when) {
  reference(item.operands, item.observer);
  stop_.check();
  item.observer("verifying");
  compare(item, launch, when);
}

void GpuSession::compare(const GpuCase& item, int launch, std::string_view when) {
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

void GpuSession::require_possible(const GpuCase& item, double us, int launches, L2State state,
                                  std::string_view what) const {
  using Operands = Circumstances::Operands;
  const Operands operands = protocol_.time == TimeMode::end_to_end ? Operands::unknown
                            : state == L2State::cold               ? Operands::in_dram
                                                                   : Operands::anywhere;
  sgemm::require_possible(
      us, limits_of(device_, item.operands.shape, item.kernel, {operands, 1, launches, floor_.empty_kernel_us}), what);
}

void GpuSession::note_resources(const GpuCase& item) {
  Record& record = item.record;
  if (const auto& resources = item.kernel.build(Target::for_gpu).resources) {
    record.resources = resources();
  }
  if (record.resources) {
    record.occupancy = occupancy(*record.resources, device_.max_threads_per_sm);
  }
}

Round GpuSession::round_of(OperandSet& operands, std::vector<Contender> contenders, Witness* witness) {
  DeviceProblem& problem = on_device(operands).problem;
  return protocol_.time == TimeMode::end_to_end
             ? end_to_end_timer_.round_of(std::move(contenders), problem, operands.host())
             : event_timer_.round_of(std::move(contenders), problem, witness);
}

std::unique_ptr<Witness> GpuSession::witness_of(const GpuCase& item) {
  OperandSet& operands = item.operands;
  if (!item.kernel.file || !protocol_.verify || protocol_.l2 != L2State::cold || protocol_.time != TimeMode::kernel ||
      !Witness::can_renew(operands.shape, operands.data)) {
    return nullptr;
  }
  const Secret secret = protocol_.secret.empty() ? Secret::draw() : Secret::parse(protocol_.secret);
  item.record.secret = secret.text();
  return std::make_unique<Witness>(secret, on_device(operands).problem, operands.shape, operands.data, stream());
}

Standard GpuSession::standard_of(const OperandSet& operands, AccuracyClass accuracy, std::optional<double> rel_err) {
  Standard standard;
  standard.bound = error_bound(accuracy, operands.shape.k, operands.shape.alpha, roundings_of(operands.data));
  standard.rel_err = rel_err.value_or(standard.rel_err);
  standard.most_rel_err = most_rel_err(accuracy, operands.data, operands.shape.k);
  return standard;
}

SamplingOptions GpuSession::sampling(int contenders) const {
  return {contenders, protocol_.time == TimeMode::kernel, protocol_.max_seconds, protocol_.seed, stop_};
}

}  // namespace sgemm
