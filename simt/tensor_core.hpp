#pragma once

// What tensor cores compute: mma.sync.m16n8k8 with TF32 operands.

#include "executor.hpp"

#include <array>

namespace simt {

/// What a lane holds of A (16 x 8) and B (8 x 8); kernels/tensor_core.cuh tells which elements.
struct MmaOperands {
  std::array<float, 4> a{};
  std::array<float, 2> b{};
};

/// Sets `d` to what lane `lane` holds of A * B + C, 16 x 8. The 13 mantissa bits of A and B that TF32 lacks are
/// ignored; products are exact and so, but for the last bits of a double, is their sum with C, which is then rounded
/// towards 0. Hardware cuts off the terms instead, some bits further down, which differs from GPU to GPU.
void multiply_tf32(const std::array<MmaOperands, WARP>& operands, unsigned lane, const float (&c)[4], float (&d)[4]);

}  // namespace simt
