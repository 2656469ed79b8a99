#pragma once

#include "verify/verify_element.hpp"

#include <limits>

namespace sgemm {

/// Whose launches a sample has.
enum class Owner { kernel, cublas };

/// How wrong a contender may be: the bound of its class, and, where it is known, the relative error that a launch of it
/// had before, and the most that its class allows.
struct Standard {
  ErrorBound bound;
  double rel_err = std::numeric_limits<double>::infinity();
  double most_rel_err = std::numeric_limits<double>::infinity();
};

/// Who renews operands before a sample and looks at its results behind it: the judge (judge/witness.hpp).
class SampleWitness {
 public:
  virtual ~SampleWitness() = default;

  /// How many launches the next sample has, `most` at most.
  virtual int draw_launches(int most) const = 0;
  /// Enqueues new operands for a sample.
  virtual void renew(int launches) = 0;
  /// Enqueues a look at the operands and the C of a sample's contender, and waits for it. Throws CaseStopped where a
  /// result was wrong (incorrect), or an operand was written to (failed).
  virtual void require_right(Owner owner, const Standard& standard) = 0;
};

}  // namespace sgemm
