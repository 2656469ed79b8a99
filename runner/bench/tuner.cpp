#include "bench/tuner.hpp"

#include "base/statistics.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include <fmt/format.h>

namespace sgemm {
namespace {

/// Calls `work` on the trial. If `work` ends the trial, the trial records how. A stop of the whole run is passed on.
void attempt(Trial& trial, const StopToken& stop, const std::function<void()>& work) {
  try {
    work();
  } catch (const CaseStopped& stopped) {
    if (stop.requested()) {
      throw;
    }
    trial.outcome = stopped.outcome();
    trial.reason = stopped.what();
  }
}

}  // namespace

std::vector<Trial> try_all(const std::vector<Configuration>& configurations, TuningBench& bench,
                           SamplingOptions options, const Observer& observer) {
  std::vector<Trial> trials;
  std::vector<Prepared> prepared;
  std::vector<std::size_t> timed;  // indices of trials
  for (const Configuration& configuration : configurations) {
    Trial& trial = trials.emplace_back();
    trial.configuration = configuration.name;
    trial.workspace_bytes = configuration.workspace_bytes;
    attempt(trial, options.stop, [&] {
      options.stop.check();
      observer(fmt::format("verifying {}", trial.configuration));
      Prepared next = bench.prepare(configuration);
      bench.verify(next, "");
      prepared.push_back(std::move(next));
      timed.push_back(trials.size() - 1);
    });
  }
  if (timed.empty()) {
    return trials;
  }
  options.contenders = static_cast<int>(timed.size());
  Comparison comparison = compare(bench.round_of(prepared), options, observer);
  std::size_t most_samples = 0;
  for (const std::vector<double>& times : comparison.times_us) {
    most_samples = std::max(most_samples, times.size());
  }
  for (std::size_t i = 0; i < timed.size(); ++i) {
    Trial& trial = trials[timed[i]];
    trial.times_us = std::move(comparison.times_us[i]);
    trial.dropped = trial.times_us.size() < most_samples;
    attempt(trial, options.stop, [&] {
      bench.verify(prepared[i], "after timing: ");
      bench.require_possible(median(trial.times_us), comparison.launches_per_sample);
    });
  }
  return trials;
}

std::optional<TuningEntry> best_of(const std::vector<Trial>& trials, std::string_view kernel, const Problem& problem) {
  TuningEntry best;
  best.kernel = kernel;
  best.size = {problem.m, problem.n, problem.k};
  best.float4_rows = has_float4_rows(problem);
  best.model_choice = trials.front().configuration;
  bool any = false;
  for (const Trial& trial : trials) {
    if (trial.outcome != Outcome::measured) {
      continue;
    }
    const double time = median(trial.times_us);
    if (&trial == &trials.front()) {
      best.model_time_us = time;
    }
    if (!any || time < best.time_us) {
      best.configuration = trial.configuration;
      best.time_us = time;
      any = true;
    }
  }
  return any ? std::optional(best) : std::nullopt;
}

}  // namespace sgemm
