#include "base/program.hpp"

#include "base/split.hpp"
#include "base/usage_error.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <system_error>

#include <fmt/format.h>

extern char** environ;

namespace sgemm {
namespace {

using Clock = std::chrono::steady_clock;

/// Starts the program with `output` as its standard output and error.
pid_t start(const std::vector<std::string>& words, int output, const std::optional<ProgramLimits>& limits) {
  const std::vector<std::string> variables = environment_with(limits ? limits->variables : std::vector<std::string>());
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  if (limits) {
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  }
  pid_t child = 0;
  const int error = posix_spawnp(&child, words.front().c_str(), &actions, &attributes, pointers_to(words).data(),
                                 pointers_to(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) {
    throw std::system_error(error, std::generic_category(), words.front());
  }
  return child;
}

/// Appends what the pipe has to `output`. Returns false at its end, true after a while without anything as well.
bool read_some(int pipe, std::string& output) {
  constexpr int POLL_MS = 50;
  pollfd descriptor{pipe, POLLIN, 0};
  const int ready = poll(&descriptor, 1, POLL_MS);
  if (ready <= 0) {
    return ready == 0 || errno == EINTR;
  }
  std::array<char, 4096> part{};
  const ssize_t length = read(pipe, part.data(), part.size());
  output.append(part.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
  return length > 0 || (length < 0 && errno == EINTR);
}

}  // namespace

std::vector<std::string> environment_with(const std::vector<std::string>& variables) {
  std::vector<std::string> all;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    all.emplace_back(*variable);
  }
  all.insert(all.end(), variables.begin(), variables.end());
  return all;
}

std::vector<char*> pointers_to(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (const std::string& word : words) {
    pointers.push_back(const_cast<char*>(word.c_str()));  // not written to
  }
  pointers.push_back(nullptr);
  return pointers;
}

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

ProgramResult run_program(const std::vector<std::string>& words, const std::optional<ProgramLimits>& limits) {
  std::array<int, 2> pipe{};
  if (pipe2(pipe.data(), O_CLOEXEC) != 0) {
    throw std::system_error(errno, std::generic_category(), "pipe");
  }
  pid_t child = 0;
  try {
    child = start(words, pipe[1], limits);
  } catch (...) {
    close(pipe[0]);
    close(pipe[1]);
    throw;
  }
  close(pipe[1]);
  ProgramResult result;
  const Clock::time_point begin = Clock::now();
  while (read_some(pipe[0], result.output)) {
    const std::chrono::duration<double> taken = Clock::now() - begin;
    result.out_of_time = limits && limits->seconds && taken.count() > *limits->seconds;
    if (limits && (result.out_of_time || limits->stop.requested())) {
      kill(-child, SIGKILL);
      break;
    }
  }
  close(pipe[0]);
  int state = 0;
  while (waitpid(child, &state, 0) < 0 && errno == EINTR) {
  }
  if (limits) {
    limits->stop.check();
  }
  constexpr int SIGNALLED = 128;
  result.status = WIFSIGNALED(state) ? SIGNALLED + WTERMSIG(state) : WEXITSTATUS(state);
  return result;
}

}  // namespace sgemm
