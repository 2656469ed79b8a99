#include "bench/case_runner.hpp"

#include "base/kept_program.hpp"
#include "base/outcome.hpp"
#include "base/program.hpp"
#include "base/words.hpp"
#include "problem/guarded_operands.hpp"
#include "record/results_file.hpp"
#include "simt/executor.hpp"
#include "user/compile.hpp"
#include "user/user_kernels.hpp"

#include <fcntl.h>
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
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <regex>
#include <set>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

// Cases in other processes. Such a process is this program once more with the same command line, so it makes the same
// plan. It is connected to its CaseProcess by a socket. The one asks for a case by its name in a line, the other
// answers in lines of JSON: first what it knows of the GPU, then for each case what is going on, and the record.

namespace sgemm {
namespace {

/// Tells the process of a CaseProcess that it is one.
constexpr const char* CONNECTION_VARIABLE = "SGEMM_CASE_PROCESS";

/// A process has at least so long for reading all files of users, which is no case.
constexpr double SECONDS_TO_START = 60.0;

/// Bytes that no record has: a stranger's process may send without end.
constexpr std::size_t LONGEST_MESSAGE = std::size_t{1} << 26U;

/// The reason of cases that a stop has ended.
constexpr const char* INTERRUPTED = "interrupted";

/// The end of the reason of those that took too long, which another reading of the same call would as well.
constexpr const char* LIMIT_NAMED = ", which --timeout changes";

/// That of a file which calls what is in another one, likewise.
constexpr const char* NOWHERE_DEFINED = ": --nvcc-flags \"-include FILE\" names the file that has it";

/// The socket's number in the process.
constexpr int CONNECTION = 3;

/// A process that was asked to end has so long for it.
constexpr auto GRACE = std::chrono::seconds(2);

/// One end of a socket through which two processes send each other lines.
class LineConnection {
 public:
  explicit LineConnection(int socket = -1) : socket_(socket) {}
  LineConnection(const LineConnection&) = delete;
  LineConnection& operator=(LineConnection&& other) noexcept {
    std::swap(socket_, other.socket_);
    std::swap(received_, other.received_);
    return *this;
  }
  ~LineConnection() { close(socket_); }

  /// Returns false where the other process is gone.
  bool send(std::string line) const {
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

  /// Waits a moment for what arrives. Returns false at the connection's end.
  bool receive() { return read_some(socket_, std::chrono::milliseconds(50), received_); }

  /// The first line that has arrived and was not taken yet, or nothing.
  std::optional<std::string> take() {
    const std::size_t end = received_.find('\n');
    if (end == std::string::npos) {
      return std::nullopt;
    }
    std::string line = received_.substr(0, end);
    received_.erase(0, end + 1);
    return line;
  }

  /// Bytes that have arrived and were not taken.
  std::size_t pending() const { return received_.size(); }

 private:
  int socket_;
  std::string received_;
};

/// How a process ended that was not asked to. `hint` follows where its signal is that of a forbidden access.
std::string ending_text(int state, std::string_view hint = "") {
  constexpr std::array OF_ACCESSES{SIGSEGV, SIGBUS, SIGABRT};  // the last one where a write damaged the heap
  if (WIFSIGNALED(state)) {
    const int signal = WTERMSIG(state);
    const bool of_access = std::ranges::find(OF_ACCESSES, signal) != OF_ACCESSES.end();
    return fmt::format("crashed: {} (signal {}){}", strsignal(signal), signal, of_access ? hint : "");
  }
  return fmt::format("ended the process: exit({})", WEXITSTATUS(state));
}

/// The end of the socket that such a process has, as long as it serves. The process ends with the one that started it.
/// When something calls exit() meanwhile, the line {"exit": STATUS} tells so, and nothing is destroyed.
class Serving {
 public:
  Serving() {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    unsetenv(CONNECTION_VARIABLE);
    fcntl(CONNECTION, F_SETFD, FD_CLOEXEC);
    on_exit(tell_of_exit, nullptr);
    serving = true;
  }

  ~Serving() { serving = false; }

  Serving(const Serving&) = delete;
  Serving& operator=(const Serving&) = delete;

