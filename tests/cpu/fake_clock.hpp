#pragma once

#include <functional>

namespace sgemm {

/// A clock that stands still until a test advances it. It outlives the functions that read it.
struct FakeClock {
  double seconds = 0.0;

  /// For SamplingOptions.
  std::function<double()> now() const {
    return [this] { return seconds; };
  }
};

}  // namespace sgemm
