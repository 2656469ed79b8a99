#include "ranks/ranks_bench.hpp"

#include "base/outcome.hpp"
#include "base/statistics.hpp"
#include "judge/limits.hpp"
#include "ranks/thread_team.hpp"
#include "record/record.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace sgemm {
namespace {

const Kernel& local_kernel(const Kernel& kernel) {
  const Kernel* const found = find_kernel(kernel.local_kernel);
  if (!found) {
    throw CaseStopped(Outcome::not_supported, kernel.local_kernel + " is not in this build");
  }
  return *found;
}

/// Throws CaseStopped with the rank and its reason where one was stopped. A rank that is the cause comes first.
void expect_done(const std::vector<RankReply>& replies, const StopToken& stop) {
  const auto worst = std::max_element(replies.begin(), replies.end(), [](const RankReply& x, const RankReply& y) {
    const auto weight = [](const RankReply& reply) { return reply.stopped ? reply.cause_elsewhere ? 1 : 2 : 0; };
    return weight(x) < weight(y);
  });
  if (worst->stopped) {
    if (worst->cause_elsewhere) {
      stop.check();
    }
    throw CaseStopped(worst->outcome, fmt::format("rank {}: {}", worst - replies.begin(), worst->reason.data()));
  }
}

/// Frees the ranks' memory at the end of a case, whatever its end is.
class Job {
 public:
  Job(Team& team, std::optional<double> seconds) : team_(team), seconds_(seconds) {}
  ~Job() {
    if (!team_.lost()) {
      team_.all({RankOrder::tear_down, {}, seconds_});
    }
  }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

 private:
  Team& team_;
  const std::optional<double> seconds_;
};

std::string received_text(double bytes) {
  constexpr double MB = 1e6;
  constexpr double KB = 1e3;
  return bytes >= MB ? fmt::format("{:.1f} MB", bytes / MB) : fmt::format("{:.1f} kB", bytes / KB);
}

}  // namespace

RanksBench::RanksBench(const Protocol& protocol, const RankSettings& settings, const std::optional<Device>& device,
                       StopToken stop)
    : protocol_(protocol), settings_(settings), device_(device), stop_(stop) {}

Team& RanksBench::team() {
  if (!team_) {
    if (settings_.make_team) {
      team_ = settings_.make_team(device_.has_value(), settings_.seconds, stop_);
    } else if (device_) {
      team_ = make_gpu_team(settings_.options, stop_);
    } else {
      team_ = std::make_unique<ThreadTeam>(settings_.options.gpus.value_or(HOST_RANKS), host_parts(), stop_);
    }
    for (const std::string& address : team_->gpu_addresses()) {
      if (std::unique_ptr<Telemetry> telemetry = Telemetry::open(address)) {
        telemetry_.push_back(std::move(telemetry));
      }
    }
  }
  return *team_;
}

std::vector<RankReply> RanksBench::order(RankOrder what, const RankJob& job) {
  std::vector<RankReply> replies = team().all({what, job, settings_.seconds});
  expect_done(replies, stop_);
  return replies;
}

void RanksBench::require(const Kernel& kernel, OperandSet& operands) {
  if (lost()) {
    throw CaseStopped(Outcome::skipped, "a case before this one ended with ranks that take no orders any more");
  }
  const Kernel& local = local_kernel(kernel);
  const std::string_view of_one_gpu = protocol_.check                   ? "--check looks at"
                                      : protocol_.mode == Mode::count   ? "--count looks at"
                                      : protocol_.energy                ? "--energy measures"
                                      : protocol_.mode == Mode::sustain ? "--sustain measures"
                                                                        : "";
  if (!of_one_gpu.empty()) {
    throw CaseStopped(Outcome::not_supported,
                      fmt::format("{} one GPU: take {}, which each of them runs", of_one_gpu, local.id()));
  }
  if (protocol_.time == TimeMode::end_to_end) {
    throw CaseStopped(Outcome::not_supported, "operands are where they are needed: no copies from the host are timed");
  }
  if (device_) {
    require_code_for(*device_, local);
  }
  if (operands.shape.m * operands.shape.n == 0) {
    throw CaseStopped(Outcome::not_supported, "there is nothing to compute");
  }
}

