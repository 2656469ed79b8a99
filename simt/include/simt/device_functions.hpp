#pragma once

// Functions of CUDA's threads, all at the names that CUDA gives them: part of <cuda_runtime.h>.

#include <simt/thread.hpp>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <type_traits>

// ---- Barriers with a vote, fences ----

inline int __syncthreads_count(int predicate, simt::Site site = simt::Site::current()) {
  return static_cast<int>(simt::block_barrier_count(predicate != 0, site));
}
inline int __syncthreads_or(int predicate, simt::Site site = simt::Site::current()) {
  return simt::block_barrier_count(predicate != 0, site) > 0 ? 1 : 0;
}
inline int __syncthreads_and(int predicate, simt::Site site = simt::Site::current()) {
  return simt::block_barrier_count(predicate == 0, site) == 0 ? 1 : 0;
}

/// The executor keeps each thread's accesses in their order. The checks want a fence where blocks tell one another.
inline void __threadfence_block() { simt::fence(true); }
inline void __threadfence() { simt::fence(); }
inline void __threadfence_system() { simt::fence(); }

// ---- Votes of a warp ----

/// Lanes take turns only where they wait for each other, so that a lane never knows which others are under way: all
/// that the block has.
inline unsigned __activemask() {
  const unsigned threads = blockDim.x * blockDim.y * blockDim.z;
  const unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  const unsigned lanes = threads - thread / simt::WARP * simt::WARP;
  return lanes >= simt::WARP ? 0xFFFFFFFFU : (1U << lanes) - 1U;
}
inline unsigned __ballot_sync(unsigned mask, int predicate, simt::Site site = simt::Site::current()) {
  const auto given = simt::gather(mask, predicate != 0 ? 1 : 0, site);
  const unsigned present = mask & __activemask();
  unsigned votes = 0;
  for (unsigned lane = 0; lane < simt::WARP; ++lane) {
    votes |= (present >> lane & 1U) != 0 && given[lane] != 0 ? 1U << lane : 0U;
  }
  return votes;
}
inline int __any_sync(unsigned mask, int predicate, simt::Site site = simt::Site::current()) {
  return __ballot_sync(mask, predicate, site) != 0 ? 1 : 0;
}
inline int __all_sync(unsigned mask, int predicate, simt::Site site = simt::Site::current()) {
  return __ballot_sync(mask, predicate == 0 ? 1 : 0, site) == 0 ? 1 : 0;
}

#define SIMT_REDUCE(name, T, expression)                                                             \
  inline T __reduce_##name##_sync(unsigned mask, T value, simt::Site site = simt::Site::current()) { \
    const auto given = simt::gather(mask, static_cast<std::uint64_t>(value), site);                  \
    const unsigned others = mask & __activemask() & ~(1U << simt::lane());                           \
    for (unsigned lane = 0; lane < simt::WARP; ++lane) {                                             \
      if ((others >> lane & 1U) != 0) {                                                              \
        const T other = static_cast<T>(given[lane]);                                                 \
        value = expression;                                                                          \
      }                                                                                              \
    }                                                                                                \
    return value;                                                                                    \
  }
SIMT_REDUCE(add, unsigned, value + other)
SIMT_REDUCE(add, int, value + other)
SIMT_REDUCE(min, unsigned, other < value ? other : value)
SIMT_REDUCE(min, int, other < value ? other : value)
SIMT_REDUCE(max, unsigned, other > value ? other : value)
SIMT_REDUCE(max, int, other > value ? other : value)
SIMT_REDUCE(and, unsigned, value& other)
SIMT_REDUCE(or, unsigned, value | other)
SIMT_REDUCE(xor, unsigned, value ^ other)
#undef SIMT_REDUCE

// ---- Loads and stores with hints about caches, which change no result ----

#define SIMT_LOAD(name)     \
  template <class T>        \
  T name(const T* source) { \
    return *source;         \
  }
SIMT_LOAD(__ldg)
SIMT_LOAD(__ldca)
SIMT_LOAD(__ldcs)
SIMT_LOAD(__ldlu)
#undef SIMT_LOAD

