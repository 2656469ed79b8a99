#include "bench/case_process.hpp"

#include "base/outcome.hpp"
#include "base/program.hpp"
#include "bench/case_runner.hpp"
#include "problem/guarded_operands.hpp"
#include "record/results_file.hpp"
#include "simt/executor.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

// The two processes are connected by a socket. The one asks for a case by its name in a line, the other answers in
// lines of JSON: first what it knows of the GPU, then for each case what is going on, and the record.

namespace sgemm {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

/// Tells the process that it is one, and the socket's number in it.
constexpr const char* CONNECTION_VARIABLE = "SGEMM_CASE_PROCESS";
constexpr int CONNECTION = 3;

/// A process that was asked to end has so long for it.
constexpr auto GRACE = std::chrono::seconds(2);
constexpr auto POLL = std::chrono::milliseconds(50);

bool send_line(int connection, std::string line) {
  line += '\n';
  for (std::string_view rest = line; !rest.empty();) {
    const ssize_t sent = send(connection, rest.data(), rest.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno != EINTR) {
      return false;
    }
    rest.remove_prefix(sent > 0 ? static_cast<std::size_t>(sent) : 0);
  }
  return true;
}

/// Appends what arrives to `text`. Returns false at the connection's end, true after a while without anything as well.
bool receive_some(int connection, std::string& text) {
  pollfd descriptor{connection, POLLIN, 0};
  const int ready = poll(&descriptor, 1, static_cast<int>(POLL.count()));
  if (ready <= 0) {
    return ready == 0 || errno == EINTR;
  }
  std::array<char, 65536> part{};
  const ssize_t length = recv(connection, part.data(), part.size(), 0);
  if (length <= 0) {
    return length < 0 && errno == EINTR;
  }
  text.append(part.data(), static_cast<std::size_t>(length));
  return true;
}

/// The first line of `text`, which is taken away, or nothing.
std::optional<std::string> take_line(std::string& text) {
  const std::size_t end = text.find('\n');
  if (end == std::string::npos) {
    return std::nullopt;
  }
  std::string line = text.substr(0, end);
  text.erase(0, end + 1);
  return line;
}

std::string ending_text(int state, bool checkable) {
  constexpr std::array OF_ACCESSES{SIGSEGV, SIGBUS, SIGABRT};  // the last one where a write damaged the heap
  if (WIFSIGNALED(state)) {
    const int signal = WTERMSIG(state);
    const bool of_access = std::find(OF_ACCESSES.begin(), OF_ACCESSES.end(), signal) != OF_ACCESSES.end();
    return fmt::format("crashed: {} (signal {}){}", strsignal(signal), signal,
                       checkable && of_access ? CHECK_HINT : "");
  }
  return fmt::format("ended the process: exit({})", WEXITSTATUS(state));
}

}  // namespace

struct CaseProcess::Message {
  Json json;
};

CaseProcess::CaseProcess(std::vector<std::string> arguments, std::optional<double> seconds_per_case, bool checkable,
                         StopToken stop)
    : arguments_(std::move(arguments)), seconds_per_case_(seconds_per_case), checkable_(checkable), stop_(stop) {
  start();
}

CaseProcess::~CaseProcess() { end(); }

