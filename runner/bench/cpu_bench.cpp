#include "bench/bench.hpp"

#include "base/outcome.hpp"

#include <chrono>
#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace sgemm {

void CpuBench::require(const Kernel& kernel, OperandSet& operands) {
  if (protocol_.mode == Mode::sustain) {
    throw CaseStopped(Outcome::not_supported, "runs on the CPU: --sustain is for GPU kernels");
  }
  if (!force_ && kernel.most_products > 0.0 && products(operands.size) > kernel.most_products) {
    throw CaseStopped(Outcome::skipped,
                      fmt::format("CPU baseline capped at m * n * k = {:.0f}^3; --force runs it all the same",
                                  std::cbrt(kernel.most_products)));
  }
}

void CpuBench::run(const Kernel& kernel, OperandSet& operands, const Observer& observer, Record& record) {
  const Build& build = kernel.build(Target::for_host);
  const Prepared prepared = build.prepare(operands.problem());
  record.detail = prepared.configuration.name;
  const Round round = [&](const std::vector<int>&, int) {
    const Problem problem = operands.fresh();
    const auto start = std::chrono::steady_clock::now();
    prepared(problem, nullptr);
    const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - start;
    return std::vector<double>{time.count()};
  };
  if (protocol_.verify) {
    round({0}, 1);
    verify(operands, "", observer, record);
  }
  if (protocol_.mode == Mode::accuracy) {
    record.outcome = Outcome::compared;
    return;
  }
  Timings timings = take_samples(round, {1, false, protocol_.max_seconds, protocol_.seed, stop_}, observer);
  if (protocol_.verify) {
    verify(operands, "after timing: ", observer, record);
  }
  record.measurement = measurement_of(std::move(timings), operands.size);
}

}  // namespace sgemm
