#pragma once

#include "base/interrupt.hpp"

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace sgemm {

// When to stop warming up and sampling. This file knows nothing of GPUs: times come from a Round.

/// Sampling goes on until the interval of every watched median is at most this wide to either side, relative to it...
constexpr double TARGET_CI = 0.005;
constexpr double CONFIDENCE = 0.95;
/// ...with at least so many samples, or ends at this many, or when the time budget is used. A case over budget still
/// gets its fewest samples.
constexpr int MIN_SAMPLES = 7;
constexpr int MAX_SAMPLES = 200;
constexpr int FEWEST_SAMPLES = 3;

/// Warm-up: at least two rounds and until two successive ones agree this well, for at most this long after the second.
/// A first round that already took that long is enough of a warm-up by itself.
constexpr double WARM_UP_AGREEMENT = 0.02;
constexpr double WARM_UP_SECONDS = 0.25;

/// Kernels shorter than this are launched several times within one sample, so that it lasts this long: events resolve
/// about 0.5 us, 1 % of it.
constexpr double SHORTEST_SAMPLE_US = 50.0;
constexpr int MAX_LAUNCHES_PER_SAMPLE = 32;

/// A contender whose first samples take so many times as long as the best one's is not worth more of them.
constexpr double HOPELESS = 1.5;

/// Times every contender in `order` once, one after the other, with so many launches each. Returns microseconds per
/// launch, indexed by contender; what stands there for one that is not in `order` has no meaning.
using Round = std::function<std::vector<double>(const std::vector<int>& order, int launches)>;

/// Called before each round with what is going on.
using Observer = std::function<void(std::string_view activity)>;

struct SamplingOptions {
  int contenders = 1;        ///< for take_samples() 1, or 2: a kernel (0) and the rival it is compared with (1)
  bool batch_short = true;   ///< several launches per sample for short kernels
  double max_seconds = 1.0;  ///< of sampling, warm-up excluded
  std::uint64_t seed = 0;    ///< of the random order within each round
  StopToken stop = {};       ///< asked before each round: what ends the sampling throws
};

struct Timings {
  std::vector<double> kernel_us;  ///< per launch
  std::vector<double> rival_us;   ///< of the same rounds; empty without a rival
  int launches_per_sample = 1;

  /// rival / kernel of each round: how many times faster the kernel is. Drift of the clocks cancels within a round.
  std::vector<double> ratios() const;
};

/// Warms up, then takes rounds until the median of the kernel's times, and that of the ratios where there is a rival,
/// are known well enough.
Timings take_samples(const Round& round, const SamplingOptions& options, const Observer& observer);

/// The times of several contenders.
struct Comparison {
  std::vector<std::vector<double>> times_us;  ///< per launch; the rounds are the same, those dropped have the first few
  int launches_per_sample = 1;
};

/// Warms up, then takes rounds until the median of every contender is known well enough. After the fewest samples those
/// that are hopeless are dropped, contender 0 excepted, which the others are compared with. The budget of
/// `options.max_seconds` is for each that is left.
Comparison compare(const Round& round, const SamplingOptions& options, const Observer& observer);

}  // namespace sgemm
