#pragma once

#include "base/interrupt.hpp"

#include <chrono>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

namespace sgemm {

/// How another program ended, and what it wrote to its standard output and error, in that order of time.
struct ProgramResult {
  int status = 0;  ///< its exit status; 128 + the signal that ended it
  std::string output;
};

/// What a program is run with.
struct ProgramLimits {
  std::vector<std::string> variables;              ///< "NAME=value", added to the environment of this process
  StopToken stop;                                  ///< ends it
  std::optional<std::chrono::seconds> most;        ///< it is ended then, and its output says so
  std::vector<std::filesystem::path> left_behind;  ///< removed where it is ended, by this process's own end as well
  std::string ulimits = {};                        ///< commands of sh, from which the program starts with its limits
};

/// The program that a variable of the environment names, or else the first of `names` that is there; empty ones are
/// not. Throws UsageError where the variable names none.
std::optional<std::filesystem::path> find_chosen_program(const char* variable,
                                                         std::initializer_list<std::string> names);

/// Runs the program words[0], which is looked for on PATH where it has no slash, with the other words as arguments, and
/// waits for its end, with which all ends that it has started. Throws std::system_error where it can not be started,
/// CaseStopped where a stop was requested.
ProgramResult run_program(const std::vector<std::string>& words, const ProgramLimits& limits = {});

/// A folder of its own for the files of other programs, which goes when this does.
class TemporaryFolder {
 public:
  /// In `parent`, or where $TMPDIR says. Throws UsageError where it can not be made.
  explicit TemporaryFolder(const std::filesystem::path& parent = {});
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace sgemm
