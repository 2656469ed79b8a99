#include "bench/gpu/modes.hpp"

#include <utility>

namespace sgemm {
namespace {

/// One kernel's configurations on one operand set.
class ConfigurationBench final : public TuningBench {
 public:
  ConfigurationBench(GpuSession& gpu, const GpuCase& item, const Guard& guard)
      : gpu_(gpu), item_(item), guard_(guard) {}

  Prepared prepare(const Configuration& configuration) override {
    Prepared prepared;
    guard_([&] { prepared = GpuSession::prepare(item_.kernel, configuration); });
    return prepared;
  }

  void verify(const Prepared& prepared, std::string_view when) override {
    guard_([&] {
      gpu_.run_once(prepared, item_.operands, Owner::kernel);
      gpu_.verify(item_, 0, when);
    });
  }

  Round round_of(const std::vector<Prepared>& all) override {
    std::vector<Contender> contenders;
    for (const Prepared& each : all) {
      contenders.push_back({each, Owner::kernel});
    }
    return gpu_.round_of(item_.operands, std::move(contenders));
  }

 private:
  GpuSession& gpu_;
  const GpuCase& item_;
  const Guard& guard_;
};

}  // namespace

TuningResult try_configurations(GpuSession& gpu, const GpuCase& item, const Guard& guard) {
  gpu.reference(item.operands, item.observer);  // before workspaces take the memory that it needs
  const Problem problem = gpu.on_device(item.operands).problem.operands(Owner::kernel);
  ConfigurationBench bench(gpu, item, guard);
  TuningResult result;
  result.trials =
      try_all(item.kernel.build(Target::for_gpu).configurations(problem), bench, gpu.sampling(1), item.observer);
  result.best = best_of(result.trials, item.kernel.id(), problem);
  return result;
}

}  // namespace sgemm
