// How fast the executor runs the chapters on this machine's processors, with and without checks: one product of square
// matrices per iteration, operands and preparations not counted.

#include "host/kernel.hpp"
#include "problem/checked_operands.hpp"
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
      : problem(shape_of(n, n, n, 1.0F, 0.0F)),
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

void time_launches(benchmark::State& state, const std::function<Prepared(const Problem&)>& prepare, bool checked) {
  const Product product(state.range(0));
  const Prepared prepared = prepare(product.problem);
  std::unique_ptr<simt::CheckedArrays> arrays;
  if (checked) {
    arrays = std::make_unique<simt::CheckedArrays>(arrays_of(product.problem));
  }
  for ([[maybe_unused]] auto _ : state) {
    prepared.launch(product.problem, nullptr);
  }
  state.counters["FLOP/s"] = benchmark::Counter(flops(product.problem), benchmark::Counter::kIsIterationInvariantRate);
}

void add_benchmarks() {
  const auto add = [](const std::string& name, const std::function<Prepared(const Problem&)>& prepare, bool checked) {
    return benchmark::RegisterBenchmark(name.c_str(),
                                        [=](benchmark::State& state) { time_launches(state, prepare, checked); })
        ->Unit(benchmark::kMillisecond)
        ->UseRealTime();
  };
  for (const Kernel& kernel : kernels()) {
    if (kernel.prepare_on_executor) {
      add("execute/" + kernel.id(), kernel.prepare_on_executor, false)->Arg(256)->Arg(512);
    }
    if (kernel.prepare_checked) {
      add("check/" + kernel.id(), kernel.prepare_checked, true)->Arg(256);
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
