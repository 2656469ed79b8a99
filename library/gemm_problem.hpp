#pragma once

#include "common/ceil_div.hpp"
#include "common/problem.hpp"

namespace sgemm {

/// A problem whose operands may be stored transposed, and whose scalars may be on the GPU:
/// C = alpha * op(A) * op(B) + beta * C, all matrices row-major.
///
/// Where `a_transposed`, A is stored as k x m and `lda` is the distance between its k rows; B likewise.
struct GemmProblem : Problem {
  bool a_transposed = false;
  bool b_transposed = false;
  // The scalars in the GPU's memory. They replace `alpha` and `beta`; null if those hold.
  const float* alpha_at = nullptr;
  const float* beta_at = nullptr;

  SGEMM_HOST_DEVICE bool scalars_on_device() const { return alpha_at != nullptr; }
};

}  // namespace sgemm
