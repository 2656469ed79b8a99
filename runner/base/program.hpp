#pragma once

#include "base/interrupt.hpp"

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
  bool out_of_time = false;  ///< whether it was ended because it took too long
};

/// What a program is run with.
struct ProgramLimits {
  std::vector<std::string> variables;              ///< "NAME=value", added to the environment of this process
  std::optional<double> seconds;                   ///< after which it is ended; nothing for as long as it likes
  StopToken stop;                                  ///< ends it as well
  std::vector<std::filesystem::path> left_behind;  ///< removed where it is ended, by this process's own end as well
};

/// The program's file: `name` itself where it has a slash, or what PATH has of that name. Nothing where there is none.
std::optional<std::filesystem::path> find_program(const std::string& name);

/// The program that a variable of the environment names, or else the first of `names` that is there; empty ones are
/// not. Throws UsageError where the variable names none.
std::optional<std::filesystem::path> find_chosen_program(const char* variable,
                                                         std::initializer_list<std::string> names);

/// Runs the program words[0], which is looked for on PATH where it has no slash, with the other words as arguments, and
/// waits for its end, with which all ends that it has started. Throws std::system_error where it can not be started,
/// CaseStopped where a stop was requested.
ProgramResult run_program(const std::vector<std::string>& words, const ProgramLimits& limits = {});

/// The name of a file for another program to write, in a folder of its own that goes when this does.
class TemporaryFile {
 public:
  /// Throws std::system_error where the folder can not be made.
  explicit TemporaryFile(const std::string& name);
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  const std::filesystem::path& path() const { return path_; }
  /// All that the file holds; empty where there is no such file.
  std::string content() const;

 private:
  std::filesystem::path folder_;
  std::filesystem::path path_;
};

}  // namespace sgemm
