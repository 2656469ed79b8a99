#pragma once

#include "common/target.hpp"
#include "gemm_problem.hpp"
#include "sgemm/sgemm.h"

#include <cstdint>

namespace sgemm {

/// What becomes of the elements of a row-major product before they are stored: D = f(alpha * op(A) * op(B) + beta * C +
/// bias), where D is the `c` of the GemmProblem. sgemm.h explains the functions.
struct GemmEpilogue {
  sgemm_activation_t activation = SGEMM_ACTIVATION_NONE;
  const float* bias = nullptr;  ///< null: none
  bool bias_of_rows = false;    ///< one number for each row, otherwise for each column
  void* aux = nullptr;          ///< row-major, of floats, or of bits with the first one in the lowest place of a word
  std::int64_t aux_ld = 0;      ///< in floats or bits
  // The matrix that beta multiplies: D itself, or another one.
  const float* c = nullptr;
  std::int64_t ldc = 0;
  bool c_is_another_matrix = false;

  SGEMM_HOST_DEVICE bool writes_mask() const { return activation == SGEMM_ACTIVATION_RELU && aux != nullptr; }
  SGEMM_HOST_DEVICE bool writes_argument() const { return activation == SGEMM_ACTIVATION_GELU && aux != nullptr; }
  /// Whether anything is left to do once the product is stored.
  bool changes_elements() const { return activation != SGEMM_ACTIVATION_NONE || bias != nullptr; }
  /// Whether the product alone would leave something else in D.
  bool changes_d(const GemmProblem& p) const {
    return changes_elements() || (c_is_another_matrix && (p.scalars_on_device() || p.beta != 0.0F));
  }
};

/// Words of 32 bits of a mask. Leading dimensions are multiples of 128 bits.
SGEMM_HOST_DEVICE inline unsigned* mask_word(const GemmEpilogue& epilogue, std::int64_t row, std::int64_t column) {
  return static_cast<unsigned*>(epilogue.aux) + (row * epilogue.aux_ld + column) / 32;
}
SGEMM_HOST_DEVICE inline float* argument_at(const GemmEpilogue& epilogue, std::int64_t row, std::int64_t column) {
  return static_cast<float*>(epilogue.aux) + row * epilogue.aux_ld + column;
}

}  // namespace sgemm
