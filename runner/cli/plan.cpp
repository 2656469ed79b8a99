#include "cli/plan.hpp"

#include "base/usage_error.hpp"

#include <functional>
#include <regex>

#include <fmt/format.h>

namespace sgemm {
namespace {

std::function<bool(const std::string&)> matcher(std::string_view filter) {
  if (filter.empty() || filter == "all") {
    return [](const std::string&) { return true; };
  }
  const bool negative = filter.front() == '-';
  try {
    const std::regex pattern(std::string(filter.substr(negative ? 1 : 0)), std::regex::extended);
    return [pattern, negative](const std::string& name) { return std::regex_search(name, pattern) != negative; };
  } catch (const std::regex_error& error) {
    throw UsageError(fmt::format("--benchmark_filter: '{}' is no regular expression ({})", filter, error.what()));
  }
}

}  // namespace

std::vector<Case> make_plan(const std::vector<const Kernel*>& kernels, const std::vector<Size>& sizes,
                            const std::vector<Distribution>& data, std::string_view filter) {
  const auto matches = matcher(filter);
  std::vector<std::optional<Distribution>> kinds(data.begin(), data.end());
  if (kinds.empty()) {
    kinds.emplace_back();
  }
  std::vector<Case> plan;
  for (const Size& size : sizes) {
    for (const std::optional<Distribution>& kind : kinds) {
      for (const Kernel* const kernel : kernels) {
        const Case item{kernel, size, kind};
        if (matches(item.name())) {
          plan.push_back(item);
        }
      }
    }
  }
  return plan;
}

std::vector<Case> plan_of(const Options& options, const std::vector<const Kernel*>& kernels, bool on_gpu,
                          std::string_view filter) {
  const Mode mode = options.protocol.mode;
  const std::vector<Size> sizes = parse_sizes(options.sizes ? *options.sizes : default_sizes(mode, on_gpu));
  const std::vector<Distribution> kinds = mode == Mode::accuracy ? options.protocol.data : std::vector<Distribution>{};
  std::vector<Case> plan = make_plan(kernels, sizes, kinds, filter);
  if (plan.empty()) {
    throw UsageError(fmt::format("--benchmark_filter: no case matches '{}'", filter));
  }
  if (options.trace && plan.size() > 1) {
    throw UsageError(
        fmt::format("--trace: a page shows one kernel at one size, and these are {} cases ({}, {}, ...); run the "
                    "runner once for each page",
                    plan.size(), plan[0].name(), plan[1].name()));
  }
  return plan;
}

bool is_for_gpus(const std::vector<Case>& plan) {
  return std::any_of(plan.begin(), plan.end(), [](const Case& item) { return item.kernel->platform == Platform::gpu; });
}

}  // namespace sgemm
