#pragma once

// What makes chapters 11 and 12 differ: the number and format of the terms that a number becomes, the products of terms
// that count, and the slots of the rings. The library (library/) multiplies by the same schemes.

#include "common/target.hpp"
#include "engine/split_operands.cuh"
#include "ptx/cvt.cuh"

namespace sgemm {
inline namespace SGEMM_TARGET {
namespace split_product {

/// Six BF16 products for each FP32 product. Chapter 11 explains it.
struct Bf16x6 {
  using Format = Bf16;
  static constexpr int TERMS = 3;
  static constexpr int PRODUCTS = 6;
  __device__ static constexpr TermsOfProduct product(int i) {
    constexpr TermsOfProduct ORDER[PRODUCTS] = {{2, 0}, {0, 2}, {1, 1}, {1, 0}, {0, 1}, {0, 0}};
    return ORDER[i];
  }
  // Rows have no scale of their own: BF16 has as many binades as a float.
  static constexpr int ROW_STEP = LARGEST_SPREAD + 1;
  static constexpr int A_SLOTS = 2;
  static constexpr int B_SLOTS = 2;
};

/// Three FP16 products for each FP32 product. Chapter 12 explains it.
struct Fp16x3 {
  using Format = Fp16;
  static constexpr int TERMS = 2;
  static constexpr int PRODUCTS = 3;
  __device__ static constexpr TermsOfProduct product(int i) {
    constexpr TermsOfProduct ORDER[PRODUCTS] = {{1, 0}, {0, 1}, {0, 0}};
    return ORDER[i];
  }
  static constexpr int ROW_STEP = 16;  // binades
  static constexpr int A_SLOTS = 3;
  static constexpr int B_SLOTS = 4;
};

}  // namespace split_product
}  // namespace SGEMM_TARGET
}  // namespace sgemm
