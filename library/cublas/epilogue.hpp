#pragma once

#include <cmath>
#include <cstdint>

#ifdef __CUDACC__
#define DROP_IN_HOST_DEVICE __host__ __device__
#else
#define DROP_IN_HOST_DEVICE
#endif

namespace drop_in {

enum class Activation { none, relu, gelu, gelu_gradient };

/// What cuBLASLt does to a product X, element by element, before it stores D.
struct Epilogue {
  Activation activation = Activation::none;
  /// One number for each row of X, which is added to it. Null: none.
  const float* bias = nullptr;
  /// A matrix of the size of D. GELU stores its argument there. The gradient of GELU reads the argument there. Null:
  /// none.
  float* argument = nullptr;
  int64_t argument_ld = 0;

  bool empty() const { return activation == Activation::none && bias == nullptr; }
};

/// GELU by its approximation with tanh, which is cuBLASLt's.
DROP_IN_HOST_DEVICE inline float gelu(float x) {
  return 0.5F * x * (1.0F + std::tanh(0.79788456F * (x + 0.044715F * x * x * x)));
}

/// The derivative of gelu() at x.
DROP_IN_HOST_DEVICE inline float gelu_derivative(float x) {
  const float t = std::tanh(0.79788456F * (x + 0.044715F * x * x * x));
  return 0.5F * (1.0F + t) + 0.5F * x * (1.0F - t * t) * 0.79788456F * (1.0F + 3.0F * 0.044715F * x * x);
}

/// Element (row, column) of D, whose element of X is `x`.
DROP_IN_HOST_DEVICE inline float finished(const Epilogue& epilogue, float x, int64_t row, int64_t column) {
  if (epilogue.bias != nullptr) {
    x += epilogue.bias[row];
  }
  float* const argument =
      epilogue.argument == nullptr ? nullptr : epilogue.argument + row + column * epilogue.argument_ld;
  switch (epilogue.activation) {
    case Activation::none:
      return x;
    case Activation::relu:
      return x < 0.0F ? 0.0F : x;  // NaN stays NaN
    case Activation::gelu:
      if (argument != nullptr) {
        *argument = x;
      }
      return gelu(x);
    case Activation::gelu_gradient:
      return x * gelu_derivative(*argument);
  }
  return x;
}

}  // namespace drop_in
