#pragma once

#include "base/interrupt.hpp"
#include "device/telemetry.hpp"
#include "device/trace.hpp"
#include "timing/sampling.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace sgemm {

// A turn is a stretch of time in which a GPU does one product after the other, with no pause between. Energy and
// sustained speed are measured over turns. Bursts of samples are too short for that, and pause.
//
// This file knows nothing of GPUs: launches go through a LaunchQueue, and time through a Pause.

/// Seconds of a turn that measures energy: ten steps of an energy counter that moves every 100 ms.
constexpr double ENERGY_SECONDS = 1.0;
/// Launches are enqueued in batches that last about this long. Two are enqueued at any time.
constexpr double BATCH_SECONDS = 0.02;
constexpr int MAX_LAUNCHES_PER_BATCH = 20000;

/// Between two turns the GPU idles until it is at most COOL_KELVIN warmer than before the first turn, but no longer
/// than COOL_SECONDS. Where it reports no temperature, it idles for all of them.
constexpr int COOL_KELVIN = 2;
constexpr double COOL_SECONDS = 60.0;

/// A GPU that does one batch of launches after the other.
class LaunchQueue {
 public:
  virtual ~LaunchQueue() = default;

  /// Appends `launches` launches of one product, on the same operands, and does not wait.
  virtual void enqueue(int launches) = 0;
  /// Waits for the oldest batch. Returns the microseconds from the end of the batch before it, or from its own start
  /// where the queue was empty.
  virtual double finish() = 0;
};

/// The launches of a turn, and what the GPU did meanwhile.
struct Turn {
  int launches_per_batch = 1;
  std::vector<double> batch_us;  ///< that each batch took
  Trace trace;
  bool cut_short = false;  ///< by a request to stop

  double seconds() const;
  long long launches() const;
  double launch_us() const;  ///< mean time of a launch; there has to be a batch

  /// The launches that ended until `seconds` after the start of the turn, with a share of the one under way.
  double launches_until(double seconds) const;
};

/// The energy of one product in a turn, or why it is unknown.
struct ProductEnergy {
  std::optional<EnergyUse> use;  ///< of the part of the turn that could be measured
  double joules = 0.0;           ///< of one product, where there is a use
  std::string reason;            ///< empty where there is a use
};
ProductEnergy product_energy(const Turn& turn);

/// Enqueues launches for `seconds`, but at least one batch. A request to stop ends the turn before, and what it has
/// stays. `telemetry` may be null.
Turn take_turn(LaunchQueue& queue, double seconds, const Telemetry* telemetry, const StopToken& stop,
               const Observer& observer);

/// How the GPU idled before a turn.
struct CoolDown {
  double seconds = 0.0;
  std::optional<int> from_c;
  std::optional<int> to_c;
};

/// Waits for the given number of seconds.
using Pause = std::function<void(double seconds)>;

/// Idles by the rule above, where `target_c` is the temperature before the first turn. A request to stop ends it.
CoolDown cool_down(const Telemetry* telemetry, std::optional<int> target_c, const Pause& pause, const StopToken& stop,
                   const Observer& observer);

/// A kernel and cuBLAS in one turn each.
struct Turns {
  Turn kernel;
  Turn cublas;
};

/// How they compare where each runs for long. The cool-downs are those before the turns.
struct Sustained {
  double asked_s = 0.0;  ///< that each turn was to last
  Turns turns;
  CoolDown before_kernel;
  CoolDown before_cublas;
};

}  // namespace sgemm
