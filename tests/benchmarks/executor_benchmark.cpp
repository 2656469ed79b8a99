// How fast the executor runs the chapters on this machine's processors, with and without checks: one product of square
// matrices per iteration, operands and preparations not counted.

#include "host/kernel.hpp"
#include "problem/guarded_operands.hpp"
#include "problem/operands.hpp"
#include "simt/checked_arrays.hpp"

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace sgemm {
namespace {

/// A product of square matrices with its operands.
struct Product {
  explicit Product(std::int64_t n)
      : problem(packed({n, n, n}, nullptr, nullptr, nullptr)),
        inputs(make_operands(problem, Distribution::uniform, 42)),
        c(static_cast<std::size_t>(n * n)) {
    problem.a = inputs.a.data();
    problem.b = inputs.b.data();
    problem.c = c.data();
  }

  Problem problem;
  HostOperands inputs;
  std::vector<float> c;
};

void time_launches(benchmark::State& state, const Build& build, bool checked) {
  const Product product(state.range(0));
  const Prepared prepared = build.prepare(product.problem);
  std::unique_ptr<simt::CheckedArrays> arrays;
  if (checked) {
    arrays = std::make_unique<simt::CheckedArrays>(arrays_of(product.problem));
  }
  for ([[maybe_unused]] auto _ : state) {
    prepared(product.problem, nullptr);
  }
  state.counters["FLOP/s"] = benchmark::Counter(flops(product.problem), benchmark::Counter::kIsIterationInvariantRate);
}

void add_benchmarks() {
  const auto add = [](const std::string& name, const Build& build, bool checked) {
    return benchmark::RegisterBenchmark(
               name.c_str(), [&build, checked](benchmark::State& state) { time_launches(state, build, checked); })
        ->Unit(benchmark::kMillisecond)
        ->UseRealTime();
  };
  for (const Kernel& kernel : kernels()) {
    if (kernel.build(Target::for_executor)) {
      add("execute/" + kernel.id(), kernel.build(Target::for_executor), false)->Arg(256)->Arg(512);
    }
    if (kernel.build(Target::for_checks)) {
      add("check/" + kernel.id(), kernel.build(Target::for_checks), true)->Arg(256);
    }
  }
}

}  // namespace
}  // namespace sgemm

int main(int argc, char** argv) {
  sgemm::add_benchmarks();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) {
    return 1;
  }
  return benchmark::RunSpecifiedBenchmarks() == 0 ? 1 : 0;
}