  LineConnection& connection() { return connection_; }
  /// Sends a line from wherever the process is, a handler of signals included.
  static void tell(std::string_view line) { send(CONNECTION, line.data(), line.size(), MSG_NOSIGNAL); }

 private:
  /// A kernel's file may call exit(). The process ends then without destroying what kernels still use. This may run as
  /// a part of a kernel under --check, which would take what the C++ library does for the kernel's own accesses.
  static void tell_of_exit(int status, void* /*unused*/) {
    if (serving) {
      std::array<char, 32> line{};
      const int length = std::snprintf(line.data(), line.size(), "{\"exit\": %d}\n", status);
      tell({line.data(), static_cast<std::size_t>(length)});
      _exit(status);
    }
  }

  inline static bool serving = false;
  LineConnection connection_{CONNECTION};
};

/// A call with numbers for M, N and K.
std::string with_extents(std::string call, const Size& size) {
  for (const auto& [name, extent] : {std::pair{"M", size.m}, std::pair{"N", size.n}, std::pair{"K", size.k}}) {
    call = std::regex_replace(call, std::regex(fmt::format(R"(\b{}\b)", name)), std::to_string(extent));
  }
  return call;
}

const Case& case_of(const std::vector<Case>& plan, std::string_view name) {
  const auto item = std::ranges::find(plan, name, &Case::name);
  if (item == plan.end()) {
    throw std::logic_error(fmt::format("there is no case {}", name));
  }
  return *item;
}

/// A handler of SIGSEGV, for once. The same signal ends the process when it returns.
void tell_of_stack_overflow(int signal, siginfo_t* info, void* /*context*/) {
  if (simt::is_stack_overflow(info->si_addr)) {
    Serving::tell("{\"stack_overflow\": true}\n");
  }
  raise(signal);
}

/// Runs cases in a process of their own: this program once more, at the other end of a socket. It has nothing else of
/// this process but its standard error, which its standard output goes to as well: what kernels print is no result.
///
/// Where a case ends that process, or takes too long, it is recorded as failed, and a new process takes the cases that
/// are left. What one case does to another's memory, or to the GPU, goes with the process.
class CaseProcess final : public Runner {
 public:
  /// Once the run is interrupted, the case under way has a moment to end by itself.
  explicit CaseProcess(const Run& run)
      : arguments_(run.argv),
        seconds_per_case_(run.seconds_per_case),
        checkable_(!run.device.device && !run.protocol.check && can_compile_checks()),
        // On a GPU a stranger's file is device code alone; the executor runs all of it.
        trust_(!run.judged         ? Trust::full
               : run.device.device ? Trust::silent
                                   : Trust::confined) {
    start();
  }
  ~CaseProcess() override { end(); }
  CaseProcess(const CaseProcess&) = delete;
  CaseProcess& operator=(const CaseProcess&) = delete;

  Record run(const Case& item, const Observer& observer) override {
    Record record = run_as(item, 0, observer);
    const bool accused = record.outcome == Outcome::incorrect ||
                         (record.outcome == Outcome::failed && !record.reason.ends_with(LIMIT_NAMED) &&
                          !record.reason.ends_with(NOWHERE_DEFINED));
    const std::vector<std::string> launches =
        item.kernel->file ? launches_of(*item.kernel) : std::vector<std::string>{};
    std::set<std::string> tried;
    for (std::size_t reading = 0; accused && !stop_.requested() && reading < launches.size(); ++reading) {
      if (!tried.insert(with_extents(launches[reading], item.size)).second || reading == 0) {
        continue;  // the same call could come out right by a race alone
      }
      Record another = run_as(item, reading, observer);
      if (another.verified) {
        another.note = fmt::format("{}: with {} its product is wrong, and with {} it is right", record.kernel,
                                   record.launch, another.launch);
        return another;
      }
    }
    return record;
  }

 private:
  using Clock = std::chrono::steady_clock;

  /// `silent` processes have no standard output, `confined` ones no standard error either, and fork_confined() confines
  /// them.
  enum class Trust { full, silent, confined };

