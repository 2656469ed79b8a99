#include "bench/bench.hpp"

#include "base/outcome.hpp"
#include "common/ceil_div.hpp"
#include "problem/guarded_operands.hpp"
#include "simt/checked_arrays.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>

#include <fmt/format.h>

namespace sgemm {
namespace {

/// A case that is expected to take longer needs --force.
constexpr double MOST_SECONDS = 60.0;
/// Problems of less work are not worth an estimate: the slowest kernel does about ten million products a second.
constexpr double LITTLE_WORK = 5e7;

/// The products that a kernel takes as long for as for this problem. Blocks are whole, also where C is narrow, and a
/// thread takes as long as for some products before it does its first.
double work(Size size) {
  constexpr std::int64_t SIDE_OF_BLOCK = 32;
  constexpr std::int64_t LEAST_DEPTH = 16;
  size.m = ceil_div(size.m, SIDE_OF_BLOCK) * SIDE_OF_BLOCK;
  size.n = ceil_div(size.n, SIDE_OF_BLOCK) * SIDE_OF_BLOCK;
  size.k = std::max(size.k, LEAST_DEPTH);
  return products(size);
}

/// "90 s", "25 min", "3.5 h".
std::string duration_text(double seconds) {
  constexpr double MINUTE = 60.0;
  constexpr double HOUR = 60.0 * MINUTE;
  if (seconds < 2 * MINUTE) {
    return fmt::format("{:.0f} s", seconds);
  }
  return seconds < 2 * HOUR ? fmt::format("{:.0f} min", seconds / MINUTE) : fmt::format("{:.1f} h", seconds / HOUR);
}

}  // namespace

void ExecutorBench::require(const Kernel& kernel, OperandSet& operands) {
  if (!kernel.build(Target::for_executor)) {
    throw CaseStopped(Outcome::not_supported, "needs a CUDA device");  // the context says why there is none
  }
  if (protocol_.check && !kernel.build(Target::for_checks)) {
    throw CaseStopped(Outcome::not_supported, "was built without checks: they take GCC without sanitizers");
  }
  if (!force_ && work(operands.size) > LITTLE_WORK) {
    const std::optional<double> seconds = estimate_seconds(kernel, operands.size);
    if (seconds && *seconds > MOST_SECONDS) {
      throw CaseStopped(Outcome::skipped, fmt::format("would take about {} on the CPU; --force runs it all the same",
                                                      duration_text(*seconds)));
    }
  }
}

Prepared ExecutorBench::execute(const Kernel& kernel, const Problem& problem) const {
  const Build& build = kernel.build(protocol_.check ? Target::for_checks : Target::for_executor);
  if (!protocol_.check && !kernel.file) {
    Prepared prepared = build.prepare(problem);
    prepared(problem, nullptr);
    return prepared;
  }
  const GuardedOperands guarded(problem, protocol_.check && kernel.takes_padding);
  std::optional<simt::CheckedArrays> arrays;
  if (protocol_.check) {
    arrays.emplace(arrays_of(guarded.problem()));
  }
  Prepared prepared = build.prepare(guarded.problem());
  prepared(guarded.problem(), nullptr);
  if (arrays && !arrays->observed_any()) {
    throw CaseStopped(Outcome::failed,
                      "no access to memory was observed: nothing was launched, or what was launched is not checked");
  }
  if (const std::optional<std::string> damage = guarded.damage()) {
    throw CaseStopped(Outcome::failed, fmt::format("{}{}", *damage, protocol_.check ? "" : CHECK_HINT));
  }
  guarded.copy_result();
  return prepared;
}

std::optional<double> ExecutorBench::estimate_seconds(const Kernel& kernel, const Size& size) {
  const auto [entry, is_new] = products_per_second_.try_emplace(kernel.id());
  if (is_new) {
    constexpr Size SMALL{256, 256, 64};
    OperandSet small(SMALL, protocol_.data.front(), protocol_);
    const Problem problem = small.fresh();
    if (kernel.unsupported(problem)) {
      return std::nullopt;
    }
    constexpr int TRIALS = 2;  // the first one also takes memory that the others find
    for (int trial = 0; trial < TRIALS; ++trial) {
      const auto start = std::chrono::steady_clock::now();
      try {
        execute(kernel, problem);
      } catch (const std::exception&) {
        return std::nullopt;  // what is wrong with a small product need not be wrong with the one that is asked for
      }
      const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
      entry->second = std::max(entry->second.value_or(0.0), work(SMALL) / time.count());
    }
  }
  return entry->second ? std::optional(work(size) / *entry->second) : std::nullopt;
}

void ExecutorBench::run(const Kernel& kernel, OperandSet& operands, const Observer& observer, Record& record) {
  const Problem problem = operands.fresh();
  const auto speed = products_per_second_.find(kernel.id());
  const bool known = speed != products_per_second_.end() && speed->second;
  const double seconds = known ? work(operands.size) / *speed->second : 0.0;
  observer(seconds < 1.0 ? "executing" : fmt::format("executing, for about {}", duration_text(seconds)));
  const auto begin = std::chrono::steady_clock::now();
  record.describe_choice(kernel, execute(kernel, problem).configuration);
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  if (protocol_.verify) {
    verify(operands, "", observer, record);
  }
  constexpr double LITTLE_TIME = 2.0;
  if (protocol_.verify && kernel.file && time.count() < LITTLE_TIME) {
    execute(kernel, operands.fresh());  // finds what the first launch has left behind
    verify(operands, "in its second launch: ", observer, record);
  }
  record.outcome = protocol_.mode == Mode::accuracy ? Outcome::compared : Outcome::executed;
}

}  // namespace sgemm
