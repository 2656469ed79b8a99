#include "cli/exit_status.hpp"

#include "base/interrupt.hpp"
#include "base/usage_error.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <iostream>

#include <fmt/format.h>

namespace sgemm {

ExitStatus exit_status(const std::map<Outcome, int>& counts) {
  if (interrupted()) {
    return INTERRUPTED;
  }
  constexpr std::array WRONG{Outcome::incorrect, Outcome::implausible, Outcome::failed};
  const auto ended_so = [&](Outcome outcome) { return counts.contains(outcome); };
  if (std::any_of(WRONG.begin(), WRONG.end(), ended_so)) {
    return CASES_WRONG;
  }
  constexpr std::array DONE{Outcome::measured, Outcome::sustained, Outcome::executed,
                            Outcome::compared, Outcome::counted,   Outcome::profiled};
  return std::any_of(DONE.begin(), DONE.end(), ended_so) ? ALL_WELL : NOTHING_MEASURED;
}

ExitStatus without_device(std::string_view flag, std::string_view why) {
  std::cerr << fmt::format("runner: {} needs a usable CUDA device: {}\n", flag, why);
  return NOTHING_MEASURED;
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