void RanksBench::run(const Kernel& kernel, OperandSet& operands, const Observer& observer, Record& record) {
  operands.device.reset();  // kernels before this one may have filled GPU 0
  observer("preparing");
  const Kernel& local = local_kernel(kernel);
  RankJob job;
  job.shape = operands.shape;
  job.data = operands.data;
  job.seed = protocol_.seed;
  job.grid = settings_.options.grid.value_or(best_grid(operands.shape, team().size()));
  job.local_kernel = static_cast<int>(&local - kernels().data());
  job.accuracy = kernel.accuracy;
  job.cold_l2 = protocol_.l2 == L2State::cold;
  job.verify = protocol_.verify;
  job.alone = device_ && protocol_.mode == Mode::measure;
  const Job ended(team(), settings_.seconds);
  order(RankOrder::set_up, job);

  Spread spread;
  spread.gpus = team().size();
  spread.grid = job.grid;
  spread.exchange = team().exchange();
  spread.received_bytes = sizeof(float) * most_floats_received(job.shape, job.grid);
  record.detail = fmt::format("{} {} as {}x{}, {}", spread.gpus, device_ ? spread.gpus == 1 ? "GPU" : "GPUs" : "ranks",
                              job.grid.rows, job.grid.columns, local.id() + " on each");
  record.spread = to_json(spread);
  if (protocol_.verify || !job.alone) {
    compute_and_check(RankOrder::run_fresh, "", observer, record);
  }
  if (!job.alone) {
    record.outcome = protocol_.mode == Mode::accuracy ? Outcome::compared : Outcome::executed;
    return;
  }
  measure(kernel, observer, operands.size, spread, record);
}

void RanksBench::compute_and_check(RankOrder run, std::string_view when, const Observer& observer, Record& record) {
  stop_.check();
  observer(device_ ? "computing" : "executing");
  order(run);
  if (!protocol_.verify) {
    return;
  }
  stop_.check();
  observer("verifying");
  Verdict verdict;
  for (const RankReply& reply : order(RankOrder::check)) {
    verdict.join(reply.verdict);
  }
  record.judge(verdict, when);
}

void RanksBench::measure(const Kernel& kernel, const Observer& observer, const Size& size, Spread spread,
                         Record& record) {
  const Round round = [this](const std::vector<int>& turns, int) {
    std::vector<double> times(2, 0.0);
    for (const int contender : turns) {
      times[static_cast<std::size_t>(contender)] =
          run_us(order(contender == 0 ? RankOrder::run : RankOrder::run_alone), team().common_clock());
    }
    return times;
  };
  for (const std::unique_ptr<Telemetry>& gpu : telemetry_) {
    spread.telemetry.emplace_back(gpu->sample(), TelemetrySample{});
  }
  Timings timings = take_samples(round, {2, false, protocol_.max_seconds, protocol_.seed, stop_}, observer);
  for (std::size_t i = 0; i < telemetry_.size(); ++i) {
    spread.telemetry[i].second = telemetry_[i]->sample();
  }
  if (!telemetry_.empty()) {
    record.telemetry = to_json(spread.telemetry.front().first, spread.telemetry.front().second);
  }
  if (protocol_.verify) {
    // The last sample may be the ceiling's, so the product is computed once more.
    compute_and_check(RankOrder::run, "after timing: ", observer, record);
  }
  const Summary ratio = summarize(timings.ratios(), CONFIDENCE);
  spread.of_ceiling = ratio.median;
  spread.of_ceiling_ci = ratio.ci;
  spread.ceiling_us = std::exchange(timings.rival_us, {});
  Measurement measurement = measurement_of(std::move(timings), size);
  if (device_) {
    const Circumstances circumstances{Circumstances::Operands::unknown, spread.gpus};
    require_possible(measurement.time_us.median,
                     limits_of(*device_, shape_of(size, protocol_.alpha, protocol_.beta), kernel, circumstances));
  }
  record.measurement = std::move(measurement);
  record.spread = to_json(spread);
  record.note = fmt::format("  {}: {:.3f} of what the GPUs reach without an exchange; each receives {} at most",
                            record.detail, *spread.of_ceiling, received_text(spread.received_bytes));
}

BenchMaker ranks_bench_maker(const RankSettings& settings) {
  return [settings](const Protocol& protocol, const std::optional<Device>& device, StopToken stop) {
    return std::make_unique<RanksBench>(protocol, settings, device, stop);
  };
}

}  // namespace sgemm
