#pragma once

#include "device/device_buffer.hpp"
#include "device/device_problem.hpp"
#include "judge/hidden.hpp"
#include "judge/projection.hpp"
#include "judge/witness_kernels.hpp"
#include "problem/operands.hpp"
#include "verify/sample_witness.hpp"

#include <cuda_runtime_api.h>

#include <array>
#include <cstdint>
#include <memory>

namespace sgemm {

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
class Witness final : public SampleWitness {
 public:
  static constexpr int MOST_LAUNCHES = 32;

  /// Whether there are fresh operands of this shape and kind. Others stay the same in all samples.
  static bool can_renew(const Shape& shape, Distribution data);

  /// `problem` outlives the witness and holds the numbers of `seed`, which it has again when the witness is gone.
  Witness(const Secret& secret, std::uint64_t seed, DeviceProblem& problem, const Shape& shape, Distribution data,
          cudaStream_t stream);
  ~Witness() override;
  Witness(const Witness&) = delete;
  Witness& operator=(const Witness&) = delete;

  /// The number_of_launches() of the next sample, which both contenders have.
  int draw_launches(int most) const override;
  void renew(int launches) override;
  void require_right(Owner owner, const Standard& standard) override;
  /// About the relative error of the kernel's launches so far; 0 where there are none, or their signs tell nothing.
  double rel_err() const;

 private:
  /// The findings of a look in page-locked memory of the host.
  struct Found;

  /// Sums over all launches of an owner so far.
  struct Errors {
    int rounds = 0;
    double squares = 0.0;
    double values = 0.0;
    std::int64_t rows = 0;
  };

  void fill_with_seed();
  void enqueue_look(const ErrorBound& bound);
  /// The relative error over all rounds, where a launch has too few rows to tell; 0 where all have too few.
  double error_since_begin(Owner owner, const LookFindings& found);
  Matrices all_a();
  Matrices all_b();
  std::int64_t nan_row() const;

  const Secret secret_;
  const std::uint64_t seed_;
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
  std::unique_ptr<Found> found_;
  std::array<Errors, 2> errors_;
};

}  // namespace sgemm
