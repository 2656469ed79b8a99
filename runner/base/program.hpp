#pragma once

#include <string>
#include <vector>

namespace sgemm {

/// How another program ended, and what it wrote to its standard output and error, in that order of time.
struct ProgramResult {
  int status = 0;  ///< its exit status; 128 + the signal that ended it
  std::string output;
};

/// Runs the program words[0], which is looked for on PATH where it has no slash, with the other words as arguments, and
/// waits for its end. Throws std::system_error where it can not be started.
ProgramResult run_program(const std::vector<std::string>& words);

}  // namespace sgemm
