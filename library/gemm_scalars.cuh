#pragma once

#include "common/target.hpp"
#include "engine/product_policy.cuh"
#include "gemm_problem.hpp"

namespace sgemm::SGEMM_TARGET {

/// The scalars of a problem, wherever they are. All threads of a warp call it. They take the values of the first one,
/// so that the compiler knows that no branch on them divides a warp.
__device__ __forceinline__ split_product::Scalars scalars_of(const GemmProblem& p) {
  return p.scalars_on_device()
             ? split_product::Scalars{__shfl_sync(~0U, *p.alpha_at, 0), __shfl_sync(~0U, *p.beta_at, 0)}
             : split_product::Scalars{p.alpha, p.beta};
}

}  // namespace sgemm::SGEMM_TARGET