  /// Starts the program. Throws what KeptProgram throws.
  void start_program() {
    std::array<int, 2> connection{};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, connection.data()) != 0) {
      throw std::system_error(errno, std::generic_category(), "socketpair");
    }
    connection_ = LineConnection(connection[0]);
    // Numbers that the process is going to use for itself are free for that.
    const int theirs = fcntl(connection[1], F_DUPFD_CLOEXEC, CONNECTION + 1);
    close(connection[1]);
    const int nobody = trust_ != Trust::full ? open("/dev/null", O_WRONLY | O_CLOEXEC) : -1;
    ProgramStart start{"/proc/self/exe",
                       arguments_,
                       {fmt::format("{}={}", CONNECTION_VARIABLE, CONNECTION)},
                       {{trust_ != Trust::full ? nobody : STDERR_FILENO, STDOUT_FILENO}, {theirs, CONNECTION}},
                       {},
                       {}};
    try {
      if (trust_ == Trust::confined) {
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
      throw;
    }
    close(theirs);
    close(nobody);
  }

  /// Waits a moment for the process to end, as the connection's end asks it to, and then ends it and all that it has
  /// started. Returns its state, as waitpid() tells it.
  int end() {
    if (!program_) {
      return 0;
    }
    connection_ = LineConnection();  // which asks it to end
    program_.ends_within(GRACE);
    return program_.end();
  }

  /// Throws std::runtime_error where the process does not come up.
  void start() {
    start_program();
    try {
      Wait wait{seconds_per_case_ ? std::optional(std::max(*seconds_per_case_, SECONDS_TO_START)) : std::nullopt};
      const Json hello = receive(wait);
      hello.at("gpu_error").get_to(gpu_error_);
      if (trust_ == Trust::silent && !gpu_error_.empty()) {
        throw std::runtime_error(gpu_error_);  // the executor would run the file's host code, and nothing confines it
      }
      gpu_facts_ = {hello.at("driver"), hello.at("flush_bytes"), hello.at("empty_kernel_us"),
                    hello.at("resolution_us")};
    } catch (const CaseStopped& stopped) {
      throw std::runtime_error(fmt::format("the process for the cases did not start: {}", stopped.what()));
    }
  }

  /// For a case's record, however many other messages come before it.
  struct Wait {
    std::optional<double> seconds;
    Clock::time_point begin = Clock::now();
    std::optional<Clock::time_point> stopped = std::nullopt;
  };

  /// The next message of the process. Throws CaseStopped where it ends, takes longer than the wait may, or is stopped
  /// instead.
  Json receive(Wait& wait, bool checkable = false) {
    while (true) {
      const Clock::time_point now = Clock::now();
      if (stop_.requested() && !wait.stopped) {
        wait.stopped = now;
        program_.signal(SIGINT);
      }
      if (wait.stopped && now - *wait.stopped > GRACE) {
        program_.signal(SIGKILL);
      } else if (wait.seconds && !wait.stopped &&
                 std::chrono::duration<double>(now - wait.begin).count() > *wait.seconds) {
        program_.signal(SIGKILL);
        end();
        throw CaseStopped(Outcome::failed, fmt::format("took longer than {:g} s{}", *wait.seconds, LIMIT_NAMED));
      }
      if (const std::optional<std::string> line = connection_.take()) {
        return Json::parse(*line);
      }
      if (!connection_.receive()) {
        const std::string how = ending_text(end(), checkable ? CHECK_HINT : "");
        throw CaseStopped(wait.stopped ? Outcome::skipped : Outcome::failed, wait.stopped ? INTERRUPTED : how);
      }
      if (connection_.pending() > LONGEST_MESSAGE) {
        program_.signal(SIGKILL);
        end();
        throw CaseStopped(Outcome::failed, "its process sends what is no record");
      }
    }
  }

