#pragma once

// Calls with an epilogue, and the check of all that they write, for a GPU and the executor.

#include "gemm_case.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <sstream>
#include <string>

namespace sgemm::test {

/// What an epilogue has.
struct EpilogueKind {
  sgemm_activation_t activation = SGEMM_ACTIVATION_NONE;
  bool has_bias = false;
  sgemm_bias_t bias_of = SGEMM_BIAS_OF_ROWS;
  bool has_aux = false;
  bool has_other_c = false;  ///< C is not D

  bool is_of_mask() const {
    return has_aux && (activation == SGEMM_ACTIVATION_RELU || activation == SGEMM_ACTIVATION_RELU_GRADIENT);
  }
  bool is_gradient() const {
    return activation == SGEMM_ACTIVATION_RELU_GRADIENT || activation == SGEMM_ACTIVATION_GELU_GRADIENT;
  }
};

constexpr EpilogueKind EPILOGUES[] = {
    {SGEMM_ACTIVATION_NONE, true, SGEMM_BIAS_OF_ROWS, false, false},
    {SGEMM_ACTIVATION_NONE, true, SGEMM_BIAS_OF_COLUMNS, false, true},
    {SGEMM_ACTIVATION_NONE, false, SGEMM_BIAS_OF_ROWS, false, true},
    {SGEMM_ACTIVATION_RELU, false, SGEMM_BIAS_OF_ROWS, false, false},
    {SGEMM_ACTIVATION_RELU, false, SGEMM_BIAS_OF_ROWS, true, false},
    {SGEMM_ACTIVATION_RELU, true, SGEMM_BIAS_OF_COLUMNS, true, false},
    {SGEMM_ACTIVATION_RELU_GRADIENT, false, SGEMM_BIAS_OF_ROWS, true, true},
    {SGEMM_ACTIVATION_GELU, true, SGEMM_BIAS_OF_ROWS, false, true},
    {SGEMM_ACTIVATION_GELU, true, SGEMM_BIAS_OF_COLUMNS, true, false},
    {SGEMM_ACTIVATION_GELU_GRADIENT, false, SGEMM_BIAS_OF_ROWS, true, false},
};

inline double gelu_of(double x) { return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); }
inline double gelu_derivative_of(double x) {
  const double t = std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x));
  return (1 + t) / 2 + x / 2 * (1 - t * t) * std::sqrt(2 / M_PI) * (1 + 3 * 0.044715 * x * x);
}

/// The operands of a case: those of the product, whose C is what beta multiplies, and the rest. Numbers of a gradient's
/// auxiliary matrix are known, and all others hold OUTSIDE.
class EpilogueOperands {
 public:
  EpilogueOperands(const GemmCase& product, const EpilogueKind& of, const Change& change = change_nothing)
      : kind(of),
        gemm(product, change),
        other_d(product, product.m, product.n, OUTSIDE),
        bias(static_cast<std::size_t>(of.bias_of == SGEMM_BIAS_OF_ROWS ? product.m : product.n), 0.0F),
        argument(product, product.m, product.n, OUTSIDE),
        mask_ld_((length_of_line() + SGEMM_MASK_ALIGNMENT - 1) / SGEMM_MASK_ALIGNMENT * SGEMM_MASK_ALIGNMENT +
                 (product.padding > 0 ? SGEMM_MASK_ALIGNMENT : 0)),
        mask(static_cast<std::size_t>(mask_ld_ / 32 * (is_row_major() ? product.m : product.n)), UNTOUCHED) {
    std::mt19937 random(19891109);
    std::uniform_real_distribution<float> uniform(-3.0F, 3.0F);
    for (float& number : bias.host()) {
      number = uniform(random);
    }
    bias.upload();
    if (of.is_gradient()) {
      argument.for_each([&](std::int64_t item, std::int64_t row, std::int64_t column) {
        const std::int64_t place = row * product.n + column;  // some beyond what a cube holds
        argument.at(item, row, column) =
            uniform(random) * (place % 7 == 3 ? std::pow(10.0F, static_cast<float>(3 + place % 35)) : 1.0F);
      });
      for (unsigned& word : mask.host()) {
        word = static_cast<unsigned>(random());
      }
      argument.memory().upload();
      mask.upload();
    }
  }

  StoredMatrix& d() { return kind.has_other_c ? other_d : gemm.c; }

  /// Its pointers are those of the device.
  sgemm_epilogue_t epilogue() {
    sgemm_epilogue_t result{kind.activation, kind.bias_of, kind.has_bias ? bias.device() : nullptr, nullptr, 0};
    if (kind.is_of_mask()) {
      result.aux = mask.device();
      result.aux_ld = mask_ld_;
    } else if (kind.has_aux) {
      result.aux = argument.data();
      result.aux_ld = argument.ld();
    }
    return result;
  }

  /// With an epilogue, which has to stay.
  sgemm_product_t product(const sgemm_epilogue_t& with) {
    sgemm_product_t product = gemm.product();
    product.c = gemm.c.data();
    product.ldc = gemm.c.ld();
    product.d = d().data();
    product.ldd = d().ld();
    product.epilogue = &with;
    return product;
  }

  sgemm_status_t call(sgemm_handle_t handle) {
    const sgemm_epilogue_t with = epilogue();
    return gemm.call(handle, product(with));
  }

  bool mask_bit(std::int64_t row, std::int64_t column) const {
    const std::int64_t bit = is_row_major() ? row * mask_ld_ + column : row + column * mask_ld_;
    return (mask.host()[static_cast<std::size_t>(bit / 32)] >> static_cast<unsigned>(bit % 32) & 1U) != 0;
  }

