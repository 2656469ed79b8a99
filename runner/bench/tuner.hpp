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

// Finds the fastest configuration of a kernel for a problem. This file knows nothing of GPUs: a TuningBench runs and
// times the configurations.

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
  std::optional<TuningEntry> best;  ///< among the verified ones; nothing if there is none
};

/// The questions that the tuner asks a device about one kernel and problem. All functions may throw CaseStopped. It
/// concerns one configuration, except when round_of() throws it.
class TuningBench {
 public:
  virtual ~TuningBench() = default;

  virtual Prepared prepare(const Configuration& configuration) = 0;
  /// Runs it once and compares the result with the reference; `when` begins the reason where it is wrong.
  virtual void verify(const Prepared& prepared, std::string_view when) = 0;
  /// Throws where no GPU of this kind can take so little time for a launch, of which `launches` were timed together.
  virtual void require_possible(double us, int launches) = 0;
  /// Times all of them, on the same operands.
  virtual Round round_of(const std::vector<Prepared>& all) = 0;
};

/// Verifies `configurations`, times the correct ones in the same rounds, and verifies these again. `configurations` is
/// not empty. `options.contenders` is not used.
std::vector<Trial> try_all(const std::vector<Configuration>& configurations, TuningBench& bench,
                           SamplingOptions options, const Observer& observer);

/// The fastest of the trials that were measured, for the file; nothing if none was. The first trial is the kernel's own
/// choice.
std::optional<TuningEntry> best_of(const std::vector<Trial>& trials, std::string_view kernel, const Problem& problem);

}  // namespace sgemm
