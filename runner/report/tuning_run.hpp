#pragma once

#include "base/interrupt.hpp"
#include "base/outcome.hpp"
#include "bench/tuner.hpp"
#include "cli/exit_status.hpp"
#include "cli/options.hpp"
#include "cli/plan.hpp"
#include "device/device.hpp"
#include "host/kernel.hpp"
#include "problem/sizes.hpp"
#include "report/console.hpp"
#include "timing/sampling.hpp"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace sgemm {

/// The kernels of `selected` that can be tuned. `expression` selected them. Throws UsageError if none can be tuned, and
/// if one can not, unless `expression` is "all". The message names the kernels of `available` that can be tuned.
std::vector<const Kernel*> tunable(const std::vector<const Kernel*>& selected, std::string_view expression,
                                   const std::vector<Kernel>& available);

/// The case as a table, the fastest first, in lines of at most `width` columns (0 for no limit).
std::vector<std::string> tuning_report(std::string_view kernel, const Size& size, const TuningResult& result,
                                       std::size_t width);

/// --tune on the plan: finds out on the GPU and stores.
ExitStatus run_tuning(const Options& options, const DeviceQuery& query, const std::vector<Case>& plan);

/// Tunes case by case, prints each case and stores the best configuration in the file at `path`, until `stop` is
/// requested. Returns the number of each outcome: of configurations in cases where some were tried, and of the other
/// cases. `context` is that of a results file.
std::map<Outcome, int> tune(const std::vector<Case>& plan,
                            const std::function<TuningResult(const Case&, const Observer&)>& run,
                            const std::filesystem::path& path, const nlohmann::ordered_json& context, Console& console,
                            StopToken stop);

}  // namespace sgemm