void CaseProcess::start() {
  std::array<int, 2> connection{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, connection.data()) != 0) {
    throw std::system_error(errno, std::generic_category(), "socketpair");
  }
  // Numbers that the process is going to use for itself are free for that.
  const int theirs = fcntl(connection[1], F_DUPFD_CLOEXEC, CONNECTION + 1);
  close(connection[1]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);  // nobody answers a kernel
  posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);  // what kernels print is no result
  posix_spawn_file_actions_adddup2(&actions, theirs, CONNECTION);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);  // Ctrl-C is passed on by this process alone
  const std::vector<std::string> variables = environment_with({fmt::format("{}={}", CONNECTION_VARIABLE, CONNECTION)});
  const int error = posix_spawn(&process_, "/proc/self/exe", &actions, &attributes, pointers_to(arguments_).data(),
                                pointers_to(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  close(theirs);
  connection_ = connection[0];
  received_.clear();
  if (error != 0) {
    process_ = 0;
    throw std::system_error(error, std::generic_category(), "can not start a process for the cases");
  }
  try {
    const Json hello = receive().json;
    hello.at("gpu_error").get_to(gpu_error_);
    const Json& facts = hello.at("gpu_facts");
    gpu_facts_ = {facts.at("driver"), facts.at("flush_bytes"), facts.at("empty_kernel_us"), facts.at("resolution_us")};
  } catch (const CaseStopped& stopped) {
    throw std::runtime_error(fmt::format("the process for the cases did not start: {}", stopped.what()));
  }
}

CaseProcess::Message CaseProcess::receive(bool checkable) {
  const Clock::time_point begin = Clock::now();
  std::optional<Clock::time_point> stopped;
  while (true) {
    if (const std::optional<std::string> line = take_line(received_)) {
      return {Json::parse(*line)};
    }
    if (!receive_some(connection_, received_)) {
      const std::string how = ending_text(end(), checkable);
      throw CaseStopped(stopped ? Outcome::skipped : Outcome::failed, stopped ? "interrupted" : how);
    }
    const Clock::time_point now = Clock::now();
    if (stop_.requested() && !stopped) {
      stopped = now;
      kill(process_, SIGINT);
    }
    if (stopped && now - *stopped > GRACE) {
      kill(process_, SIGKILL);
    } else if (seconds_per_case_ && !stopped &&
               std::chrono::duration<double>(now - begin).count() > *seconds_per_case_) {
      kill(process_, SIGKILL);
      end();
      throw CaseStopped(Outcome::failed,
                        fmt::format("took longer than {:g} s, which --timeout changes", *seconds_per_case_));
    }
  }
}

int CaseProcess::end() {
  if (process_ == 0) {
    return 0;
  }
  close(connection_);  // which asks it to end
  connection_ = -1;
  int state = 0;
  const Clock::time_point begin = Clock::now();
  while (waitpid(process_, &state, WNOHANG) == 0) {
    if (Clock::now() - begin > GRACE) {
      kill(process_, SIGKILL);
    }
    usleep(1000);
  }
  process_ = 0;
  return state;
}

Record CaseProcess::run(const Case& item, const Observer& observer) {
  Record record(item);
  try {
    if (process_ == 0) {
      start();
    }
    send_line(connection_, item.name());  // where the process is gone, receive() tells
    while (true) {
      const Json message = receive(checkable_ && record.file).json;
      if (message.contains("progress")) {
        observer(message.at("progress").get<std::string>());
        continue;
      }
      if (message.contains("stack_overflow")) {
        end();
        throw CaseStopped(Outcome::failed,
                          fmt::format("a thread's stack overflowed: the executor has {} KB for its local variables and "
                                      "calls",
                                      simt::THREAD_STACK_BYTES / 1024));
      }
      if (message.contains("exit")) {
        end();
        throw CaseStopped(Outcome::failed, fmt::format("called exit({})", message.at("exit").get<int>()));
      }
      const Json& told = message.at("record");
      if (record.file && told.at("source_hash") != record.file->hash) {
        throw CaseStopped(Outcome::failed, fmt::format("{} has been changed since the run began", record.file->path));
      }
      record = record_from_json(item, told);
      message.at("note").get_to(record.note);
      if (message.at("last").get<bool>()) {
        end();
      }
      return record;
    }
  } catch (const CaseStopped& stopped) {
    record.stop(stopped.outcome(), stopped.what());
  } catch (const std::exception& error) {
    record.stop(Outcome::failed, error.what());
    end();
  }
  return record;
}

// ---- The process ----

namespace {

bool serving = false;

/// A kernel's file may call exit(). The process ends then without destroying what kernels still use. This may run as a
/// part of a kernel under --check, which would take what the C++ library does for the kernel's own accesses.
void tell_of_exit(int status, void*) {
  if (serving) {
    std::array<char, 32> line{};
    const int length = std::snprintf(line.data(), line.size(), "{\"exit\": %d}\n", status);
    send(CONNECTION, line.data(), static_cast<std::size_t>(length), MSG_NOSIGNAL);
    _exit(status);
  }
}

/// A handler of SIGSEGV, for once. The same signal ends the process when it returns.
void tell_of_stack_overflow(int signal, siginfo_t* info, void* /*context*/) {
  if (simt::is_stack_overflow(info->si_addr)) {
    constexpr std::string_view LINE = "{\"stack_overflow\": true}\n";
    send(CONNECTION, LINE.data(), LINE.size(), MSG_NOSIGNAL);
  }
  raise(signal);
}

}  // namespace

bool is_case_process() { return std::getenv(CONNECTION_VARIABLE) != nullptr; }

void serve_cases(CaseRunner& runner, const std::vector<Case>& plan) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  unsetenv(CONNECTION_VARIABLE);
  fcntl(CONNECTION, F_SETFD, FD_CLOEXEC);
  simt::workers();  // there before: what is made later is destroyed sooner, here in a thread that it waits for
  on_exit(tell_of_exit, nullptr);
  struct sigaction on_fault {};
  on_fault.sa_sigaction = tell_of_stack_overflow;
  on_fault.sa_flags = SA_SIGINFO | SA_ONSTACK | static_cast<int>(SA_RESETHAND);
  sigaction(SIGSEGV, &on_fault, nullptr);
  serving = true;
  const GpuFacts facts = runner.gpu_facts();
  send_line(CONNECTION, dump_json({{"gpu_error", runner.gpu_error()},
                                   {"gpu_facts",
                                    {{"driver", facts.driver},
                                     {"flush_bytes", facts.flush_bytes},
                                     {"empty_kernel_us", facts.empty_kernel_us},
                                     {"resolution_us", facts.event_resolution_us}}}},
                                  -1));
  std::string received;
  Clock::time_point told;
  const Observer observer = [&](std::string_view activity) {
    constexpr auto PERIOD = std::chrono::milliseconds(100);  // telling takes time from what is measured
    if (Clock::now() - told > PERIOD) {
      told = Clock::now();
      send_line(CONNECTION, dump_json({{"progress", activity}}, -1));
    }
  };
  while (true) {
    const std::optional<std::string> name = take_line(received);
    if (!name) {
      if (!receive_some(CONNECTION, received)) {
        break;
      }
      continue;
    }
    const auto item = std::find_if(plan.begin(), plan.end(), [&](const Case& each) { return each.name() == *name; });
    if (item == plan.end()) {
      throw std::logic_error("there is no case " + *name);
    }
    const Record record = runner.run(*item, observer);
    const bool last = runner.lost();
    send_line(CONNECTION, dump_json({{"record", to_json(record, 1)}, {"note", record.note}, {"last", last}}, -1));
  }
  serving = false;
}

}  // namespace sgemm
