#include "bench/configuration_choice.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

namespace sgemm {

namespace {

std::string chosen_by_model(std::string_view configuration) {
  return configuration.empty() ? "" : fmt::format("{}, by cost model", configuration);
}

}  // namespace

ConfigurationChoice choose(const std::vector<Configuration>& configurations, const TuningEntry* tuned) {
  const Configuration& own = configurations.front();
  if (tuned == nullptr || (own.name.empty() && tuned->configuration.empty())) {
    return {own, chosen_by_model(own.name), {}};
  }
  const auto found = std::find_if(configurations.begin(), configurations.end(),
                                  [&](const Configuration& each) { return each.name == tuned->configuration; });
  if (found == configurations.end()) {
    return {own, chosen_by_model(own.name),
            fmt::format("{} for {} has no configuration '{}' any more, which the tuning file names: the kernel chose",
                        tuned->kernel, to_string(tuned->size), tuned->configuration)};
  }
  return {*found, fmt::format("{}, tuned", found->name), {}};
}

void describe_own_choice(const Kernel& kernel, const Configuration& configuration, Record& record) {
  record.detail = kernel.tunable ? chosen_by_model(configuration.name) : configuration.name;
  record.workspace_bytes = configuration.workspace_bytes;
}

}  // namespace sgemm
