#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace sgemm {

/// Appends what a pipe or a socket has to `output`. Returns false at its end, true after `time` without anything as
/// well.
bool read_some(int descriptor, std::chrono::milliseconds time, std::string& output);

/// What to start, and how.
struct ProgramStart {
  std::string program;                             ///< is looked for on PATH where it has no slash
  std::vector<std::string> words;                  ///< its name and its arguments
  std::vector<std::string> variables;              ///< "NAME=value", added to the environment of this process
  std::vector<std::pair<int, int>> descriptors;    ///< of this process, and the numbers that they have there
  std::vector<std::filesystem::path> left_behind;  ///< files and folders to remove where it does not end by itself
  std::filesystem::path confined_to;               ///< where it is not empty: fork_confined()
};

// A process that runs a stranger's code can read what its user can, and compute. It can do nothing to what is outside:
//
// - it is a user namespace's nobody, so it has no capabilities, and the memory of processes outside is not its own
// - its processes have numbers of their own: it has none to send a signal to, and all of them end with the first one
// - it has a network of its own, without any device, and connects to nothing: a path may be another program's socket
// - it opens nothing for writing, be it a named pipe, and no device, but for files of one folder, which are in memory
//   and go with it

/// As fork() does, into namespaces of its own. The new process is confined, with the rights to confine itself further
/// that the programs which it executes do not have, and can write below `folder` alone, which is empty. `error` says
/// there what the system did not allow, or 0. Nothing is to be executed then.
pid_t fork_confined(const std::filesystem::path& folder, int& error);

/// What such a process does while its child runs, with all signals blocked: it hands them on, and waits for all whose
/// parents have ended. Returns the child's state, as waitpid() tells it.
int wait_confined(pid_t child);

/// Thrown where a program is not started, because nothing would have confined it.
class CanNotConfine : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A program with a keeper: a process that waits for the program's end, or for that of this process, and then ends all
/// that the program has started, in whatever session or group that is, and whoever its parent is by now. The program
/// has a group of its own, so Ctrl-C reaches this process alone. Its standard input is empty.
class KeptProgram {
 public:
  /// No program.
  KeptProgram() = default;
  /// Throws std::system_error where it does not start, CanNotConfine where the system does not let it be confined.
  explicit KeptProgram(const ProgramStart& start);
  KeptProgram(KeptProgram&& other) noexcept { *this = std::move(other); }
  KeptProgram& operator=(KeptProgram&& other) noexcept;
  KeptProgram(const KeptProgram&) = delete;
  KeptProgram& operator=(const KeptProgram&) = delete;
  ~KeptProgram() { end(); }

  explicit operator bool() const { return keeper_ != 0; }
  void signal(int number) const;
  /// Whether it ends by itself within that time.
  bool ends_within(std::chrono::milliseconds time) const;
  /// Ends it where it has not ended yet. Returns its state, as waitpid() tells it, once nothing of it is left.
  int end();

 private:
  pid_t keeper_ = 0;  ///< 0 while there is none
  int socket_ = -1;   ///< to the keeper: signals for the program; from there: whether it started, and how it ended
};

}  // namespace sgemm
