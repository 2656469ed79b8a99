#include "cli/exit_status.hpp"

#include "base/interrupt.hpp"
#include "base/usage_error.hpp"

#include <exception>
#include <iostream>

#include <fmt/format.h>

namespace sgemm {

ExitStatus exit_status(const std::map<Outcome, int>& counts) {
  if (interrupted()) {
    return INTERRUPTED;
  }
  bool wrong = false;
  bool well = false;
  for (const auto& [outcome, count] : counts) {
    wrong = wrong || went_wrong(outcome);
    well = well || ended_well(outcome);
  }
  return wrong ? CASES_WRONG : well ? ALL_WELL : NOTHING_MEASURED;
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
