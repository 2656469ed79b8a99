#pragma once

#include "common/target.hpp"
#include "ptx/cvt.cuh"

#include <cuda_runtime.h>

namespace sgemm {
inline namespace SGEMM_TARGET {

/// Writes `x` as the sum of two terms for tensor cores. `big` is in TF32; `small`, at most 2^-11 of it, has up to 12
/// significant bits, and tensor cores take 11 of them. The terms are not finite if x is Inf or NaN or rounds to Inf.
__device__ __forceinline__ void split_for_tf32(float x, float& big, float& small) {
  big = cvt_rn_tf32_f32(x);
  small = x - big;
}

}  // namespace SGEMM_TARGET
}  // namespace sgemm
