#pragma once

#include "base/interrupt.hpp"

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace sgemm {

// Decides when warm-up and sampling end. This file knows nothing of GPUs: times come from a Round.

/// Sampling goes on until half the width of every watched median's interval is at most this, relative to the median...
constexpr double TARGET_CI = 0.005;
constexpr double CONFIDENCE = 0.95;
/// ...with at least MIN_SAMPLES samples. It ends at MAX_SAMPLES or when the time budget is used. A case over budget
/// still gets FEWEST_SAMPLES.
constexpr int MIN_SAMPLES = 7;
constexpr int MAX_SAMPLES = 200;
constexpr int FEWEST_SAMPLES = 3;

/// Warm-up takes at least two rounds, until two successive ones agree this well, and lasts at most WARM_UP_SECONDS
/// after the second round. If the first round alone took that long, it is the whole warm-up.
constexpr double WARM_UP_AGREEMENT = 0.02;
constexpr double WARM_UP_SECONDS = 0.25;

/// Kernels shorter than this are launched several times within one sample, so that it lasts this long: events resolve
/// about 0.5 us, 1 % of it.
constexpr double SHORTEST_SAMPLE_US = 50.0;
constexpr int MAX_LAUNCHES_PER_SAMPLE = 32;

/// Times every contender in `order` once, one after the other, with `launches` launches each. Returns microseconds per
/// launch, indexed by contender.
using Round = std::function<std::vector<double>(const std::vector<int>& order, int launches)>;

/// For how long the GPU is kept busy while the host enqueues a sample. It is generous, because a hold that is too long
/// costs a little time and no accuracy.
class Hold {
 public:
  /// Forgets how late the host was. With a kernel's first launches its code is loaded, which takes longest.
  void begin_case() { factor_ = 1, round_us_ = 0.0; }
  double us(int launches) const { return factor_ * (HOLD_US + PER_LAUNCH_US * launches) + SHARE * round_us_; }
  /// The time of the round before. A host that has slept for long is slow at first, and its round is dear to take
  /// again.
  void follow(double round_us) { round_us_ = round_us; }
  /// `enqueue` takes a round and returns whether the host was late. It is called again, with longer holds for the rest
  /// of the case, while the host was. A call that waits for the GPU is late with any, so there is an end to that.
  void outlast(const std::function<bool()>& enqueue);
  /// Whether a sample of `sample_us` is too short for a host that took so long to enqueue it: the GPU may have waited.
  static bool counts(double late_us, double sample_us) { return late_us > LATE_SHARE * sample_us; }
  /// Rounds in which the host was late at last: their times have its own in them.
  int late_rounds() const { return late_rounds_; }

 private:
  static constexpr double HOLD_US = 20.0;
  static constexpr double PER_LAUNCH_US = 6.0;
  static constexpr int MOST_FACTOR = 16;
  static constexpr double SHARE = 0.001;
  static constexpr double LATE_SHARE = 0.002;

  int factor_ = 1;
  double round_us_ = 0.0;
  int late_rounds_ = 0;
};

/// Called before each round with a text that says what is going on.
using Observer = std::function<void(std::string_view activity)>;

/// Seconds since a fixed moment, of a clock that never goes back.
double steady_seconds();

struct SamplingOptions {
  int contenders = 1;                            ///< 1, or 2: a kernel (0) and the rival it is compared with (1)
  bool batch_short = true;                       ///< several launches per sample for short kernels
  double max_seconds = 1.0;                      ///< of sampling, warm-up excluded
  std::uint64_t seed = 0;                        ///< of the random order within each round
  StopToken stop = {};                           ///< asked before each round; check() throws to end the sampling
  std::function<double()> now = steady_seconds;  ///< the clock of warm-up and budget, which tests replace
};

struct Timings {
  std::vector<double> kernel_us;  ///< per launch
  std::vector<double> rival_us;   ///< of the same rounds; empty without a rival
  int launches_per_sample = 1;
  int last = 0;  ///< the contender that came last, whose C is in memory

  /// rival / kernel of each round: how many times faster the kernel is. Drift of the clocks cancels within a round.
  std::vector<double> ratios() const;
};

/// Warms up, then takes rounds until the median of the kernel's times, and that of the ratios where there is a rival,
/// are known well enough.
Timings take_samples(const Round& round, const SamplingOptions& options, const Observer& observer);

}  // namespace sgemm
