#pragma once

// FP16 and BF16 as C++ types with the operators that CUDA gives them: what <cuda_fp16.h> and <cuda_bf16.h> share. Each
// operation computes in FP32 and rounds once, which for +, -, * and / is what the hardware does.

#include <simt/half_floats.hpp>

#include <vector_types.h>

#include <compare>
#include <cstdint>
#include <type_traits>

namespace simt {

/// x * y + z, of which `sum` is the nearest float, where that is exact; else the one of both neighbours whose last bit
/// is 1. To round this to 16 bits gives what one rounding would. x and y have 11 bits at the most.
float odd_sum(float sum, float x, float y, float z);

template <HalfFormat FORMAT>
struct Half {
  std::uint16_t bits;

  Half() = default;
  /// From every number, rounded to the nearest.
  template <class T>
  requires std::is_arithmetic_v<T> Half(T value) : bits(rounded(static_cast<float>(value))) {}

  static Half of_bits(std::uint16_t bits) {
    Half half;
    half.bits = bits;
    return half;
  }
  static std::uint16_t rounded(float x) { return FORMAT == HalfFormat::fp16 ? to_fp16(x) : to_bf16(x); }
  float value() const { return FORMAT == HalfFormat::fp16 ? from_fp16(bits) : from_bf16(bits); }

  operator float() const { return value(); }

  Half operator-() const { return of_bits(bits ^ 0x8000U); }
  Half operator+() const { return *this; }
  Half& operator+=(Half y) { return *this = *this + y; }
  Half& operator-=(Half y) { return *this = *this - y; }
  Half& operator*=(Half y) { return *this = *this * y; }
  Half& operator/=(Half y) { return *this = *this / y; }
  Half& operator++() { return *this += Half(1.0F); }

  friend Half operator+(Half x, Half y) { return Half(x.value() + y.value()); }
  friend Half operator-(Half x, Half y) { return Half(x.value() - y.value()); }
  friend Half operator*(Half x, Half y) { return Half(x.value() * y.value()); }
  friend Half operator/(Half x, Half y) { return Half(x.value() / y.value()); }
  friend bool operator==(Half x, Half y) { return x.value() == y.value(); }
  friend std::partial_ordering operator<=>(Half x, Half y) { return x.value() <=> y.value(); }
};

/// Two of them, the first in the lower 16 bits.
template <HalfFormat FORMAT>
struct alignas(4) Half2 {
  Half<FORMAT> x;
  Half<FORMAT> y;

  Half2() = default;
  Half2(Half<FORMAT> x, Half<FORMAT> y) : x(x), y(y) {}

  Half2 operator-() const { return {-x, -y}; }
  Half2& operator+=(Half2 b) { return *this = *this + b; }
  Half2& operator-=(Half2 b) { return *this = *this - b; }
  Half2& operator*=(Half2 b) { return *this = *this * b; }
  friend Half2 operator+(Half2 a, Half2 b) { return {a.x + b.x, a.y + b.y}; }
  friend Half2 operator-(Half2 a, Half2 b) { return {a.x - b.x, a.y - b.y}; }
  friend Half2 operator*(Half2 a, Half2 b) { return {a.x * b.x, a.y * b.y}; }
  friend Half2 operator/(Half2 a, Half2 b) { return {a.x / b.x, a.y / b.y}; }
  friend bool operator==(Half2 a, Half2 b) { return a.x == b.x && a.y == b.y; }
};

}  // namespace simt

// ---- Functions of both formats ----

#define SIMT_HALF template <simt::HalfFormat F>

SIMT_HALF simt::Half<F> __hadd(simt::Half<F> x, simt::Half<F> y) { return x + y; }
SIMT_HALF simt::Half<F> __hsub(simt::Half<F> x, simt::Half<F> y) { return x - y; }
SIMT_HALF simt::Half<F> __hmul(simt::Half<F> x, simt::Half<F> y) { return x * y; }
SIMT_HALF simt::Half<F> __hdiv(simt::Half<F> x, simt::Half<F> y) { return x / y; }
SIMT_HALF simt::Half<F> __hneg(simt::Half<F> x) { return -x; }
SIMT_HALF simt::Half<F> __habs(simt::Half<F> x) { return simt::Half<F>::of_bits(x.bits & 0x7FFFU); }
SIMT_HALF simt::Half<F> __hfma(simt::Half<F> x, simt::Half<F> y, simt::Half<F> z) {
  const float sum = __builtin_fmaf(x.value(), y.value(), z.value());
  return simt::Half<F>(simt::odd_sum(sum, x.value(), y.value(), z.value()));
}
SIMT_HALF simt::Half<F> __hmax(simt::Half<F> x, simt::Half<F> y) {
  return simt::Half<F>(__builtin_fmaxf(x.value(), y.value()));
}
SIMT_HALF simt::Half<F> __hmin(simt::Half<F> x, simt::Half<F> y) {
  return simt::Half<F>(__builtin_fminf(x.value(), y.value()));
}
SIMT_HALF bool __heq(simt::Half<F> x, simt::Half<F> y) { return x == y; }
SIMT_HALF bool __hne(simt::Half<F> x, simt::Half<F> y) { return x != y; }
SIMT_HALF bool __hlt(simt::Half<F> x, simt::Half<F> y) { return x < y; }
SIMT_HALF bool __hgt(simt::Half<F> x, simt::Half<F> y) { return x > y; }
SIMT_HALF bool __hle(simt::Half<F> x, simt::Half<F> y) { return x <= y; }
SIMT_HALF bool __hge(simt::Half<F> x, simt::Half<F> y) { return x >= y; }

