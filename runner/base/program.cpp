#include "base/program.hpp"

#include "base/kept_program.hpp"
#include "base/usage_error.hpp"
#include "base/words.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <system_error>

#include <fmt/format.h>

namespace sgemm {
namespace {

constexpr auto POLL = std::chrono::milliseconds(50);

/// The program's file: `name` itself where it has a slash, or what PATH has of that name. Nothing where there is none.
std::optional<std::filesystem::path> find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) {
    return access(name.c_str(), X_OK) == 0 ? std::optional<std::filesystem::path>(name) : std::nullopt;
  }
  const char* const path = std::getenv("PATH");
  for (const std::string_view folder : split(path == nullptr ? "" : path, ':')) {
    const std::filesystem::path file = std::filesystem::path(folder) / name;
    if (access(file.c_str(), X_OK) == 0) {
      return file;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::filesystem::path> find_chosen_program(const char* variable,
                                                         std::initializer_list<std::string> names) {
  if (const char* const chosen = std::getenv(variable); chosen != nullptr && *chosen != '\0') {
    std::optional<std::filesystem::path> found = find_program(chosen);
    if (!found) {
      throw UsageError(fmt::format("${} is {}, and there is no such program", variable, chosen));
    }
    return found;
  }
  for (const std::string& name : names) {
    if (auto found = name.empty() ? std::nullopt : find_program(name)) {
      return found;
    }
  }
  return std::nullopt;
}

ProgramResult run_program(const std::vector<std::string>& words, const ProgramLimits& limits) {
  std::array<int, 2> pipe{};
  if (pipe2(pipe.data(), O_CLOEXEC) != 0) {
    throw std::system_error(errno, std::generic_category(), "pipe");
  }
  std::vector<std::string> all = words;
  if (!limits.ulimits.empty()) {
    const std::string script = fmt::format("{{ {}; }} 2>&-; exec \"$0\" \"$@\"", limits.ulimits);
    all.insert(all.begin(), {"sh", "-c", script});
  }
  KeptProgram program;
  try {
    program = KeptProgram({all.front(),
                           all,
                           limits.variables,
                           {{pipe[1], STDOUT_FILENO}, {pipe[1], STDERR_FILENO}},
                           limits.left_behind,
                           {}});
  } catch (...) {
    close(pipe[0]);
    close(pipe[1]);
    throw;
  }
  close(pipe[1]);
  ProgramResult result;
  const auto begin = std::chrono::steady_clock::now();
  const auto is_late = [&] { return limits.most && std::chrono::steady_clock::now() - begin > *limits.most; };
  while (read_some(pipe[0], POLL, result.output)) {
    if (limits.stop.requested() || is_late()) {
      program.signal(SIGKILL);
      break;
    }
  }
  close(pipe[0]);
  while (!limits.stop.requested() && !is_late() && !program.ends_within(POLL)) {  // it may have closed its output
  }
  if (is_late()) {
    program.signal(SIGKILL);
    result.output += fmt::format("{} was ended after {} s\n", words.front(), limits.most->count());
  }
  const int state = program.end();
  limits.stop.check();
  constexpr int SIGNALLED = 128;
  result.status = WIFSIGNALED(state) ? SIGNALLED + WTERMSIG(state) : WEXITSTATUS(state);
  return result;
}

TemporaryFolder::TemporaryFolder(const std::filesystem::path& parent) {
  std::error_code error;
  std::string folder =
      ((parent.empty() ? std::filesystem::temp_directory_path(error) : parent) / "sgemm-XXXXXX").string();
  if (error || mkdtemp(folder.data()) == nullptr) {
    throw UsageError(fmt::format("can not make a folder for temporary files: {}{}",
                                 error ? error.message() : std::strerror(errno),
                                 parent.empty() ? " ($TMPDIR names where)" : " in " + parent.string()));
  }
  path_ = folder;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace sgemm
