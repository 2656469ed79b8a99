#pragma once

#include "bench/bench.hpp"
#include "device/device.hpp"
#include "device/telemetry.hpp"
#include "ranks/team.hpp"

#include <memory>
#include <optional>
#include <vector>

namespace sgemm {

/// How products are spread over GPUs.
struct RankSettings {
  RankOptions options;
  TeamMaker make_team = {};  ///< of processes that are ranks; null for threads of this one
  /// That an order may take: to make operands, to compute a product, to compare it. Nothing for as long as it likes.
  std::optional<double> seconds = {};
};

/// Runs kernels that spread a product over several GPUs. On GPUs they are timed beside their ceiling: the same blocks
/// of C from operands that are all in place. Without one, ranks are executed and verified.
class RanksBench final : public Bench {
 public:
  /// The protocol outlives the bench. `device` is the GPU of rank 0; nothing for ranks on the executor.
  RanksBench(const Protocol& protocol, const RankSettings& settings, const std::optional<Device>& device,
             StopToken stop);

  void require(const Kernel& kernel, OperandSet& operands) override;
  void run(const Kernel& kernel, OperandSet& operands, const Observer& observer, Record& record) override;
  /// Whether a case has left ranks that no later one can use, see Team::lost().
  bool lost() const override { return team_ && team_->lost(); }

 private:
  /// The ranks, which the first case starts.
  Team& team();
  /// Throws CaseStopped where a rank did not do as ordered.
  std::vector<RankReply> order(RankOrder what, const RankJob& job = {});
  void compute_and_check(RankOrder run, std::string_view when, const Observer& observer, Record& record);
  void measure(const Kernel& kernel, const Observer& observer, const Size& size, Spread spread, Record& record);

  const Protocol& protocol_;
  const RankSettings settings_;
  const std::optional<Device> device_;
  const StopToken stop_;
  std::vector<std::unique_ptr<Telemetry>> telemetry_;  ///< of the team's GPUs on this machine
  std::unique_ptr<Team> team_;
};

/// Makes a RanksBench for the runner, which knows its interface alone.
BenchMaker ranks_bench_maker(const RankSettings& settings);

}  // namespace sgemm