// As exact as the host's.
#define SIMT_HALF_FUNCTION(name, expression)            \
  SIMT_HALF simt::Half<F> h##name(simt::Half<F> half) { \
    const float x = half.value();                       \
    return simt::Half<F>(expression);                   \
  }                                                     \
  SIMT_HALF simt::Half2<F> h2##name(simt::Half2<F> a) { return {h##name(a.x), h##name(a.y)}; }
SIMT_HALF_FUNCTION(exp, __builtin_expf(x))
SIMT_HALF_FUNCTION(exp2, __builtin_exp2f(x))
SIMT_HALF_FUNCTION(log, __builtin_logf(x))
SIMT_HALF_FUNCTION(log2, __builtin_log2f(x))
SIMT_HALF_FUNCTION(sin, __builtin_sinf(x))
SIMT_HALF_FUNCTION(cos, __builtin_cosf(x))
SIMT_HALF_FUNCTION(tanh, __builtin_tanhf(x))
SIMT_HALF_FUNCTION(sqrt, __builtin_sqrtf(x))
SIMT_HALF_FUNCTION(rsqrt, 1 / __builtin_sqrtf(x))
SIMT_HALF_FUNCTION(rcp, 1 / x)
#undef SIMT_HALF_FUNCTION

SIMT_HALF simt::Half2<F> __hadd2(simt::Half2<F> a, simt::Half2<F> b) { return a + b; }
SIMT_HALF simt::Half2<F> __hsub2(simt::Half2<F> a, simt::Half2<F> b) { return a - b; }
SIMT_HALF simt::Half2<F> __hmul2(simt::Half2<F> a, simt::Half2<F> b) { return a * b; }
SIMT_HALF simt::Half2<F> __hfma2(simt::Half2<F> a, simt::Half2<F> b, simt::Half2<F> c) {
  return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)};
}
SIMT_HALF simt::Half2<F> __hmax2(simt::Half2<F> a, simt::Half2<F> b) { return {__hmax(a.x, b.x), __hmax(a.y, b.y)}; }
SIMT_HALF simt::Half2<F> __hmin2(simt::Half2<F> a, simt::Half2<F> b) { return {__hmin(a.x, b.x), __hmin(a.y, b.y)}; }

#undef SIMT_HALF

// ---- Conversions, whose names have the format in them ----

#define SIMT_HALF_CONVERSIONS(HALF, HALF2, half, halves)                                        \
  inline HALF __float2##half(float x) { return HALF(x); }                                       \
  inline HALF __float2##half##_rn(float x) { return HALF(x); }                                  \
  inline HALF __double2##half(double x) { return HALF(x); }                                     \
  inline HALF __int2##half##_rn(int x) { return HALF(x); }                                      \
  inline int __##half##2int_rz(HALF x) { return static_cast<int>(x.value()); }                  \
  inline int __##half##2int_rn(HALF x) { return static_cast<int>(__builtin_rintf(x.value())); } \
  inline HALF __uint2##half##_rn(unsigned x) { return HALF(x); }                                \
  inline float __##half##2float(HALF x) { return x.value(); }                                   \
  inline HALF2 __float2##halves##_rn(float x) { return {HALF(x), HALF(x)}; }                    \
  inline HALF2 __floats2##halves##_rn(float x, float y) { return {HALF(x), HALF(y)}; }          \
  inline HALF2 __float22##halves##_rn(float2 a) { return {HALF(a.x), HALF(a.y)}; }              \
  inline HALF2 __##half##2##halves(HALF x) { return {x, x}; }                                   \
  inline HALF2 __halves2##halves(HALF x, HALF y) { return {x, y}; }                             \
  inline HALF2 make_##halves(HALF x, HALF y) { return {x, y}; }                                 \
  inline HALF __low2##half(HALF2 a) { return a.x; }                                             \
  inline HALF __high2##half(HALF2 a) { return a.y; }                                            \
  inline HALF2 __low2##halves(HALF2 a) { return {a.x, a.x}; }                                   \
  inline HALF2 __high2##halves(HALF2 a) { return {a.y, a.y}; }                                  \
  inline float __low2float(HALF2 a) { return a.x.value(); }                                     \
  inline float __high2float(HALF2 a) { return a.y.value(); }                                    \
  inline unsigned short __##half##_as_ushort(HALF x) { return x.bits; }                         \
  inline HALF __ushort_as_##half(unsigned short bits) { return HALF::of_bits(bits); }