  /// Throws CaseStopped where the process gives no record.
  Record ask_for(const Case& item, std::size_t reading, const Observer& observer) {
    if (!program_) {
      start();
    }
    const std::optional<KernelFile>& file = item.kernel->file;
    connection_.send(fmt::format("{} {}", reading, item.name()));  // where the process is gone, receive() tells
    Wait wait{seconds_per_case_};
    while (true) {
      const Json message = receive(wait, checkable_ && file);
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
      Record record = told_record(item, message.at("record"));
      message.at("note").get_to(record.note);
      if (record.outcome == Outcome::skipped && record.reason == INTERRUPTED && !stop_.requested()) {
        end();
        throw CaseStopped(Outcome::failed, "a signal that nobody of the run has sent stopped it");
      }
      if (message.at("last").get<bool>()) {
        end();
      }
      return record;
    }
  }

  /// Runs a file's function as its parameters were read first, or in another way. Never throws.
  Record run_as(const Case& item, std::size_t reading, const Observer& observer) {
    Record record(item);
    record.launch = item.kernel->file ? launches_of(*item.kernel).at(reading) : "";
    try {
      return ask_for(item, reading, observer);
    } catch (const CaseStopped& stopped) {
      const std::string why = stopped.what();
      // The dynamic loader's end, which no exit() of the file is.
      const bool unresolved = item.kernel->file && why == "ended the process: exit(127)";
      const std::string undefined = unresolved ? undefined_function(*item.kernel) : "";
      record.stop(stopped.outcome(), undefined.empty() ? why
                                                       : fmt::format("it calls {}, which is declared and not defined{}",
                                                                     undefined, NOWHERE_DEFINED));
    } catch (const CanNotConfine& error) {
      record.stop(Outcome::skipped, error.what());  // which is no fault of the file
    } catch (const std::exception& error) {
      record.stop(Outcome::failed, error.what());
      end();
    }
    return record;
  }

  const std::vector<std::string> arguments_;
  const std::optional<double> seconds_per_case_;
  const bool checkable_;  ///< --check, which was not asked for, could tell more of a file's kernel that crashes
  const Trust trust_;
  const StopToken stop_{interrupted};
  std::unique_ptr<TemporaryFolder> folder_;  ///< of a confined process, which sees another in its place
  KeptProgram program_;
  LineConnection connection_;
};

}  // namespace

std::unique_ptr<Runner> make_case_process(const Run& run) { return std::make_unique<CaseProcess>(run); }

// ---- The process ----

bool is_case_process() { return std::getenv(CONNECTION_VARIABLE) != nullptr; }

void serve_cases(const Run& run) {
  CaseRunner runner(run.protocol, run.device, run.settings, StopToken(interrupted));
  simt::workers();  // there before: what is made later is destroyed sooner, here in a thread that it waits for
  Serving serving;
  struct sigaction on_fault {};
  on_fault.sa_sigaction = tell_of_stack_overflow;
  on_fault.sa_flags = SA_SIGINFO | SA_ONSTACK | static_cast<int>(SA_RESETHAND);
  sigaction(SIGSEGV, &on_fault, nullptr);
  const GpuFacts facts = runner.gpu_facts();
  LineConnection& connection = serving.connection();
  connection.send(dump_json({{"gpu_error", runner.gpu_error()},
                             {"driver", facts.driver},
                             {"flush_bytes", facts.flush_bytes},
                             {"empty_kernel_us", facts.empty_kernel_us},
                             {"resolution_us", facts.event_resolution_us}},
                            -1));
  Pace pace;  // telling takes time from what is measured
  const Observer observer = [&](std::string_view activity) {
    if (pace.shows(activity)) {
      connection.send(dump_json({{"progress", activity}}, -1));
    }
  };
  do {
    while (const std::optional<std::string> name = connection.take()) {
      const std::size_t space = name->find(' ');
      Case item = case_of(run.plan, name->substr(space + 1));
      std::vector<Kernel> readings;
      const std::size_t reading = std::stoul(*name);
      if (item.kernel->file) {
        readings = readings_of(*item.kernel);
        item.kernel = &readings.at(reading);
      }
      Record record = runner.run(item, observer);
      record.launch = readings.empty() ? "" : launches_of(*item.kernel).at(reading);
      connection.send(dump_json({{"record", to_json(record)}, {"note", record.note}, {"last", runner.lost()}}, -1));
    }
  } while (connection.receive());
}

}  // namespace sgemm
