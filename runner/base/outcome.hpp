#pragma once

#include <array>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

namespace sgemm {

/// How a case ended. Every case has exactly one outcome.
enum class Outcome {
  measured,
  sustained,      ///< with --sustain: ran back to back for seconds, which says nothing of a burst of samples
  executed,       ///< a GPU kernel ran on the executor: verified like a measured one, and not timed
  compared,       ///< with --accuracy: run once, and its error measured; not timed
  counted,        ///< what a GPU kernel asks of a GPU was counted on the executor
  profiled,       ///< with --profile: verified, and launched once more between marks for a profiler
  incorrect,      ///< the result is outside the kernel's error bound
  implausible,    ///< faster than the machine can be
  failed,         ///< a library call returned an error, or the kernel did what no kernel may
  not_supported,  ///< the kernel or the device can not do this
  skipped,        ///< it could be done, but not here and now
};

/// In that order.
inline constexpr std::array<std::string_view, 11> OUTCOMES{"measured", "sustained",     "executed",  "compared",
                                                           "counted",  "profiled",      "incorrect", "implausible",
                                                           "failed",   "not_supported", "skipped"};

/// Whether a case did what was asked for, and whether something is wrong with the kernel or its time.
constexpr bool ended_well(Outcome outcome) { return outcome < Outcome::incorrect; }
constexpr bool went_wrong(Outcome outcome) { return !ended_well(outcome) && outcome <= Outcome::failed; }

constexpr std::string_view to_string(Outcome outcome) { return OUTCOMES[static_cast<std::size_t>(outcome)]; }

/// Thrown to end a case with any outcome but those of cases that ended well; the message is the reason, in one line.
class CaseStopped : public std::runtime_error {
 public:
  CaseStopped(Outcome outcome, const std::string& reason) : std::runtime_error(reason), outcome_(outcome) {}

  Outcome outcome() const { return outcome_; }

 private:
  Outcome outcome_;
};

}  // namespace sgemm