/// Blocks poll flags with it, as it passes the L1 by.
template <class T>
T __ldcg(const T* source) {
  if constexpr (std::is_arithmetic_v<T>) {
    return *static_cast<const volatile T*>(source);
  } else {
    return *source;
  }
}
template <class T>
T __ldcv(const T* source) {
  return __ldcg(source);
}

#define SIMT_STORE(name)                                            \
  template <class T>                                                \
  void name(T* destination, const std::type_identity_t<T>& value) { \
    *destination = value;                                           \
  }
SIMT_STORE(__stcg)
SIMT_STORE(__stcs)
SIMT_STORE(__stwb)
SIMT_STORE(__stwt)
#undef SIMT_STORE

inline std::size_t __cvta_generic_to_shared(const void* pointer) { return simt::shared_address(pointer); }
inline void* __cvta_shared_to_generic(std::size_t address) {
  return static_cast<unsigned char*>(simt::dynamic_shared_memory()) + static_cast<int>(address);
}
inline std::size_t __cvta_generic_to_global(const void* pointer) { return reinterpret_cast<std::size_t>(pointer); }
inline void* __cvta_global_to_generic(std::size_t address) { return reinterpret_cast<void*>(address); }
inline unsigned __isShared(const void* pointer) { return simt::is_shared(pointer) ? 1U : 0U; }

// ---- Atomic operations ----

namespace simt {

template <class T>
constexpr AtomicType ATOMIC_TYPE = std::is_same_v<T, float>    ? AtomicType::f32
                                   : std::is_same_v<T, double> ? AtomicType::f64
                                   : sizeof(T) == 4 ? (std::is_signed_v<T> ? AtomicType::i32 : AtomicType::u32)
                                                    : (std::is_signed_v<T> ? AtomicType::i64 : AtomicType::u64);

template <class T>
T atomic(AtomicOperation operation, T* address, T operand, T expected, Site site) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8);
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  const std::uint64_t old = atomic(operation, ATOMIC_TYPE<T>, const_cast<std::remove_volatile_t<T>*>(address),
                                   std::bit_cast<Bits>(operand), std::bit_cast<Bits>(expected), site);
  return std::bit_cast<T>(static_cast<Bits>(old));
}

}  // namespace simt

#define SIMT_ATOMIC(name, operation, T)                                                               \
  inline T atomic##name(T* address, T operand, simt::Site site = simt::Site::current()) {             \
    return simt::atomic(simt::AtomicOperation::operation, address, operand, static_cast<T>(0), site); \
  }                                                                                                   \
  inline T atomic##name##_block(T* address, T operand, simt::Site site = simt::Site::current()) {     \
    return atomic##name(address, operand, site);                                                      \
  }
#define SIMT_ATOMIC_INTEGERS(name, operation) \
  SIMT_ATOMIC(name, operation, int)           \
  SIMT_ATOMIC(name, operation, unsigned)      \
  SIMT_ATOMIC(name, operation, long long)     \
  SIMT_ATOMIC(name, operation, unsigned long long)

SIMT_ATOMIC_INTEGERS(Min, min)
SIMT_ATOMIC_INTEGERS(Max, max)
SIMT_ATOMIC_INTEGERS(And, and_)
SIMT_ATOMIC_INTEGERS(Or, or_)
SIMT_ATOMIC_INTEGERS(Xor, xor_)
SIMT_ATOMIC(Add, add, int)
SIMT_ATOMIC(Add, add, unsigned)
SIMT_ATOMIC(Add, add, unsigned long long)
SIMT_ATOMIC(Add, add, float)
SIMT_ATOMIC(Add, add, double)
SIMT_ATOMIC(Exch, exchange, int)
SIMT_ATOMIC(Exch, exchange, unsigned)
SIMT_ATOMIC(Exch, exchange, unsigned long long)
SIMT_ATOMIC(Exch, exchange, float)
SIMT_ATOMIC(Inc, inc, unsigned)
SIMT_ATOMIC(Dec, dec, unsigned)
#undef SIMT_ATOMIC_INTEGERS
#undef SIMT_ATOMIC

