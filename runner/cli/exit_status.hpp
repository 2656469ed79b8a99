#pragma once

#include "base/outcome.hpp"

#include <map>

namespace sgemm {

/// How the runner ends; --help says what each is for.
enum ExitStatus {
  ALL_WELL = 0,
  CASES_WRONG = 1,
  BAD_USAGE = 2,
  NOTHING_MEASURED = 3,
  FILE_REFUSED = 4,
  INTERRUPTED = 130,
};

/// The status of a run with so many cases of each outcome.
ExitStatus exit_status(const std::map<Outcome, int>& counts);

/// The status of the error that is being handled, which is printed in one piece: mpirun writes there as well.
int status_of_error();

}  // namespace sgemm
