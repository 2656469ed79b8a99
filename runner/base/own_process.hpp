#pragma once

#include "base/kept_program.hpp"
#include "base/line_connection.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace sgemm {

/// This program once more, in a process of its own at the other end of a socket. It has nothing else of this process
/// but its standard error, which its standard output goes to as well: what kernels print is no result.
class OwnProcess {
 public:
  /// No process.
  OwnProcess() = default;
  /// `variable` of the environment tells the process that it is one. Throws std::system_error where it does not start.
  OwnProcess(const std::vector<std::string>& arguments, const char* variable);
  ~OwnProcess() { end(); }
  OwnProcess(OwnProcess&& other) noexcept;
  OwnProcess& operator=(OwnProcess&& other) noexcept;
  OwnProcess(const OwnProcess&) = delete;
  OwnProcess& operator=(const OwnProcess&) = delete;

  explicit operator bool() const { return static_cast<bool>(program_); }
  LineConnection& connection() { return connection_; }
  void signal(int number) const { program_.signal(number); }
  /// Waits a moment for the process to end, as the connection's end asks it to, and then ends it and all that it has
  /// started. Returns its state, as waitpid() tells it.
  int end();

 private:
  KeptProgram program_;
  LineConnection connection_;
};

/// How a process ended that was not asked to. `hint` follows where its signal is that of a forbidden access.
std::string ending_text(int state, std::string_view hint = "");

/// Whether this is a process that was started with `variable`.
bool is_own_process(const char* variable);

/// Such a process's end of the socket, as long as it serves. The process ends with the one that started it. When
/// something calls exit() meanwhile, the line {"exit": STATUS} tells so, and nothing is destroyed.
class Serving {
 public:
  explicit Serving(const char* variable);
  ~Serving();
  Serving(const Serving&) = delete;
  Serving& operator=(const Serving&) = delete;

  LineConnection& connection() { return connection_; }
  /// Sends a line from wherever the process is, a handler of signals included.
  static void tell(std::string_view line);

 private:
  LineConnection connection_;
};

}  // namespace sgemm
