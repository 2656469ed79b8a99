// Registered beside the runner's own kernels in runner_with_misbehaving_kernels alone: kernels that go wrong in the
// ways that end a case, at once and late.

#include "../fakes.hpp"
#include "base/build_info.hpp"
#include "problem/batch.hpp"
#include "ranks/launch.hpp"

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

namespace sgemm {

/// A build of which the tests know all: theirs is clean or not as their tree is.
const BuildInfo& build_info() {
  static constexpr BuildInfo INFO{"0.0.1", "00000000000000000000000000000000000000ff", true, "g++", "-O0", "", "", "",
                                  "Test"};
  return INFO;
}

namespace {

/// Right for plain products: it knows of neither transposed operands nor batches.
void multiply(const Problem& p) { find_kernel("cpu_naive")->build(Target::for_host).prepare(p)(p, nullptr); }

void multiply_too_much(const Problem& p) {
  multiply(p);
  p.c[0] += 1.0F;
}

Kernel cpu_kernel(const std::string& name, const std::function<void(const Problem&)>& multiply) {
  Kernel kernel = launched_by(Target::for_host, [multiply](const Problem& p, cudaStream_t) { multiply(p); });
  kernel.name = name;
  kernel.platform = Platform::cpu;
  return kernel;
}

const KernelRegistration wrong(cpu_kernel("wrong", multiply_too_much));

const KernelRegistration wrong_later(cpu_kernel("wrong_later", [launches = std::make_shared<int>(0)](const Problem& p) {
  ++*launches == 1 ? multiply(p) : multiply_too_much(p);
}));

const KernelRegistration throws(cpu_kernel("throws", [](const Problem&) { throw std::runtime_error("out of order"); }));

const KernelRegistration endless(cpu_kernel("endless", [](const Problem&) {
  while (true) {
    std::this_thread::yield();  // takes processor time, by which a test knows that it is here
  }
}));

/// A right one that sends the process a signal in its fifth launch, while samples are taken.
Kernel signalling(const std::string& name, int number) {
  return cpu_kernel(name, [number, launches = std::make_shared<int>(0)](const Problem& p) {
    multiply(p);
    if (++*launches == 5) {
      std::raise(number);
    }
  });
}
const KernelRegistration sends_sigint(signalling("sends_sigint", SIGINT));
const KernelRegistration sends_sigterm(signalling("sends_sigterm", SIGTERM));

const KernelRegistration right(cpu_kernel("right", multiply));

/// One that says that it computes transposed operands and batches.
Kernel for_every_layout(const std::string& name, const std::function<void(const Problem&)>& multiply) {
  Kernel kernel = cpu_kernel(name, multiply);
  kernel.takes_every_layout = true;
  return kernel;
}

const KernelRegistration ignores_transposition(for_every_layout("ignores_transposition", [](const Problem& p) {
  for (std::int64_t index = 0; index < p.batch; ++index) {
    multiply(product_of(p, index));
  }
}));

const KernelRegistration first_product_alone(for_every_layout("first_product_alone", multiply));

// Products on several ranks, one of which goes wrong: rank 1 where ranks are processes, and the first to come where
// they are threads.

bool on_the_wrong_rank() {
  static std::atomic<bool> first = true;
  const std::optional<Launch> launch = find_launch();
  return launch ? launch->rank == 1 : first.exchange(false);
}

/// What ranks run on their parts of a product. It is right but for what `misbehave` does.
Kernel part(const std::string& name, void (*misbehave)()) {
  Kernel kernel = launched_by(Target::for_executor, [misbehave](const Problem& p, cudaStream_t) {
    if (on_the_wrong_rank()) {
      misbehave();
    }
    multiply(p);
  });
  kernel.name = name;
  return kernel;
}

Kernel of_ranks(const std::string& name, const std::string& local) {
  Kernel kernel = fake_kernel(-1, name);
  kernel.local_kernel = local;
  return kernel;
}

/// NAME_ranks, whose ranks run NAME_part.
struct RanksRegistration {
  RanksRegistration(const std::string& name, void (*misbehave)())
      : local(part(name + "_part", misbehave)), spread(of_ranks(name + "_ranks", name + "_part")) {}

  KernelRegistration local;
  KernelRegistration spread;
};

const RanksRegistration throwing("throwing", [] { throw std::runtime_error("out of order"); });
const RanksRegistration hanging("hanging", [] { std::this_thread::sleep_for(std::chrono::hours(1)); });
const RanksRegistration leaving("leaving", [] { std::exit(5); });
const RanksRegistration crashing("crashing", [] { std::raise(SIGSEGV); });

}  // namespace
}  // namespace sgemm
