#pragma once

#include "base/interrupt.hpp"
#include "base/outcome.hpp"
#include "bench/tuner.hpp"
#include "cli/plan.hpp"
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

/// The kernels of `selected` that can be tuned. Throws UsageError, which names those of `available` that can, where
/// one can not, unless `expression`, which selected them, is "all"; and where none can.
std::vector<const Kernel*> tunable(const std::vector<const Kernel*>& selected, std::string_view expression,
                                   const std::vector<Kernel>& available);

/// The case as a table, the fastest first, in lines of at most `width` columns (0 for no limit).
std::vector<std::string> tuning_report(std::string_view kernel, const Size& size, const TuningResult& result,
                                       std::size_t width);

/// Tunes case by case, prints each and stores the best in the file at `path`, until `stop` is requested. Returns how
/// many ended how: configurations where they were tried, cases where not. `context` is that of a results file.
std::map<Outcome, int> tune(const std::vector<Case>& plan,
                            const std::function<TuningResult(const Case&, const Observer&)>& run,
                            const std::filesystem::path& path, const nlohmann::ordered_json& context, Console& console,
                            StopToken stop);

}  // namespace sgemm
