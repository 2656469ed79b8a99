#include "bench/case_process.hpp"

#include "base/outcome.hpp"
#include "base/program.hpp"
#include "base/temporary_file.hpp"
#include "problem/guarded_operands.hpp"
#include "record/results_file.hpp"
#include "simt/executor.hpp"

#include <fcntl.h>
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
#include <exception>
#include <filesystem>
#include <iterator>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

// The process of a CaseProcess is connected to it by a socket. The one asks for a case by its name in a line, the other
// answers in lines of JSON: first what it knows of the GPU, then for each case what is going on, and the record. Under
// ncu, variables of the environment name the case, and the file that the record goes to.

namespace sgemm {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

/// Tells the process of a CaseProcess that it is one, and the socket's number in it.
constexpr const char* CONNECTION_VARIABLE = "SGEMM_CASE_PROCESS";
constexpr int CONNECTION = 3;

/// Tell the process of a CaseProfiler which case it runs, and the file that its record goes to.
constexpr const char* CASE_VARIABLE = "SGEMM_PROFILED_CASE";
constexpr const char* RECORD_VARIABLE = "SGEMM_PROFILED_RECORD";

/// A process that was asked to end has so long for it.
constexpr auto GRACE = std::chrono::seconds(2);

/// What a process tells of a record.
Json message_of(const Record& record) { return {{"record", to_json(record, 1)}, {"note", record.note}}; }

Record record_in(const Json& message, const Case& item) {
  Record record = record_from_json(item, message.at("record"));
  message.at("note").get_to(record.note);
  return record;
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
  connection_ = LineConnection(connection[0]);
  if (error != 0) {
    process_ = 0;
    throw std::system_error(error, std::generic_category(), "can not start a process for the cases");
  }
  try {
    const Json hello = receive();
    hello.at("gpu_error").get_to(gpu_error_);
    const Json& facts = hello.at("gpu_facts");
    gpu_facts_ = {facts.at("driver"), facts.at("flush_bytes"), facts.at("empty_kernel_us"), facts.at("resolution_us")};
  } catch (const CaseStopped& stopped) {
    throw std::runtime_error(fmt::format("the process for the cases did not start: {}", stopped.what()));
  }
}

Json CaseProcess::receive(bool checkable) {
  const Clock::time_point begin = Clock::now();
  std::optional<Clock::time_point> stopped;
  while (true) {
    if (const std::optional<std::string> line = connection_.take()) {
      return Json::parse(*line);
    }
    if (!connection_.receive()) {
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
  close(connection_.socket());  // which asks it to end
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
    return ask_for(item, observer);
  } catch (const CaseStopped& stopped) {
    record.stop(stopped.outcome(), stopped.what());
  } catch (const std::exception& error) {
    record.stop(Outcome::failed, error.what());
    end();
  }
  return record;
}

Record CaseProcess::ask_for(const Case& item, const Observer& observer) {
  if (process_ == 0) {
    start();
  }
  const std::optional<KernelFile>& file = item.kernel->file;
  connection_.send(item.name());  // where the process is gone, receive() tells
  while (true) {
    const Json message = receive(checkable_ && file);
    if (message.contains("progress")) {
      observer(message.at("progress").get<std::string>());
      continue;
    }
    if (message.contains("stack_overflow")) {
      end();
      throw CaseStopped(
          Outcome::failed,
          fmt::format("a thread's stack overflowed: the executor has {} KB for its local variables and calls",
                      simt::THREAD_STACK_BYTES / 1024));
    }
    if (message.contains("exit")) {
      end();
      throw CaseStopped(Outcome::failed, fmt::format("called exit({})", message.at("exit").get<int>()));
    }
    if (file && message.at("record").at("source_hash") != file->hash) {
      throw CaseStopped(Outcome::failed, fmt::format("{} has been changed since the run began", file->path));
    }
    Record record = record_in(message, item);
    if (message.at("last").get<bool>()) {
      end();
    }
    return record;
  }
}

// ---- Under ncu ----

CaseProfiler::CaseProfiler(std::vector<std::string> arguments, const std::string& driver,
                           std::optional<double> seconds_per_case, StopToken stop)
    : arguments_(std::move(arguments)), driver_(driver), seconds_per_case_(seconds_per_case), stop_(stop) {}

Record CaseProfiler::run(const Case& item, const Observer& observer) {
  Record record(item);
  try {
    stop_.check();
    if (item.kernel->platform == Platform::cpu) {
      throw CaseStopped(Outcome::not_supported, "runs on the CPU: ncu reads counters of GPU kernels");
    }
    if (!item.kernel->local_kernel.empty()) {
      throw CaseStopped(Outcome::not_supported,
                        fmt::format("is made of {}, which can be profiled", item.kernel->local_kernel));
    }
    if (!refusal_.empty()) {
      throw CaseStopped(Outcome::skipped, refusal_);
    }
    return profile(item, observer);
  } catch (const CaseStopped& stopped) {
    record.stop(stopped.outcome(), stopped.what());
  } catch (const std::exception& error) {
    record.stop(Outcome::failed, error.what());
  }
  return record;
}

Record CaseProfiler::profile(const Case& item, const Observer& observer) {
  observer("profiling");
  std::vector<std::string> program = arguments_;
  program.front() = std::filesystem::read_symlink("/proc/self/exe").string();  // for ncu, that link is its own
  while (true) {
    const TemporaryFile file("record.json");
    const std::vector<std::string> variables{fmt::format("{}={}", CASE_VARIABLE, item.name()),
                                             fmt::format("{}={}", RECORD_VARIABLE, file.path().string())};
    std::vector<std::string> wanted;
    std::copy_if(metrics().begin(), metrics().end(), std::back_inserter(wanted), [&](const std::string& metric) {
      return std::find(dropped_metrics_.begin(), dropped_metrics_.end(), metric) == dropped_metrics_.end();
    });
    NcuRun run = ncu_.profile(program, variables, wanted, seconds_per_case_, stop_);
    dropped_metrics_.insert(dropped_metrics_.end(), run.rejected.begin(), run.rejected.end());
    if (const std::string text = file.content(); !text.empty()) {
      Record record = record_in(Json::parse(text), item);
      if (record.outcome != Outcome::profiled) {
        return record;  // it did not come to the launch that is profiled
      }
      if (!run.launches.empty()) {
        record.profile = Profile{ncu_.version(), std::move(run.launches), dropped_metrics_};
        return record;
      }
    }
    refusal_ = run.refusal();
    if (!refusal_.empty()) {
      throw CaseStopped(Outcome::skipped, refusal_);
    }
    if (run.rejected.empty()) {
      throw CaseStopped(Outcome::failed, fmt::format("ncu gave no counters: {}", run.last_lines()));
    }
  }
}

// ---- The process ----

namespace {

const Case& case_of(const std::vector<Case>& plan, std::string_view name) {
  const auto item = std::find_if(plan.begin(), plan.end(), [&](const Case& each) { return each.name() == name; });
  if (item == plan.end()) {
    throw std::logic_error(fmt::format("there is no case {}", name));
  }
  return *item;
}

void serve_profiler(CaseRunner& runner, const std::vector<Case>& plan) {
  const Case& item = case_of(plan, std::getenv(CASE_VARIABLE));
  Record record(item);
  if (runner.gpu_error().empty()) {
    record = runner.run(item, [](std::string_view) {});
  } else {
    record.stop(Outcome::failed, runner.gpu_error());
  }
  write_atomically(std::getenv(RECORD_VARIABLE), dump_json(message_of(record), -1));
}

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

bool is_case_process() { return std::getenv(CONNECTION_VARIABLE) != nullptr || std::getenv(CASE_VARIABLE) != nullptr; }

void serve_cases(const Run& run) {
  CaseRunner runner = make_case_runner(run, tuning_for_run(run.options, run.device));
  if (std::getenv(CASE_VARIABLE) != nullptr) {
    serve_profiler(runner, run.plan);
    return;
  }
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
  LineConnection connection(CONNECTION);
  connection.send(dump_json({{"gpu_error", runner.gpu_error()},
                             {"gpu_facts",
                              {{"driver", facts.driver},
                               {"flush_bytes", facts.flush_bytes},
                               {"empty_kernel_us", facts.empty_kernel_us},
                               {"resolution_us", facts.event_resolution_us}}}},
                            -1));
  Clock::time_point told;
  const Observer observer = [&](std::string_view activity) {
    constexpr auto PERIOD = std::chrono::milliseconds(100);  // telling takes time from what is measured
    if (Clock::now() - told > PERIOD) {
      told = Clock::now();
      connection.send(dump_json({{"progress", activity}}, -1));
    }
  };
  do {
    while (const std::optional<std::string> name = connection.take()) {
      const Record record = runner.run(case_of(run.plan, *name), observer);
      Json message = message_of(record);
      message["last"] = runner.lost();
      connection.send(dump_json(message, -1));
    }
  } while (connection.receive());
  serving = false;
}

}  // namespace sgemm
