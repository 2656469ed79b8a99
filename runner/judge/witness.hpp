#pragma once

#include "device/device_buffer.hpp"
#include "device/device_problem.hpp"
#include "judge/projection.hpp"
#include "judge/secret.hpp"
#include "problem/operands.hpp"

#include <cuda_runtime_api.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

namespace sgemm {

/// Sees to the operands of a case's samples and looks at each of their results.
///
/// Every round has new numbers in A and B, at new addresses, which its contenders share. When a contender's clock has
/// stopped, its C is looked at on the same stream, so what comes later is too late.
class Witness {
 public:
  static constexpr int MOST_LAUNCHES = 32;

  /// How wrong a contender may be: the bound of its class, and, where it is known, the relative error that a launch of
  /// it had before.
  struct Standard {
    ErrorBound bound;
    double rel_err = std::numeric_limits<double>::infinity();
  };

  /// Whether there are fresh operands of this shape and kind. Others stay the same in all samples.
  static bool can_renew(const Shape& shape, Distribution data);

  /// `problem` outlives the witness and holds the numbers of `seed`, which it has again when the witness is gone.
  Witness(const Secret& secret, std::uint64_t seed, DeviceProblem& problem, const Shape& shape, Distribution data,
          cudaStream_t stream);
  ~Witness();
  Witness(const Witness&) = delete;
  Witness& operator=(const Witness&) = delete;

  /// Enqueues new operands for a round.
  void renew(int launches);
  /// Enqueues a look at the C of a contender, the next in the round.
  void look(Owner owner, const Standard& standard);
  /// After the round has ended. Throws CaseStopped (incorrect) where a result was wrong.
  void require_right();

 private:
  struct Look;

  void fill_with_seed();

  const Secret secret_;
  const std::uint64_t seed_;
  DeviceProblem& problem_;
  const Shape shape_;
  const Distribution data_;
  cudaStream_t stream_;
  int round_ = 0;
  int launches_ = 0;
  std::uint64_t signs_ = 0;  ///< seed
  DeviceBuffer<Factor> factors_;
  DeviceBuffer<Expectation> expected_;
  DeviceBuffer<RowOfSigns> c0_;
  std::vector<std::unique_ptr<Look>> looks_;
};

}  // namespace sgemm
