#include "bench/case_runner.hpp"

#include "base/outcome.hpp"
#include "simt/executor.hpp"

#include <algorithm>
#include <new>
#include <stdexcept>

#include <fmt/format.h>

namespace sgemm {
namespace {

/// The reason why a case failed, and what helps where a kernel adds to what C holds before.
std::string with_advice(std::string reason) {
  if (reason.find(" of C, which holds nothing before the kernel has written it") != std::string::npos) {
    reason +=
        "; where beta is 0, BLAS does not read C: --beta 1 lets a kernel read it, and a launch that adds to C may "
        "begin with cudaMemsetAsync(C, 0, 4 * M * N, stream);";
  }
  return reason;
}

void require_layout(const Kernel& kernel, const Size& size) {
  if (kernel.takes_every_layout) {
    return;
  }
  if (size.transposed_a || size.transposed_b) {
    throw CaseStopped(Outcome::not_supported,
                      kernel.file ? fmt::format("its launch has to be given for transposed operands: --launch '{}'",
                                                kernel.summary.substr(0, kernel.summary.find(';')))
                                  : "does not compute products of transposed operands");
  }
  if (size.batch > 1 && !kernel.file) {
    throw CaseStopped(Outcome::not_supported, "does not compute batches");
  }
}

}  // namespace

void CaseRunner::require_profilable(const Kernel& kernel) const {
  if (kernel.platform == Platform::cpu) {
    throw CaseStopped(Outcome::not_supported, "runs on the CPU: --profile launches GPU kernels");
  }
  if (!kernel.local_kernel.empty()) {
    throw CaseStopped(Outcome::not_supported, fmt::format("is made of {}, which can be profiled", kernel.local_kernel));
  }
  if (!gpu_) {
    throw CaseStopped(Outcome::failed, gpu_error_);
  }
}

CaseRunner::CaseRunner(const Protocol& protocol, const DeviceQuery& query, const Settings& settings, StopToken stop)
    : protocol_(protocol), device_(query.device), settings_(settings), stop_(stop) {
  gpu_error_ = query.error;
  simt::stop_when(interrupted);
  if (device_ && settings.use_gpu) {
    try {
      gpu_ = GpuBench::open(*device_, protocol, stop);
      gpu_facts_ = gpu_->facts();
    } catch (const std::runtime_error& error) {
      gpu_error_ = error.what();
    }
  }
}

bool CaseRunner::lost() const { return (gpu_ && gpu_->lost()) || (several_gpus_ && several_gpus_->lost()); }

Bench& CaseRunner::bench_of(const Kernel& kernel) {
  if (!kernel.local_kernel.empty()) {
    if (!several_gpus_) {
      several_gpus_ = settings_.several_gpus(protocol_, gpu_ ? device_ : std::nullopt, stop_);
    }
    return *several_gpus_;
  }
  const bool on_cpu = kernel.platform == Platform::cpu;
  const bool counted = protocol_.mode == Mode::count;
  if (gpu_ && !on_cpu && !counted) {
    return *gpu_;
  }
  const HostWork work = counted ? HostWork::count : on_cpu ? HostWork::time : HostWork::execute;
  std::unique_ptr<Bench>& bench = of_host_[work];
  if (!bench) {
    bench = make_host_bench(work, protocol_, gpu_.get(), stop_, settings_.counting);
  }
  return *bench;
}

OperandSet& CaseRunner::operands_of(const Case& item) {
  const Distribution data = item.data.value_or(protocol_.data.front());
  if (!operands_ || operands_->size != item.size || operands_->data != data) {
    operands_.reset();  // first, so that its memory is free for the next
    operands_ = std::make_unique<OperandSet>(item.size, data, protocol_);
  }
  return *operands_;
}

void CaseRunner::fill(Record& record, const Case& item, const Observer& observer) {
  if (protocol_.mode == Mode::profile) {
    require_profilable(*item.kernel);
  }
  Bench& bench = bench_of(*item.kernel);
  stop_.check();
  require_layout(*item.kernel, item.size);
  observer("preparing");
  OperandSet& operands = operands_of(item);
  bench.require(*item.kernel, operands);
  const Refusal& refusal = item.kernel->unsupported;  // null where asking would make the operands in one place
  if (const std::optional<std::string> reason = refusal ? refusal(operands.problem()) : std::nullopt) {
    throw CaseStopped(Outcome::not_supported, *reason);
  }
  bench.run(*item.kernel, operands, observer, record);
  if (record.outcome == Outcome::compared && gpu_ && !gpu_->lost()) {
    const double error = gpu_->cublas_rel_err(operands, observer, record);
    if (error > 0.0) {
      record.errors->vs_cublas = *record.rel_err / error;
    }
  }
}

Record CaseRunner::run(const Case& item, const Observer& observer) {
  Record record(item);
  try {
    fill(record, item, observer);
  } catch (const CaseStopped& stopped) {
    record.stop(stopped.outcome(), stopped.what());
  } catch (const simt::NotSupported& error) {
    record.stop(Outcome::not_supported, error.what());
  } catch (const simt::Stopped& error) {
    record.stop(Outcome::skipped, error.what());
  } catch (const std::bad_alloc&) {
    record.stop(Outcome::skipped, "not enough host memory");
  } catch (const std::exception& error) {
    record.stop(Outcome::failed, with_advice(error.what()));
  }
  return record;
}

std::unique_ptr<Runner> make_runner(const Run& run) {
  const auto any = [&](const auto& wanted) {
    return std::ranges::any_of(run.plan, [&](const Case& item) { return wanted(*item.kernel); });
  };
  const bool several_gpus = any([](const Kernel& kernel) { return !kernel.local_kernel.empty(); });
  const bool files = any([](const Kernel& kernel) { return kernel.file.has_value(); });
  // A profiler may look at the process that it starts alone.
  const bool profiled = run.protocol.mode == Mode::profile;
  if (run.ranks_are_processes || profiled || (!several_gpus && !files)) {
    return std::make_unique<CaseRunner>(run.protocol, run.device, run.settings, StopToken(interrupted));
  }
  return make_case_process(run);
}

}  // namespace sgemm
