#pragma once

#include "device/device_buffer.hpp"
#include "device/device_problem.hpp"
#include "judge/hidden.hpp"
#include "judge/projection.hpp"
#include "judge/witness_kernels.hpp"
#include "problem/operands.hpp"
#include "verify/verify_element.hpp"

#include <cuda_runtime_api.h>

#include <array>
#include <cstdint>
#include <limits>
#include <memory>

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

/// Sees to the operands of a case's samples and looks at each of their results.
///
/// Every sample has new numbers in A and B, at new addresses, also that of a rival in the same round: whatever the
/// rival leaves behind, its result or parts of sums in a workspace, is of other numbers. When a contender's clock has
/// stopped, its C is looked at on the same stream, so what comes later is too late. What is expected is made of the
/// seeds after that, so that no kernel finds it in memory, or changes it by changing its operands.
///
/// Code that could not see a wrong C would call anything right. So a NaN is put into each C that has been looked at,
/// where the secret says, and a second look has to see it.
///
/// The memory around operands has numbers of their kind. So a kernel can not tell where those of a later launch lie,
/// which it could compute ahead.
class Witness {
 public:
  static constexpr int MOST_LAUNCHES = 32;

  /// Whether there are fresh operands of this shape and kind. Others stay the same in all samples.
  static bool can_renew(const Shape& shape, Distribution data);

  /// `problem` outlives the witness, and has the numbers of its last sample then.
  Witness(const Secret& secret, DeviceProblem& problem, const Shape& shape, Distribution data, cudaStream_t stream);

  /// The number_of_launches() of the next sample, which both contenders have.
  int draw_launches(int most) const;
  /// Enqueues new operands for a sample.
  void renew(int launches);
  /// Enqueues a look at the operands and the C of a sample's contender, and waits for it. Throws CaseStopped where a
  /// result was wrong (incorrect), or an operand was written to (failed).
  void require_right(Owner owner, const Standard& standard);
  /// About the relative error of the kernel's launches so far; 0 where there are none, or their signs tell nothing.
  double rel_err() const;

 private:
  /// Page-locked memory of the host.
  struct FreeOnHost {
    void operator()(LookFindings* memory) const { cudaFreeHost(memory); }
  };

  /// Sums over all launches of an owner so far.
  struct Errors {
    int rounds = 0;
    double squares = 0.0;
    double values = 0.0;
    std::int64_t rows = 0;
  };

  void enqueue_look(const ErrorBound& bound);
  /// The relative error over all rounds, where a launch has too few rows to tell; 0 where all have too few.
  double error_since_begin(Owner owner, const LookFindings& found);
  Matrices all_a();
  Matrices all_b();
  std::int64_t nan_row() const;

  const Secret secret_;
  DeviceProblem& problem_;
  const Shape shape_;
  const Distribution data_;
  cudaStream_t stream_;
  std::uint64_t sample_ = 0;
  int launches_ = 0;
  Seeds seeds_;
  std::uint64_t signs_ = 0;  ///< seed
  std::uint64_t nan_ = 0;    ///< where it is put
  DeviceBuffer<Factor> factors_;
  DeviceBuffer<Expectation> expected_;
  DeviceBuffer<RowOfSigns> c0_;
  DeviceBuffer<LookFindings> findings_;
  std::unique_ptr<LookFindings, FreeOnHost> found_;  ///< at C, and at C with a NaN in it
  std::array<Errors, 2> errors_;
};

}  // namespace sgemm