inline int atomicSub(int* address, int operand, simt::Site site = simt::Site::current()) {
  return atomicAdd(address, -operand, site);
}
inline unsigned atomicSub(unsigned* address, unsigned operand, simt::Site site = simt::Site::current()) {
  return atomicAdd(address, 0U - operand, site);
}

#define SIMT_ATOMIC_CAS(T)                                                                          \
  inline T atomicCAS(T* address, T expected, T operand, simt::Site site = simt::Site::current()) {  \
    return simt::atomic(simt::AtomicOperation::compare_and_swap, address, operand, expected, site); \
  }
SIMT_ATOMIC_CAS(int)
SIMT_ATOMIC_CAS(unsigned)
SIMT_ATOMIC_CAS(unsigned long long)
#undef SIMT_ATOMIC_CAS

// ---- Arithmetic ----

inline float __fadd_rn(float x, float y) { return x + y; }
inline float __fsub_rn(float x, float y) { return x - y; }
inline float __fmul_rn(float x, float y) { return x * y; }
inline float __fdiv_rn(float x, float y) { return x / y; }
inline float __fmaf_rn(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
inline float __frcp_rn(float x) { return 1.0F / x; }
inline float __fsqrt_rn(float x) { return __builtin_sqrtf(x); }
inline float __fdividef(float x, float y) { return x / y; }
inline float __saturatef(float x) { return x > 0.0F ? (x < 1.0F ? x : 1.0F) : 0.0F; }
inline double __dadd_rn(double x, double y) { return x + y; }
inline double __dmul_rn(double x, double y) { return x * y; }
inline double __fma_rn(double x, double y, double z) { return __builtin_fma(x, y, z); }

inline float __expf(float x) { return __builtin_expf(x); }
inline float __logf(float x) { return __builtin_logf(x); }
inline float __log2f(float x) { return __builtin_log2f(x); }
inline float __sinf(float x) { return __builtin_sinf(x); }
inline float __cosf(float x) { return __builtin_cosf(x); }
inline float __powf(float x, float y) { return __builtin_powf(x, y); }
inline float rsqrtf(float x) { return 1.0F / __builtin_sqrtf(x); }
inline double rsqrt(double x) { return 1.0 / __builtin_sqrt(x); }

inline int __mul24(int x, int y) { return x * y; }
inline unsigned __umul24(unsigned x, unsigned y) { return x * y; }
inline int __mulhi(int x, int y) { return static_cast<int>(static_cast<long long>(x) * y >> 32); }
inline unsigned __umulhi(unsigned x, unsigned y) {
  return static_cast<unsigned>(static_cast<unsigned long long>(x) * y >> 32U);
}
inline int __popc(unsigned x) { return std::popcount(x); }
inline int __popcll(unsigned long long x) { return std::popcount(x); }
inline int __clz(int x) { return std::countl_zero(static_cast<unsigned>(x)); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline unsigned __brev(unsigned x) {
  unsigned result = 0;
  for (unsigned bit = 0; bit < 32; ++bit) {
    result |= (x >> bit & 1U) << (31U - bit);
  }
  return result;
}

/// Byte i of the result is that of the 8 bytes of x and y, those of x being the lower ones, which the i-th 4 bits of
/// `selector` name: 3 bits its number, and the fourth copies its sign bit into all 8.
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
  unsigned result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned number = selector >> (4 * i) & 7U;
    const unsigned byte = (number < 4 ? x : y) >> (8 * (number % 4)) & 0xFFU;
    const bool sign_alone = (selector >> (4 * i) & 8U) != 0;
    result |= (sign_alone ? (byte >> 7U) * 0xFFU : byte) << (8 * i);
  }
  return result;
}

namespace simt {

/// c + the products of the bytes of a, which are As, and of b. Sums beyond 32 bits wrap around.
template <class A, class B>
std::uint32_t sum_of_byte_products(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  for (unsigned shift = 0; shift < 32; shift += 8) {
    c += static_cast<std::uint32_t>(static_cast<A>(a >> shift) * static_cast<B>(b >> shift));
  }
  return c;
}

}  // namespace simt

