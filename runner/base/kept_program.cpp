#include "base/kept_program.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <system_error>

extern char** environ;

namespace sgemm {
namespace {

/// Words as a new process takes them. They outlive the pointers, and are not written to.
std::vector<char*> pointers_to(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (const std::string& word : words) {
    pointers.push_back(const_cast<char*>(word.c_str()));
  }
  pointers.push_back(nullptr);
  return pointers;
}

/// The error, or 0.
int spawn(const ProgramStart& start, const sigset_t& mask, pid_t& child) {
  for (char* const variable : pointers_to(start.variables)) {
    if (variable != nullptr) {
      putenv(variable);  // of the keeper, which is a process of its own
    }
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  for (const auto& [ours, theirs] : start.descriptors) {
    posix_spawn_file_actions_adddup2(&actions, ours, theirs);
  }
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  posix_spawnattr_setsigmask(&attributes, &mask);
  return posix_spawnp(&child, start.program.c_str(), &actions, &attributes, pointers_to(start.words).data(), environ);
}

/// Closes all but the standard streams and one other: no keeper holds another one's socket, or a file of the run.
void close_all_but(int kept) {
#ifdef SYS_close_range
  const auto first = static_cast<unsigned>(kept);
  if (syscall(SYS_close_range, 3U, first - 1U, 0U) == 0 && syscall(SYS_close_range, first + 1U, ~0U, 0U) == 0) {
    return;
  }
#endif
  const long most = sysconf(_SC_OPEN_MAX);
  for (int descriptor = 3; descriptor < most; ++descriptor) {
    if (descriptor != kept) {
      close(descriptor);
    }
  }
}

/// The parent of a process, as /proc tells it; 0 for one that is gone.
pid_t parent_of(const char* process) {
  std::array<char, 512> text{};
  const int file = open((std::string("/proc/") + process + "/stat").c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    return 0;
  }
  const ssize_t length = read(file, text.data(), text.size() - 1);
  close(file);
  const std::string_view line(text.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
  const std::size_t name_end = line.rfind(") ");  // a program's name may hold anything
  constexpr std::size_t TO_PARENT = 4;            // ") S "
  return name_end == std::string_view::npos ? 0 : static_cast<pid_t>(std::atoi(&text.at(name_end + TO_PARENT)));
}

void kill_children() {
  DIR* const processes = opendir("/proc");
  if (processes == nullptr) {
    return;
  }
  while (const dirent* const entry = readdir(processes)) {
    if (*entry->d_name >= '1' && *entry->d_name <= '9' && parent_of(entry->d_name) == getpid()) {
      kill(static_cast<pid_t>(std::atoi(entry->d_name)), SIGKILL);
    }
  }
  closedir(processes);
}

/// Takes the states of all that have ended, and that of `child` among them. Returns whether any are left.
bool reap(pid_t child, bool& ended, int& state) {
  int of_one = 0;
  pid_t one = 0;
  while ((one = waitpid(-1, &of_one, WNOHANG)) > 0) {
    if (one == child) {
      ended = true;
      state = of_one;
    }
  }
  return one == 0;
}

/// Above errors: of those that kept a program from being confined.
constexpr int NOT_CONFINED = 1 << 16;

void tell(int socket, int number) { send(socket, &number, sizeof(number), MSG_NOSIGNAL); }

/// Starts the program in a process that confines it, which tells whether it started and how it ended. Returns that
/// process.
pid_t spawn_confined(const ProgramStart& start, const sigset_t& mask, int socket) {
  int error = 0;
  pid_t program = 0;
  const pid_t child = fork_confined(start.confined_to, error);
  if (child != 0) {
    return child;
  }
  error = error != 0 ? NOT_CONFINED + error : spawn(start, mask, program);
  tell(socket, error);
  if (error == 0) {
    tell(socket, wait_confined(program));
  }
  _exit(0);
}

/// The keeper. Orphans of its descendants become its children, one after the other, until none is left.
[[noreturn]] void keep(const ProgramStart& start, int socket) {
  setpgid(0, 0);
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);
  struct sigaction action {};
  action.sa_handler = [](int) {};  // so that it ends ppoll()
  sigaction(SIGCHLD, &action, nullptr);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  pid_t child = 0;
  if (start.confined_to.empty()) {
    const int error = spawn(start, before, child);
    tell(socket, error);
    if (error != 0) {
      _exit(0);
    }
  } else if ((child = spawn_confined(start, before, socket)) < 0) {
    tell(socket, NOT_CONFINED + errno);
    _exit(0);
  }
  close_all_but(socket);
  sigset_t but_children = all;
  sigdelset(&but_children, SIGCHLD);
  bool ended = false;
  bool asked = false;
  int state = 0;
  while (reap(child, ended, state) && !ended && !asked) {
    pollfd descriptor{socket, POLLIN, 0};
    unsigned char number = 0;
    if (ppoll(&descriptor, 1, nullptr, &but_children) > 0) {
      asked = recv(socket, &number, 1, 0) <= 0;
      kill(child, asked ? SIGKILL : number);
    }
  }
  const bool cut_short = asked || !ended;  // it may have ended by now because it was asked for
  kill(-child, SIGKILL);
  do {
    kill_children();
    usleep(1000);
  } while (reap(child, ended, state));
  for (const std::filesystem::path& path : start.left_behind) {
    std::error_code ignored;
    if (cut_short) {
      std::filesystem::remove_all(path, ignored);
    }
  }
  tell(socket, state);
  _exit(0);
}

/// What the keeper tells; nothing where it is gone.
bool hear(int socket, int& number) {
  while (true) {
    const ssize_t length = recv(socket, &number, sizeof(number), MSG_WAITALL);
    if (length >= 0 || errno != EINTR) {
      return length == sizeof(number);
    }
  }
}

}  // namespace

bool read_some(int descriptor, std::chrono::milliseconds time, std::string& output) {
  pollfd polled{descriptor, POLLIN, 0};
  const int ready = poll(&polled, 1, static_cast<int>(time.count()));
  if (ready <= 0) {
    return ready == 0 || errno == EINTR;
  }
  std::array<char, 65536> part{};
  const ssize_t length = read(descriptor, part.data(), part.size());
  output.append(part.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
  return length > 0 || (length < 0 && errno == EINTR);
}

KeptProgram::KeptProgram(const ProgramStart& start) {
  std::array<int, 2> sockets{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()) != 0) {
    throw std::system_error(errno, std::generic_category(), "socketpair");
  }
  keeper_ = fork();
  int error = errno;
  if (keeper_ == 0) {
    close(sockets[0]);
    keep(start, sockets[1]);
  }
  close(sockets[1]);
  socket_ = sockets[0];
  if (keeper_ > 0 && !hear(socket_, error)) {
    error = ECHILD;
  }
  if (keeper_ < 0 || error != 0) {
    keeper_ = std::max(keeper_, 0);
    end();
    if (error >= NOT_CONFINED) {
      throw CanNotConfine(std::strerror(error - NOT_CONFINED));
    }
    throw std::system_error(error, std::generic_category(), start.program);
  }
}

KeptProgram& KeptProgram::operator=(KeptProgram&& other) noexcept {
  if (this != &other) {
    end();
    keeper_ = std::exchange(other.keeper_, 0);
    socket_ = std::exchange(other.socket_, -1);
  }
  return *this;
}

void KeptProgram::signal(int number) const {
  const auto byte = static_cast<unsigned char>(number);
  if (keeper_ != 0) {
    send(socket_, &byte, 1, MSG_NOSIGNAL);
  }
}

bool KeptProgram::ends_within(std::chrono::milliseconds time) const {
  pollfd descriptor{socket_, POLLIN, 0};
  return poll(&descriptor, 1, static_cast<int>(time.count())) > 0;
}

int KeptProgram::end() {
  int state = SIGKILL;  // where the keeper is gone, so is the program
  if (keeper_ != 0) {
    shutdown(socket_, SHUT_WR);
    hear(socket_, state);
    while (waitpid(keeper_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  if (socket_ >= 0) {
    close(socket_);
  }
  keeper_ = 0;
  socket_ = -1;
  return state;
}

}  // namespace sgemm
