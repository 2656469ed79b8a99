#pragma once

// Stands in for CUDA's header of the same name: numbers of 8 bits, which are converted and do nothing else.

#include <simt/half_floats.hpp>

#include <cstdint>

namespace simt {

template <unsigned MANTISSA_BITS>
struct Fp8 {
  std::uint8_t __x;

  Fp8() = default;
  /// From every number, rounded to the nearest; the largest one beyond it.
  template <class T>
  explicit Fp8(T value) : __x(to_fp8(static_cast<float>(value), MANTISSA_BITS)) {}

  explicit operator float() const { return from_fp8(__x, MANTISSA_BITS); }
  template <class T>
  explicit operator T() const {
    return T(from_fp8(__x, MANTISSA_BITS));
  }
};

}  // namespace simt

using __nv_fp8_e4m3 = simt::Fp8<3>;
using __nv_fp8_e5m2 = simt::Fp8<2>;
using __nv_fp8_storage_t = std::uint8_t;
