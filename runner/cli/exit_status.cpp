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
  if (counts.contains(Outcome::incorrect) || counts.contains(Outcome::failed)) {
    return CASES_WRONG;
  }
  constexpr std::array DONE{Outcome::measured, Outcome::sustained, Outcome::executed,
                            Outcome::compared, Outcome::counted,   Outcome::profiled};
  const bool any = std::any_of(DONE.begin(), DONE.end(), [&](Outcome outcome) { return counts.contains(outcome); });
  return any ? ALL_WELL : NOTHING_MEASURED;
}

ExitStatus without_device(std::string_view flag, std::string_view why) {
  std::cerr << fmt::format("runner: {} needs a usable CUDA device: {}\n", flag, why);
  return NOTHING_MEASURED;
}

int status_of(const std::function<int()>& work) {
  try {
    return work();
  } catch (const UsageError& error) {
    std::cerr << fmt::format("{}runner: {}\n", error.details(), error.what());
    return BAD_USAGE;
  } catch (const std::exception& error) {
    std::cerr << fmt::format("runner: {}\n", error.what());
    return interrupted() ? INTERRUPTED : CASES_WRONG;
  }
}

}  // namespace sgemm
