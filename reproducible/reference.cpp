#include "reproducible/reference.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace sgemm::reproducible {
namespace {

static_assert(std::numeric_limits<float>::is_iec559 && std::numeric_limits<double>::is_iec559);

constexpr std::uint32_t MANTISSA = 1U << 23U;
constexpr std::uint32_t LARGEST_INTEGER = 0x7F7F7F;  // three digits of 127
constexpr int UNSCALABLE = 255;

/// A row of op(A) or a column of op(B).
class Line {
 public:
  Line(const float* first, std::int64_t stride, std::int64_t k) : first_(first), stride_(stride) {
    std::uint32_t largest = 0;
    for (std::int64_t p = 0; p < k; ++p) {
      const std::uint32_t magnitude = std::bit_cast<std::uint32_t>((*this)[p]) & 0x7FFFFFFFU;
      largest = magnitude > largest ? magnitude : largest;
    }
    code_ = code_of(largest);
    for (std::int64_t p = 0; p < k && scalable(); ++p) {
      digits_.push_back(digits_of((*this)[p]));
    }
  }

  float operator[](std::int64_t p) const { return first_[p * stride_]; }
  int code() const { return code_; }
  bool scalable() const { return code_ != UNSCALABLE; }
  /// The largest digit first.
  const std::array<std::int64_t, 3>& digits(std::int64_t p) const { return digits_[static_cast<std::size_t>(p)]; }

 private:
  /// The scale of the line is 2^(149 - code), the largest by which its largest number comes to at most LARGEST_INTEGER.
  /// The number is 2^(exponent - 150) times its mantissa of 24 bits, the half of which has to be rounded to that.
  static int code_of(std::uint32_t largest) {
    const auto exponent = static_cast<int>(largest / MANTISSA);
    const std::uint32_t mantissa = largest % MANTISSA + MANTISSA;
    const int code = exponent + (mantissa > 2 * LARGEST_INTEGER ? 1 : 0);
    return largest == 0 ? 127 : code >= 1 && code <= 254 ? code : UNSCALABLE;
  }

  /// Digits from -128 to 127 of the nearest integer, and of two nearest ones the even one.
  std::array<std::int64_t, 3> digits_of(float x) const {
    auto rest = static_cast<std::int64_t>(std::nearbyint(std::ldexp(static_cast<double>(x), 149 - code_)));
    std::array<std::int64_t, 3> digits{};
    for (const std::size_t i : {2, 1, 0}) {
      digits[i] = ((rest + 128) & 255) - 128;
      rest = (rest - digits[i]) / 256;
    }
    return digits;
  }

  const float* first_;
  std::int64_t stride_;
  int code_ = UNSCALABLE;
  std::vector<std::array<std::int64_t, 3>> digits_;
};

/// An element of op(A) * op(B), in double precision.
double sum_of_products(const Line& row, const Line& column, std::int64_t k) {
  if (!row.scalable() || !column.scalable()) {
    double sum = 0.0;
    for (std::int64_t p = 0; p < k; ++p) {
      sum = std::fma(static_cast<double>(row[p]), static_cast<double>(column[p]), sum);
    }
    return sum;
  }
  std::int64_t sum = 0;
  for (std::int64_t p = 0; p < k; ++p) {
    const auto& a = row.digits(p);
    const auto& b = column.digits(p);
    sum += a[0] * b[0] * 65536 + (a[0] * b[1] + a[1] * b[0]) * 256 + a[0] * b[2] + a[1] * b[1] + a[2] * b[0];
  }
  return std::ldexp(static_cast<double>(sum), row.code() + column.code() - 282);
}

/// What is stored in place of `c`, which is not read where beta is 0.
float updated(double value, float beta, const float& c) {
  if (beta != 0.0F) {
    value = std::fma(static_cast<double>(beta), static_cast<double>(c), value);
  }
  return std::isnan(value) ? std::bit_cast<float>(0x7FFFFFFFU) : static_cast<float>(value);
}

}  // namespace

void reference(const Problem& p) {
  const bool empty = p.alpha == 0.0F || p.k == 0;  // A and B are not read then
  const std::int64_t k = empty ? 0 : p.k;
  for (std::int64_t product = 0; product < p.batch; ++product) {
    const float* const a = p.a + product * p.lda * (p.transposed_a ? p.k : p.m);
    const float* const b = p.b + product * p.ldb * (p.transposed_b ? p.n : p.k);
    float* const c = p.c + product * p.ldc * p.m;
    std::vector<Line> columns;
    for (std::int64_t j = 0; j < p.n; ++j) {
      columns.emplace_back(p.transposed_b ? b + j * p.ldb : b + j, p.transposed_b ? 1 : p.ldb, k);
    }
    for (std::int64_t i = 0; i < p.m; ++i) {
      const Line row(p.transposed_a ? a + i : a + i * p.lda, p.transposed_a ? p.lda : 1, k);
      for (std::int64_t j = 0; j < p.n; ++j) {
        const double value =
            empty ? 0.0 : static_cast<double>(p.alpha) * sum_of_products(row, columns[static_cast<std::size_t>(j)], k);
        c[i * p.ldc + j] = updated(value, p.beta, c[i * p.ldc + j]);
      }
    }
  }
}

}  // namespace sgemm::reproducible
