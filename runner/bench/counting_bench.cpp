#include "bench/bench.hpp"

#include "base/outcome.hpp"
#include "problem/guarded_operands.hpp"
#include "record/results_file.hpp"

#include <fmt/format.h>

namespace sgemm {

void CountingBench::require(const Kernel& kernel, OperandSet&) {
  if (!kernel.build(Target::for_executor)) {
    throw CaseStopped(Outcome::not_supported, kernel.platform == Platform::cpu
                                                  ? "runs on the CPU: only GPU kernels are counted"
                                                  : "is a library, of which there is no source to be counted");
  }
  if (!kernel.build(Target::for_checks)) {
    throw CaseStopped(Outcome::not_supported, "was built without counting, which takes GCC without sanitizers");
  }
}

void CountingBench::run(const Kernel& kernel, OperandSet& operands, const Observer& observer, Record& record) {
  const Problem problem = operands.fresh();
  std::optional<GuardedOperands> guarded;
  if (kernel.file) {
    guarded.emplace(problem, false);
  }
  const Problem& counted = guarded ? guarded->problem() : problem;
  const Prepared prepared = kernel.build(Target::for_checks).prepare(counted);
  record.describe_choice(kernel, prepared.configuration);
  const Counts counts = count(kernel, prepared, counted, options_, observer);
  if (guarded) {
    if (const std::optional<std::string> damage = guarded->damage()) {
      throw CaseStopped(Outcome::failed, fmt::format("{}{}", *damage, CHECK_HINT));
    }
    guarded->copy_result();
  }
  if (protocol_.verify && counts.sum().whole()) {
    verify(operands, "", observer, record);
  }
  if (options_.trace) {
    write_atomically(options_.trace->page, trace_page(kernel, operands.size, counts));
  }
  record.counts = to_json(counts);
  record.outcome = Outcome::counted;
}

}  // namespace sgemm
