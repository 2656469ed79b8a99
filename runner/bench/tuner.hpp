#pragma once

#include "base/outcome.hpp"
#include "bench/tuning_file.hpp"
#include "common/problem.hpp"
#include "host/kernel.hpp"
#include "timing/sampling.hpp"

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sgemm {

// Finds the fastest configuration of a kernel for a problem. This file knows nothing of GPUs: what it takes to try a
// configuration comes from a TuningBench.

/// How one configuration did.
struct Trial {
  std::string configuration;
  std::size_t workspace_bytes = 0;
  Outcome outcome = Outcome::measured;
  std::string reason;            ///< empty for `measured`
  std::vector<double> times_us;  ///< per launch, of the same rounds for all that were measured
  bool dropped = false;          ///< after the first samples, as hopeless
};

/// How a case ended.
struct TuningResult {
  Outcome outcome = Outcome::measured;
  std::string reason;               ///< why nothing was tried; empty for `measured`
  std::vector<Trial> trials;        ///< the kernel's own choice first
  std::optional<TuningEntry> best;  ///< of those that were verified; nothing where none was
};

/// The questions of the tuner to a device, about one kernel and problem. All may throw CaseStopped: about one
/// configuration, except from a round.
class TuningBench {
 public:
  virtual ~TuningBench() = default;

  virtual Prepared prepare(const Configuration& configuration) = 0;
  /// Runs it once and compares the result with the reference; `when` begins the reason where it is wrong.
  virtual void verify(const Prepared& prepared, std::string_view when) = 0;
  /// Times all of them, on the same operands.
  virtual Round round_of(const std::vector<Prepared>& all) = 0;
};

/// Verifies `configurations`, which are not empty, times those that are right in the same rounds, and verifies them
/// again. `options.contenders` is not used.
std::vector<Trial> try_all(const std::vector<Configuration>& configurations, TuningBench& bench,
                           SamplingOptions options, const Observer& observer);

/// The fastest of those that were measured, for the file; nothing where none was. The first is the kernel's own choice.
std::optional<TuningEntry> best_of(const std::vector<Trial>& trials, std::string_view kernel, const Problem& problem);

}  // namespace sgemm