  /// Checks that a mask was written in whole words, with zeros beyond D, and nowhere else.
  void expect_no_other_bits() const {
    const std::int64_t words = (length_of_line() + 31) / 32;
    for (std::size_t i = 0; i < mask.host().size(); ++i) {
      const auto word = static_cast<std::int64_t>(i) % (mask_ld_ / 32);
      if (word >= words) {
        ASSERT_EQ(mask.host()[i], UNTOUCHED) << i;
      } else if (word == words - 1 && length_of_line() % 32 != 0) {
        ASSERT_EQ(mask.host()[i] >> static_cast<unsigned>(length_of_line() % 32), 0) << i;
      }
    }
  }

  std::string describe() const {
    std::ostringstream text;
    text << gemm.of.describe() << " activation=" << kind.activation << " bias=" << kind.has_bias << " of "
         << (kind.bias_of == SGEMM_BIAS_OF_ROWS ? "rows" : "columns") << " aux=" << kind.has_aux
         << " other C=" << kind.has_other_c;
    return text.str();
  }

  EpilogueKind kind;
  GemmOperands gemm;
  StoredMatrix other_d;
  Mirrored<float> bias;
  StoredMatrix argument;

 private:
  static constexpr unsigned UNTOUCHED = 0xABCDEF01;

  bool is_row_major() const { return gemm.of.order == SGEMM_ORDER_ROW_MAJOR; }
  std::int64_t length_of_line() const { return is_row_major() ? gemm.of.n : gemm.of.m; }

  std::int64_t mask_ld_;

 public:
  Mirrored<unsigned> mask;
};

/// The results that a case has to have, computed before the call for at most `most_rows` rows of D.
class ExpectedEpilogue {
 public:
  explicit ExpectedEpilogue(EpilogueOperands& operands, std::int64_t most_rows = 64)
      : products_(operands.gemm, most_rows) {}

  /// Checks all that the device has. The host has it then.
  void check(EpilogueOperands& operands) const {
    SCOPED_TRACE(operands.describe());
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    operands.d().memory().download();
    operands.argument.memory().download();
    operands.mask.download();
    int wrong = 0;
    for (const Expected::Element& product : products_.elements()) {
      if (!is_right(operands, product) && ++wrong <= 3) {
        ADD_FAILURE() << "element " << product.row << ", " << product.column << " is "
                      << operands.d().at(0, product.row, product.column) << ", product " << product.value << " within "
                      << product.bound;
      }
    }
    EXPECT_EQ(wrong, 0);
    expect_nothing_around(operands.d(), operands.gemm.of);
    expect_nothing_around(operands.argument, operands.gemm.of);
    if (operands.kind.activation == SGEMM_ACTIVATION_RELU && operands.kind.has_aux) {
      operands.expect_no_other_bits();
    }
  }

 private:
  static bool is_right(EpilogueOperands& operands, const Expected::Element& product) {
    constexpr double EPS = 0x1p-24;
    const EpilogueKind& kind = operands.kind;
    const float got = operands.d().at(0, product.row, product.column);
    const auto place = static_cast<std::size_t>(kind.bias_of == SGEMM_BIAS_OF_ROWS ? product.row : product.column);
    const double bias = kind.has_bias ? operands.bias.host()[place] : 0.0;
    const double x = product.value + bias;
    const double bound = product.bound + 2 * EPS * (std::fabs(product.value) + std::fabs(bias));
    const float argument = operands.argument.at(0, product.row, product.column);
    switch (kind.activation) {
      case SGEMM_ACTIVATION_NONE:
        return is_within(got, x, bound);
      case SGEMM_ACTIVATION_RELU:
        return is_within(got, x < 0 ? 0 : x, bound) &&
               (!kind.has_aux || has_right_bit(operands.mask_bit(product.row, product.column), got, x, bound));
      case SGEMM_ACTIVATION_GELU:
        // Its slope is at most 1.13.
        return is_within(got, gelu_of(x), 1.13 * bound + 32 * EPS * std::fabs(x)) &&
               (!kind.has_aux ||
                (is_within(argument, x, bound) && is_within(got, gelu_of(argument), 32 * EPS * std::fabs(argument))));
      case SGEMM_ACTIVATION_RELU_GRADIENT:
        return operands.mask_bit(product.row, product.column) ? is_within(got, x, bound) : got == 0;
      case SGEMM_ACTIVATION_GELU_GRADIENT:
        return is_within(got, x * gelu_derivative_of(argument), 1.13 * bound + 64 * EPS * std::fabs(x));
    }
    return false;
  }

  /// An argument below 0 has no bit, and one of 0, of NaN or above 0 has one. Where D is 0 and the argument is near 0,
  /// roundings decide, unless it is known to be 0.
  static bool has_right_bit(bool bit, float got, double x, double bound) {
    const bool has_one = got > 0 || x == 0 || std::isnan(x);
    return x < -bound ? !bit : !has_one || bit;
  }

  Expected products_;
};

/// Runs a case through the C interface and checks it.
inline void expect_right(sgemm_handle_t handle, const GemmCase& product, const EpilogueKind& kind,
                         std::int64_t most_rows = 64) {
  EpilogueOperands operands(product, kind);
  const ExpectedEpilogue expected(operands, most_rows);
  ASSERT_EQ(operands.call(handle), SGEMM_STATUS_SUCCESS) << operands.describe();
  expected.check(operands);
}

}  // namespace sgemm::test
