#include "base/program.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

extern char** environ;

namespace sgemm {

ProgramResult run_program(const std::vector<std::string>& words) {
  std::array<int, 2> pipe{};
  if (pipe2(pipe.data(), O_CLOEXEC) != 0) {
    throw std::system_error(errno, std::generic_category(), "pipe");
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, pipe[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, pipe[1], STDERR_FILENO);
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (const std::string& word : words) {
    arguments.push_back(const_cast<char*>(word.c_str()));  // not written to
  }
  arguments.push_back(nullptr);
  pid_t child = 0;
  const int error = posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(pipe[1]);
  if (error != 0) {
    close(pipe[0]);
    throw std::system_error(error, std::generic_category(), words.front());
  }
  ProgramResult result;
  std::array<char, 4096> part{};
  ssize_t length = 0;
  while ((length = read(pipe[0], part.data(), part.size())) > 0 || (length < 0 && errno == EINTR)) {
    result.output.append(part.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
  }
  close(pipe[0]);
  int state = 0;
  while (waitpid(child, &state, 0) < 0 && errno == EINTR) {
  }
  constexpr int SIGNALLED = 128;
  result.status = WIFSIGNALED(state) ? SIGNALLED + WTERMSIG(state) : WEXITSTATUS(state);
  return result;
}

}  // namespace sgemm
