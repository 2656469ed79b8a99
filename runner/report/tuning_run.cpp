#include "report/tuning_run.hpp"

#include "base/statistics.hpp"
#include "base/usage_error.hpp"
#include "bench/case_runner.hpp"
#include "bench/tuning_file.hpp"
#include "record/environment.hpp"
#include "report/heading.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sgemm {
namespace {

/// Median of the ratios of paired samples: how many times faster than the kernel's own choice.
std::optional<double> speedup(const Trial& model, const Trial& trial) {
  const std::size_t pairs = std::min(model.times_us.size(), trial.times_us.size());
  if (model.outcome != Outcome::measured || pairs == 0) {
    return std::nullopt;
  }
  std::vector<double> ratios(pairs);
  std::transform(trial.times_us.begin(), trial.times_us.begin() + static_cast<std::ptrdiff_t>(pairs),
                 model.times_us.begin(), ratios.begin(), [](double time, double of_model) { return of_model / time; });
  return median(std::move(ratios));
}

std::string shown_name(const Trial& trial) { return trial.configuration.empty() ? "(default)" : trial.configuration; }

}  // namespace

std::vector<const Kernel*> tunable(const std::vector<const Kernel*>& selected, std::string_view expression,
                                   const std::vector<Kernel>& available) {
  std::vector<std::string> ids;
  for (const Kernel& kernel : available) {
    if (kernel.tunable) {
      ids.push_back(kernel.id());
    }
  }
  if (ids.empty()) {
    throw UsageError("--tune: no kernel has configurations to choose from");
  }
  std::vector<const Kernel*> result;
  for (const Kernel* const kernel : selected) {
    if (kernel->tunable) {
      result.push_back(kernel);
    } else if (expression != "all") {
      throw UsageError(fmt::format("--tune: {} has no configurations to choose from; those that have: {}", kernel->id(),
                                   fmt::join(ids, ", ")));
    }
  }
  return result;
}

std::vector<std::string> tuning_report(std::string_view kernel, const Size& size, const TuningResult& result,
                                       std::size_t width) {
  const std::string title = fmt::format("{} {}", kernel, to_string(size));
  if (result.outcome != Outcome::measured) {
    return {with_reason(fmt::format("{}  {}:", title, to_string(result.outcome)), " ", result.reason, width)};
  }
  std::vector<const Trial*> order;
  std::size_t name_width = std::string_view("configuration").size();
  for (const Trial& trial : result.trials) {
    order.push_back(&trial);
    name_width = std::max(name_width, shown_name(trial).size());
  }
  const auto rank = [](const Trial* trial) {
    const bool measured = trial->outcome == Outcome::measured;
    return std::pair(!measured, measured ? median(trial->times_us) : 0.0);
  };
  std::stable_sort(order.begin(), order.end(), [&](const Trial* x, const Trial* y) { return rank(x) < rank(y); });

  std::vector<std::string> lines{cut(title, width), cut(fmt::format("  {:<{}}  {:>10}  {:>4}  {:>8}", "configuration",
                                                                    name_width, "time", "\u00b1%", "vs model"),
                                                        width)};
  for (const Trial* const trial : order) {
    std::string line = fmt::format("  {:<{}}  ", shown_name(*trial), name_width);
    if (trial->outcome != Outcome::measured) {
      line += fmt::format("{}: {}", to_string(trial->outcome), trial->reason);
    } else {
      const Summary time = summarize(trial->times_us, CONFIDENCE);
      const std::optional<double> ratio = speedup(result.trials.front(), *trial);
      line += fmt::format("{:>10}  {:>4.1f}  {:>8}", time_text(time.median), 100.0 * time.spread(),
                          ratio ? fmt::format("{:.3f}", *ratio) : "-");
      std::vector<std::string_view> remarks;
      if (trial == order.front()) {
        remarks.emplace_back("fastest");
      }
      if (trial == &result.trials.front()) {
        remarks.emplace_back("the model's choice");
      }
      if (trial->dropped) {
        remarks.emplace_back("dropped early");
      }
      line += fmt::format("{}{}", remarks.empty() ? "" : "  ", fmt::join(remarks, ", "));
    }
    lines.push_back(cut(line, width));
  }
  return lines;
}

std::map<Outcome, int> tune(const std::vector<Case>& plan,
                            const std::function<TuningResult(const Case&, const Observer&)>& run,
                            const std::filesystem::path& path, const nlohmann::ordered_json& context, Console& console,
                            StopToken stop) {
  std::map<Outcome, int> counts;
  int stored = 0;
  for (std::size_t i = 0; i < plan.size() && !stop.requested(); ++i) {
    const Case& item = plan[i];
    const TuningResult result = run(item, [&](std::string_view activity) {
      console.progress(fmt::format("[{}/{}] {}: {}", i + 1, plan.size(), item.name(), activity));
    });
    if (result.best) {
      add_to_tuning_file(path, context, *result.best);
      ++stored;
    }
    for (const Trial& trial : result.trials) {
      ++counts[trial.outcome];
    }
    if (result.trials.empty()) {
      ++counts[result.outcome];
    }
    console.paragraph(tuning_report(item.kernel->id(), item.size, result, console.width()));
  }
  console.note(fmt::format("{} of {} cases tuned. Tuning file: {}", stored, plan.size(), path.string()));
  return counts;
}

ExitStatus run_tuning(const Options& options, const DeviceQuery& query, const std::vector<Case>& plan) {
  if (!query.device) {
    return without_device(flag_of(Mode::tune), query.error);
  }
  const std::filesystem::path path = tuning_file_to_write(options, query.device->name);
  const StopToken stop(interrupted);
  CaseRunner runner(options.protocol, query, {}, stop);
  if (!runner.gpu_error().empty()) {
    return without_device(flag_of(Mode::tune), runner.gpu_error());
  }
  Console console = make_console(options.protocol, plan);
  console.heading(heading(options, query, runner.gpu_facts(), false, path.string()));
  return exit_status(tune(
      plan, [&](const Case& item, const Observer& observer) { return runner.tune(item, observer); }, path,
      describe_environment(options.argv, options.protocol, query, runner.gpu_facts()), console, stop));
}

}  // namespace sgemm
