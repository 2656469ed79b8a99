#pragma once

namespace sgemm {

/// Stores alpha * sum + beta * c. C is not read when beta is 0: it may hold anything then, NaN included.
__device__ __forceinline__ void update(float& c, float sum, float alpha, float beta) {
  c = beta == 0.0F ? alpha * sum : alpha * sum + beta * c;
}

}  // namespace sgemm
