#pragma once

// What an epilogue makes of one element. Kernels that store several elements at a time share the functions.

#include "common/target.hpp"
#include "gemm_epilogue.hpp"
#include "ptx/approx.cuh"

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>

namespace sgemm::SGEMM_TARGET {

// GELU by its approximation with tanh: x / 2 (1 + tanh(y)) = x / (1 + exp(-2 y)), where y = GELU_1 x + GELU_3 x^3.
// Hendrycks and Gimpel, "Gaussian Error Linear Units (GELUs)".
constexpr float GELU_1 = 0.79788456F;
constexpr float GELU_3 = 0.79788456F * 0.044715F;
constexpr float LOG2_E = 1.44269504F;

__device__ __forceinline__ float gelu(float x) {
  const float exponent = x * fmaf(-2.0F * LOG2_E * GELU_3, x * x, -2.0F * LOG2_E * GELU_1);
  return x * rcp_approx(1.0F + ex2_approx(exponent));
}

/// The derivative of gelu() at x: s + x s (1 - s) (2 y)', where s = 1 / (1 + exp(-2 y)) and 1 - s = exp(-2 y) s. Beyond
/// 16 it is 0 or 1 to all digits, where the terms would be Inf * 0.
__device__ __forceinline__ float gelu_derivative(float argument) {
  const float x = argument > 16.0F ? 16.0F : argument;
  const float square = x * x;
  const float exponent = x * fmaf(-2.0F * LOG2_E * GELU_3, square, -2.0F * LOG2_E * GELU_1);
  const float power = ex2_approx(fminf(exponent, 126.0F));  // so that power * s is near 1, not Inf * 0
  const float s = rcp_approx(1.0F + power);
  return x < -16.0F ? 0.0F : fmaf(power * s * s, x * fmaf(6.0F * GELU_3, square, 2.0F * GELU_1), s);
}

/// max(x, 0), but NaN stays NaN.
__device__ __forceinline__ float relu(float x) { return x < 0.0F ? 0.0F : x; }

/// Whether the mask of ReLU has a bit for an argument. cuBLASLt has one for 0 and for NaN as well.
__device__ __forceinline__ bool passes_relu(float x) { return !(x < 0.0F); }

/// The number that the epilogue adds to an element, or 0.
__device__ __forceinline__ float bias_of(const GemmEpilogue& epilogue, std::int64_t row, std::int64_t column) {
  return epilogue.bias == nullptr ? 0.0F : epilogue.bias[epilogue.bias_of_rows ? row : column];
}

/// The element of D whose activation has the argument `x`. Writes the argument of GELU, but no mask.
__device__ __forceinline__ float activated(const GemmEpilogue& epilogue, float x, std::int64_t row,
                                           std::int64_t column) {
  switch (epilogue.activation) {
    case SGEMM_ACTIVATION_NONE:
      return x;
    case SGEMM_ACTIVATION_RELU:
      return relu(x);
    case SGEMM_ACTIVATION_GELU:
      if (epilogue.aux != nullptr) {
        *argument_at(epilogue, row, column) = x;
      }
      return gelu(x);
    case SGEMM_ACTIVATION_RELU_GRADIENT:
      return (*mask_word(epilogue, row, column) >> static_cast<unsigned>(column % 32) & 1U) != 0 ? x : 0.0F;
    case SGEMM_ACTIVATION_GELU_GRADIENT:
      return x * gelu_derivative(*argument_at(epilogue, row, column));
  }
  return x;
}

}  // namespace sgemm::SGEMM_TARGET
