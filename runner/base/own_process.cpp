#include "base/own_process.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <system_error>

#include <fmt/format.h>

namespace sgemm {
namespace {

/// The socket's number in the process.
constexpr int CONNECTION = 3;

bool serving = false;

/// A kernel's file may call exit(). The process ends then without destroying what kernels still use. This may run as a
/// part of a kernel under --check, which would take what the C++ library does for the kernel's own accesses.
void tell_of_exit(int status, void*) {
  if (serving) {
    std::array<char, 32> line{};
    const int length = std::snprintf(line.data(), line.size(), "{\"exit\": %d}\n", status);
    Serving::tell({line.data(), static_cast<std::size_t>(length)});
    _exit(status);
  }
}

}  // namespace

OwnProcess::OwnProcess(const std::vector<std::string>& arguments, const char* variable, Trust trust) {
  std::array<int, 2> connection{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, connection.data()) != 0) {
    throw std::system_error(errno, std::generic_category(), "socketpair");
  }
  // Numbers that the process is going to use for itself are free for that.
  const int theirs = fcntl(connection[1], F_DUPFD_CLOEXEC, CONNECTION + 1);
  close(connection[1]);
  connection_ = LineConnection(connection[0]);
  const int nobody = trust != Trust::full ? open("/dev/null", O_WRONLY | O_CLOEXEC) : -1;
  ProgramStart start{"/proc/self/exe",
                     arguments,
                     {fmt::format("{}={}", variable, CONNECTION)},
                     {{trust != Trust::full ? nobody : STDERR_FILENO, STDOUT_FILENO}, {theirs, CONNECTION}},
                     {},
                     {}};
  try {
    if (trust == Trust::confined) {
      folder_ = std::make_unique<TemporaryFolder>();
      start.confined_to = folder_->path();
      start.left_behind = {folder_->path()};
      start.variables.push_back(fmt::format("TMPDIR={}", folder_->path().string()));
      start.descriptors.emplace_back(nobody, STDERR_FILENO);
    }
    program_ = KeptProgram(start);
  } catch (...) {
    close(theirs);
    close(nobody);
    close(connection[0]);
    throw;
  }
  close(theirs);
  close(nobody);
}

int OwnProcess::end() {
  if (!program_) {
    return 0;
  }
  close(connection_.socket());  // which asks it to end
  connection_ = LineConnection();
  program_.ends_within(GRACE);
  return program_.end();
}

std::string ending_text(int state, std::string_view hint) {
  constexpr std::array OF_ACCESSES{SIGSEGV, SIGBUS, SIGABRT};  // the last one where a write damaged the heap
  if (WIFSIGNALED(state)) {
    const int signal = WTERMSIG(state);
    const bool of_access = std::ranges::find(OF_ACCESSES, signal) != OF_ACCESSES.end();
    return fmt::format("crashed: {} (signal {}){}", strsignal(signal), signal, of_access ? hint : "");
  }
  return fmt::format("ended the process: exit({})", WEXITSTATUS(state));
}

Serving::Serving(const char* variable) : connection_(CONNECTION) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  unsetenv(variable);
  fcntl(CONNECTION, F_SETFD, FD_CLOEXEC);
  on_exit(tell_of_exit, nullptr);
  serving = true;
}

Serving::~Serving() { serving = false; }

void Serving::tell(std::string_view line) { send(CONNECTION, line.data(), line.size(), MSG_NOSIGNAL); }

bool LineConnection::send(std::string line) const {
  line += '\n';
  for (std::string_view rest = line; !rest.empty();) {
    const ssize_t sent = ::send(socket_, rest.data(), rest.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno != EINTR) {
      return false;
    }
    rest.remove_prefix(sent > 0 ? static_cast<std::size_t>(sent) : 0);
  }
  return true;
}

bool LineConnection::receive(std::chrono::milliseconds moment) { return read_some(socket_, moment, received_); }

std::optional<std::string> LineConnection::take() {
  const std::size_t end = received_.find('\n');
  if (end == std::string::npos) {
    return std::nullopt;
  }
  std::string line = received_.substr(0, end);
  received_.erase(0, end + 1);
  return line;
}

}  // namespace sgemm
