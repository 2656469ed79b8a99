#include "tensor_core.hpp"

#include <bit>
#include <cmath>
#include <cstdint>

namespace simt {
namespace {

double as_tf32(float x) { return std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) & ~0U << 13U); }

float rounded_towards_zero(double x) {
  const float nearest = static_cast<float>(x);
  const bool away = std::isfinite(nearest) && std::fabs(static_cast<double>(nearest)) > std::fabs(x);
  return away ? std::nextafter(nearest, 0.0F) : nearest;
}

}  // namespace

void multiply_tf32(const std::array<MmaOperands, WARP>& operands, unsigned lane, const float (&c)[4], float (&d)[4]) {
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned half = i / 2;    // of the rows
    const unsigned row = lane / 4;  // in it
    const unsigned col = lane % 4 * 2 + i % 2;
    double sum = c[i];
    for (unsigned k = 0; k < 8; ++k) {
      const double a = as_tf32(operands[row * 4 + k % 4].a[k / 4 * 2 + half]);
      const double b = as_tf32(operands[col * 4 + k % 4].b[k / 4]);
      sum += a * b;
    }
    d[i] = rounded_towards_zero(sum);
  }
}

}  // namespace simt
