#include "cli/exit_status.hpp"

#include "base/interrupt.hpp"
#include "base/usage_error.hpp"

#include <algorithm>
#include <exception>
#include <iostream>
#include <ranges>

#include <fmt/format.h>

namespace sgemm {

ExitStatus exit_status(const std::map<Outcome, int>& counts) {
  if (interrupted()) {
    return INTERRUPTED;
  }
  const auto outcomes = std::views::keys(counts);
  if (std::ranges::any_of(outcomes, went_wrong)) {
    return CASES_WRONG;
  }
  return std::ranges::any_of(outcomes, ended_well) ? ALL_WELL : NOTHING_MEASURED;
}

int status_of_error() {
  try {
    throw;
  } catch (const UsageError& error) {
    std::cerr << fmt::format("{}runner: {}\n", error.details(), error.what());
    return BAD_USAGE;
  } catch (const std::exception& error) {
    std::cerr << fmt::format("runner: {}\n", error.what());
    return interrupted() ? INTERRUPTED : CASES_WRONG;
  }
}

}  // namespace sgemm
