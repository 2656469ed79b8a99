#include "problem/guarded_operands.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

namespace sgemm {
namespace {

/// Behind each row, in elements: a multiple of what kernels load at once, so that rows keep their alignment.
constexpr std::int64_t GAP = 32;
/// Before and behind each matrix, in elements.
constexpr std::int64_t ZONE = 1 << 14;
/// A GPU's allocator aligns matrices to so many elements, at least.
constexpr std::int64_t ALIGNMENT = 64;

std::int64_t rounded_up(std::int64_t value) { return (value + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

void copy_rows(const float* from, std::int64_t from_stride, float* to, std::int64_t to_stride, std::int64_t rows,
               std::int64_t columns) {
  for (std::int64_t row = 0; row < rows; ++row) {
    std::copy_n(from + row * from_stride, columns, to + row * to_stride);
  }
}

/// Whether two matrices have the same bits.
bool same_rows(const float* x, std::int64_t x_stride, const float* y, std::int64_t y_stride, std::int64_t rows,
               std::int64_t columns) {
  for (std::int64_t row = 0; row < rows; ++row) {
    if (std::memcmp(x + row * x_stride, y + row * y_stride, static_cast<std::size_t>(columns) * sizeof(float)) != 0) {
      return false;
    }
  }
  return true;
}

}  // namespace

GuardedOperands::GuardedOperands(const Problem& original, bool padded) : original_(original), problem_(original) {
  const auto stride = [&](std::int64_t columns, std::int64_t own) { return padded ? columns + GAP : own; };
  problem_.lda = stride(original.k, original.lda);
  problem_.ldb = stride(original.n, original.ldb);
  problem_.ldc = stride(original.n, original.ldc);
  const std::int64_t a = ZONE;
  const std::int64_t b = a + rounded_up(original.m * problem_.lda) + ZONE;
  const std::int64_t c = b + rounded_up(original.k * problem_.ldb) + ZONE;
  const std::int64_t end = c + rounded_up(original.m * problem_.ldc) + ZONE;
  memory_.assign(static_cast<std::size_t>(end + ALIGNMENT), std::numeric_limits<float>::quiet_NaN());
  const auto address = reinterpret_cast<std::uintptr_t>(memory_.data()) / sizeof(float);
  float* const begin = memory_.data() + (ALIGNMENT - static_cast<std::int64_t>(address % ALIGNMENT)) % ALIGNMENT;
  copy_rows(original.a, original.lda, begin + a, problem_.lda, original.m, original.k);
  copy_rows(original.b, original.ldb, begin + b, problem_.ldb, original.k, original.n);
  copy_rows(original.c, original.ldc, begin + c, problem_.ldc, original.m, original.n);
  problem_.a = begin + a;
  problem_.b = begin + b;
  problem_.c = begin + c;
}

std::optional<std::string> GuardedOperands::damage() const {
  if (!same_rows(original_.a, original_.lda, problem_.a, problem_.lda, original_.m, original_.k)) {
    return "writes to A, which is an input";
  }
  if (!same_rows(original_.b, original_.ldb, problem_.b, problem_.ldb, original_.k, original_.n)) {
    return "writes to B, which is an input";
  }
  // What is no part of a matrix has been NaN since the begin.
  const auto is_part = [&](const float* at, const float* begin, std::int64_t stride, std::int64_t rows,
                           std::int64_t columns) {
    const std::int64_t offset = at - begin;
    return offset >= 0 && offset < rows * stride && offset % stride < columns;
  };
  for (const float& element : memory_) {
    const float* const at = &element;
    if (!std::isnan(element) && !is_part(at, problem_.a, problem_.lda, original_.m, original_.k) &&
        !is_part(at, problem_.b, problem_.ldb, original_.k, original_.n) &&
        !is_part(at, problem_.c, problem_.ldc, original_.m, original_.n)) {
      return "writes outside of A, B and C";
    }
  }
  return std::nullopt;
}

void GuardedOperands::copy_result() const {
  copy_rows(problem_.c, problem_.ldc, original_.c, original_.ldc, original_.m, original_.n);
}

}  // namespace sgemm
