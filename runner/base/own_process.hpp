#pragma once

#include "base/kept_program.hpp"
#include "base/program.hpp"

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sgemm {

/// A process that was asked to end has so long for it.
constexpr auto GRACE = std::chrono::seconds(2);

/// One end of a socket through which two processes send each other lines. It does not own the socket.
class LineConnection {
 public:
  explicit LineConnection(int socket = -1) : socket_(socket) {}

  int socket() const { return socket_; }
  /// Returns false where the other process is gone.
  bool send(std::string line) const;
  /// Waits a moment for what arrives. Returns false at the connection's end.
  bool receive(std::chrono::milliseconds moment = std::chrono::milliseconds(50));
  /// The first line that has arrived and was not taken yet, or nothing.
  std::optional<std::string> take();
  /// Bytes that have arrived and were not taken.
  std::size_t pending() const { return received_.size(); }

 private:
  int socket_;
  std::string received_;
};

/// This program once more, in a process of its own at the other end of a socket. It has nothing else of this process
/// but its standard error, which its standard output goes to as well: what kernels print is no result.
class OwnProcess {
 public:
  /// `silent` ones have no standard output, `confined` ones no standard error either, and fork_confined() confines
  /// them.
  enum class Trust { full, silent, confined };

  /// No process.
  OwnProcess() = default;
  /// `variable` of the environment tells the process that it is one. Throws what KeptProgram throws.
  OwnProcess(const std::vector<std::string>& arguments, const char* variable, Trust trust);
  ~OwnProcess() { end(); }
  OwnProcess(const OwnProcess&) = delete;
  /// Ends the process before, once the other one runs.
  OwnProcess& operator=(OwnProcess&& other) noexcept {
    std::swap(folder_, other.folder_);
    std::swap(program_, other.program_);
    std::swap(connection_, other.connection_);
    return *this;
  }

  explicit operator bool() const { return static_cast<bool>(program_); }
  LineConnection& connection() { return connection_; }
  void signal(int number) const { program_.signal(number); }
  /// Waits a moment for the process to end, as the connection's end asks it to, and then ends it and all that it has
  /// started. Returns its state, as waitpid() tells it.
  int end();

 private:
  std::unique_ptr<TemporaryFolder> folder_;  ///< of a confined one, which sees another in its place
  KeptProgram program_;
  LineConnection connection_;
};

/// How a process ended that was not asked to. `hint` follows where its signal is that of a forbidden access.
std::string ending_text(int state, std::string_view hint = "");

/// The end of the socket that such a process has, as long as it serves. The process ends with the one that started it.
/// When something calls exit() meanwhile, the line {"exit": STATUS} tells so, and nothing is destroyed.
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
