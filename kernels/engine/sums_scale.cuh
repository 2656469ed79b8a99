#pragma once

// Sums of products of scaled operand tiles by mma.sync (sm_80 and later): the power of two that they have in common.
// Chapter 16 explains this code.

#include "common/target.hpp"
#include "engine/mma_operands.cuh"
#include "engine/split_operands.cuh"
#include "engine/split_terms.cuh"

#include <cmath>

namespace sgemm {
inline namespace SGEMM_TARGET {
namespace split_product {

/// The power of two that sums are divided by, and the change to that of a k-tile's products and back.
template <class Scheme, int TILES_M, int TILES_N>
class SumsScale {
 public:
  using Sums = float[TILES_M][4 * TILES_N];  ///< as mma.sync holds D

  /// `row` and `column`: the places of the thread's first elements in their operand tiles.
  __device__ __forceinline__ SumsScale(int row, int column) : row_(row), column_(column) {}

  /// Scales sums as the products of two operand tiles are. If these are too far apart, sums become NaN. `uniform` is
  /// the sum of that of a and b.
  __device__ __forceinline__ void change(Sums& sums, int uniform, const Scaling& a, const Scaling& b) {
    changed_ = uniform != exponent_;
    if (changed_) {
      const int own = a.exponent + b.exponent;
      changed_ = own > ALL_ZERO / 2;
      if (changed_) {
        const int binades = exponent_ == ALL_ZERO ? 0 : exponent_ - own;
        exponent_ = own > exponent_ ? own : exponent_;
        multiply(sums, binades, 1, a, b);
        below_ = exponent_ - own;
        changed_ = below_ > 0 || uniform != own;
      }
    }
  }

  /// Scales sums as before, or with the larger of both powers of two, and without factors of rows and columns.
  __device__ __forceinline__ void restore(Sums& sums, const Scaling& a, const Scaling& b) const {
    if (changed_) {
      multiply(sums, -below_, -1, a, b);
    }
  }

  __device__ __forceinline__ void undo(Sums& sums) const {
    const int exponent = exponent_ == ALL_ZERO ? 0 : exponent_;
#pragma unroll
    for (int i = 0; i < TILES_M; ++i) {
#pragma unroll
      for (float& sum : sums[i]) {
        sum = scaled(sum, exponent);
      }
    }
  }

 private:
  /// Multiplies sums by 2^binades, and by 2^(sign * ROW_STEP) for each step of their row and of their column.
  __device__ __forceinline__ void multiply(Sums& sums, int binades, int sign, const Scaling& a,
                                           const Scaling& b) const {
    const float of_all = binades < -LARGEST_SPREAD || binades > LARGEST_SPREAD ? NAN : power_of_2(binades);
    const auto factor = [&](int steps) { return power_of_2(sign * Scheme::ROW_STEP * steps); };
#pragma unroll
    for (int i = 0; i < TILES_M; ++i) {
      const float of_rows[2] = {of_all * factor(a.rows[row_ + i * MMA_M]),
                                of_all * factor(a.rows[row_ + i * MMA_M + 8])};
#pragma unroll
      for (int e = 0; e < 4 * TILES_N; ++e) {
        sums[i][e] *= of_rows[e / 2 % 2] * factor(b.rows[column_ + e / 4 * MMA_N + e % 2]);
      }
    }
  }

  int row_;
  int column_;
  int exponent_ = ALL_ZERO;
  bool changed_ = false;
  int below_ = 0;  ///< how many binades the last products are below the sums
};

}  // namespace split_product
}  // namespace SGEMM_TARGET
}  // namespace sgemm
