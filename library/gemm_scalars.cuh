#pragma once

#include "common/target.hpp"
#include "engine/split_product.cuh"
#include "gemm_problem.hpp"

namespace sgemm {
inline namespace SGEMM_TARGET {

/// The scalars of a problem, wherever they are.
__device__ __forceinline__ split_product::Scalars scalars_of(const GemmProblem& p) {
  return p.scalars_on_device() ? split_product::Scalars{*p.alpha_at, *p.beta_at}
                               : split_product::Scalars{p.alpha, p.beta};
}

}  // namespace SGEMM_TARGET
}  // namespace sgemm
