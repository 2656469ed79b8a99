#pragma once

#include "base/interrupt.hpp"
#include "base/own_process.hpp"
#include "common/problem.hpp"
#include "host/kernel.hpp"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

// Foreign code and what judges it are two processes.
//
// The judge is the process that runs the bench. It has the secret, all memory that results are compared with, cuBLAS,
// the clock that counts, and the record. It never loads an object that was not built with the suite.
//
// The launcher is a process for one case. It loads the object of one file and does what it is asked: launch the kernel
// and tell the time between two events. It may be lied to by what it has loaded, so that none of its numbers is
// believed before the judge has compared them with its own (judge/round_trip.hpp).
//
// Both see one piece of GPU memory, with the operands of a sample's launches, and one event, the gate. The judge fills
// the operands, empties the L2, holds the GPU for a moment, and then lets the gate open. The launcher enqueues what it
// was asked for behind the gate. Processes take turns on a GPU, so nothing of the launcher's runs beside the judge's
// work, and whatever it does takes time of the judge's clock.

namespace sgemm {

/// Where the operands of one launch lie in the shared memory, in bytes from its begin.
struct Places {
  std::size_t a = 0;
  std::size_t b = 0;
  std::size_t c = 0;
};

/// What the launcher needs to take part: the device's number, and its memory and event that are shared, by their
/// handles as hexadecimal digits.
struct SharedGpu {
  int device = 0;
  std::string memory;
  std::string gate;
};

/// The judge's side of a launcher. Functions throw CaseStopped with the outcome where the launcher ends, reports an
/// error, or answers what it was not asked.
class Launcher {
 public:
  /// Starts the process.
  explicit Launcher(StopToken stop);
  /// For tests: a process or a thread that is there already.
  Launcher(int socket, StopToken stop) : connection_(socket), stop_(stop) {}
  ~Launcher();
  Launcher(const Launcher&) = delete;
  Launcher& operator=(const Launcher&) = delete;

  /// Before anything foreign is loaded.
  void open(const SharedGpu& gpu, const Shape& shape);
  void load(const std::filesystem::path& library);

  bool meets_requirement();
  /// Allocates the workspace that the file asks for. Returns its bytes.
  std::size_t prepare();
  /// Launches once for each of the places, behind the gate, and waits. Before load() it is an empty kernel that is
  /// launched, once. Returns the microseconds between the events around them, as the launcher tells.
  double sample(const std::vector<Places>& launches);
  /// Enqueues launches on the same operands; not behind the gate.
  void enqueue(const Places& places, int launches);
  /// Waits for the oldest of the enqueued batches. Returns its microseconds, as the launcher tells.
  double finish();
  std::optional<Resources> resources();

 private:
  using Json = nlohmann::ordered_json;

  LineConnection& connection() { return process_ ? process_.connection() : connection_; }
  /// What `read` makes of the answer.
  template <class Read>
  auto ask(Json request, const Read& read);
  void order(Json request);
  Json answer(std::uint64_t number);
  static double microseconds_in(const Json& answer);

  OwnProcess process_;
  LineConnection connection_;
  StopToken stop_;
  std::random_device random_;
};

/// What the launcher's process does it with: CUDA, or a fake in tests. Addresses are those of the process itself.
class LaunchingGpu {
 public:
  virtual ~LaunchingGpu() = default;

  virtual void open(const SharedGpu& gpu, const Shape& shape) = 0;
  virtual void load(const std::filesystem::path& library) = 0;
  virtual bool meets_requirement() = 0;
  virtual std::size_t prepare() = 0;
  virtual double sample(const std::vector<Places>& launches) = 0;
  virtual void enqueue(const Places& places, int launches) = 0;
  virtual double finish() = 0;
  virtual std::optional<Resources> resources() = 0;
};

/// Thrown by a LaunchingGpu that has no room, which is not the file's fault.
struct NoRoom : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The launcher's side: answers until the connection ends.
void serve_launches(LineConnection& connection, LaunchingGpu& gpu);

/// Of the environment; tells a process that it is a launcher.
constexpr const char* LAUNCHER_VARIABLE = "SGEMM_LAUNCHER";

/// Whether this process is a launcher.
bool is_launcher();

}  // namespace sgemm