inline unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
  return simt::sum_of_byte_products<std::uint8_t, std::uint8_t>(a, b, c);
}
inline int __dp4a(int a, int b, int c) {
  return static_cast<int>(simt::sum_of_byte_products<std::int8_t, std::int8_t>(
      static_cast<unsigned>(a), static_cast<unsigned>(b), static_cast<unsigned>(c)));
}
inline unsigned __dp4a(uchar4 a, uchar4 b, unsigned c) {
  return __dp4a(std::bit_cast<unsigned>(a), std::bit_cast<unsigned>(b), c);
}
inline int __dp4a(char4 a, char4 b, int c) { return __dp4a(std::bit_cast<int>(a), std::bit_cast<int>(b), c); }

#define SIMT_MIN_MAX(T)                               \
  constexpr T min(T x, T y) { return y < x ? y : x; } \
  constexpr T max(T x, T y) { return x < y ? y : x; }
SIMT_MIN_MAX(int)
SIMT_MIN_MAX(unsigned)
SIMT_MIN_MAX(long)
SIMT_MIN_MAX(unsigned long)
SIMT_MIN_MAX(long long)
SIMT_MIN_MAX(unsigned long long)
#undef SIMT_MIN_MAX
// As in CUDA, a signed and an unsigned number are compared as unsigned ones, and of a number and a NaN the number
// counts.
constexpr unsigned min(int x, unsigned y) { return min(static_cast<unsigned>(x), y); }
constexpr unsigned min(unsigned x, int y) { return min(x, static_cast<unsigned>(y)); }
constexpr unsigned max(int x, unsigned y) { return max(static_cast<unsigned>(x), y); }
constexpr unsigned max(unsigned x, int y) { return max(x, static_cast<unsigned>(y)); }
constexpr unsigned umin(unsigned x, unsigned y) { return min(x, y); }
constexpr unsigned umax(unsigned x, unsigned y) { return max(x, y); }
inline float min(float x, float y) { return __builtin_fminf(x, y); }
inline float max(float x, float y) { return __builtin_fmaxf(x, y); }
inline double min(double x, double y) { return __builtin_fmin(x, y); }
inline double max(double x, double y) { return __builtin_fmax(x, y); }
inline double min(float x, double y) { return __builtin_fmin(x, y); }
inline double min(double x, float y) { return __builtin_fmin(x, y); }
inline double max(float x, double y) { return __builtin_fmax(x, y); }
inline double max(double x, float y) { return __builtin_fmax(x, y); }

// ---- Conversions ----

inline float __uint_as_float(unsigned bits) { return std::bit_cast<float>(bits); }
inline unsigned __float_as_uint(float value) { return std::bit_cast<unsigned>(value); }
inline float __int_as_float(int bits) { return std::bit_cast<float>(bits); }
inline int __float_as_int(float value) { return std::bit_cast<int>(value); }
inline double __longlong_as_double(long long bits) { return std::bit_cast<double>(bits); }
inline double __hiloint2double(int high, int low) {
  return __longlong_as_double(static_cast<long long>(high) << 32 | static_cast<unsigned>(low));
}
inline long long __double_as_longlong(double value) { return std::bit_cast<long long>(value); }
inline int __float2int_rn(float x) { return static_cast<int>(__builtin_rintf(x)); }
inline int __float2int_rz(float x) { return static_cast<int>(x); }
inline float __int2float_rn(int x) { return static_cast<float>(x); }
inline float __uint2float_rn(unsigned x) { return static_cast<float>(x); }
inline float __double2float_rn(double x) { return static_cast<float>(x); }

// ---- Time, and ends ----

/// A clock that goes on while other threads of the block run.
inline long long clock64() { return simt::nanoseconds(); }
inline void __nanosleep(unsigned, simt::Site site = simt::Site::current()) { simt::sleep(site); }
[[noreturn]] inline void __trap(simt::Site site = simt::Site::current()) { simt::fail("__trap()", site); }
