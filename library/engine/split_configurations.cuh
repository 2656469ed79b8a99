#pragma once

// Split configurations, by which kernels that split differ: the number and format of the terms that a number becomes,
// how many products of terms count, and the stages of the rings. Chapters 11, 12 and 13 explain them.

#include "common/target.hpp"
#include "engine/split_operands.cuh"
#include "ptx/cvt.cuh"

namespace sgemm::SGEMM_TARGET::split_product {

/// Six BF16 products for each FP32 product. Chapter 11 explains it.
struct Bf16x6 {
  using Format = Bf16;
  static constexpr int BK = split_product::BK;
  static constexpr int TERMS = 3;
  static constexpr int PRODUCTS = 6;
  // Rows have no scale of their own: BF16 has as many binades as a float.
  static constexpr int ROW_STEP = LARGEST_SPREAD + 1;
  static constexpr bool EXACT_SUMS = false;
  static constexpr int A_STAGES = 2;
  static constexpr int B_STAGES = 2;
};

/// Three FP16 products for each FP32 product. Chapter 12 explains it.
struct Fp16x3 {
  using Format = Fp16;
  static constexpr int BK = split_product::BK;
  static constexpr int TERMS = 2;
  static constexpr int PRODUCTS = 3;
  static constexpr int ROW_STEP = 16;  // binades
  static constexpr bool EXACT_SUMS = false;
  static constexpr int A_STAGES = 3;
  static constexpr int B_STAGES = 4;
};

/// The same for lines that have one scale over all of k (line_terms.cuh). It is undone where a tile of C ends.
struct Fp16x3Lines : Fp16x3 {
  static constexpr int ROW_STEP = 0;
};

/// Six products of signed 8-bit digits for each FP32 product. Chapter 13 explains it.
struct Int8x6 {
  static constexpr int BK = WGMMA_ROW_BYTES;  // of integers of a byte
  static constexpr int TERMS = 3;
  static constexpr int PRODUCTS = 6;
  static constexpr bool EXACT_SUMS = true;  // in any order of k
  static constexpr int A_STAGES = 2;
  static constexpr int B_STAGES = 2;
};

}  // namespace sgemm::SGEMM_TARGET::split_product
