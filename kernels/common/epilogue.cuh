#pragma once

#include "common/target.hpp"

#include <cuda_runtime.h>

#include <cmath>

namespace sgemm::SGEMM_TARGET {

// alpha * sum is rounded alone, and beta * c is added to it. That is written out: the compiler may not choose
// otherwise, and elements have the same bits by themselves and in vectors. C is not read when beta is 0: it may hold
// anything then, NaN included.

/// Stores alpha * sum + beta * c.
__device__ __forceinline__ void update(float& c, float sum, float alpha, float beta) {
  c = beta == 0.0F ? alpha * sum : fmaf(beta, c, alpha * sum);
}

/// What a kernel stores: the sums as they are, where alpha is 1 and beta 0, or alpha * sums + beta * C.
enum class Epilogue { sums, scaled };

/// Updates four neighbouring elements at `c`, which is aligned to 16 bytes, with 128-bit accesses. The store
/// is write-through, as in Murray's kernel; in chapter 07 that measured 1 % faster than a plain one.
template <Epilogue EPILOGUE = Epilogue::scaled>
__device__ __forceinline__ void update4(float* c, const float* sums, float alpha, float beta) {
  float4* const destination = reinterpret_cast<float4*>(c);
  if constexpr (EPILOGUE == Epilogue::sums) {
    __stwt(destination, float4{sums[0], sums[1], sums[2], sums[3]});
    return;
  }
  float4 value{alpha * sums[0], alpha * sums[1], alpha * sums[2], alpha * sums[3]};
  if (beta != 0.0F) {
    const float4 old = *destination;
    value.x = fmaf(beta, old.x, value.x);
    value.y = fmaf(beta, old.y, value.y);
    value.z = fmaf(beta, old.z, value.z);
    value.w = fmaf(beta, old.w, value.w);
  }
  __stwt(destination, value);
}

}  // namespace sgemm::SGEMM_TARGET
