#pragma once

// What inline assembly is translated to: registers, conversions between them, and instructions that are more than one
// call of thread.hpp. Registers are variables of the type that their operand's constraint says.

#include <simt/half_floats.hpp>
#include <simt/thread.hpp>

#include <cuda_runtime.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace simt::ptx {

// ---- Registers ----

/// What a register holds, as a T: the same bits, of which a smaller T takes the lower ones.
template <class T, class From>
T as(const From& from) {
  if constexpr (std::is_same_v<T, bool> || std::is_same_v<From, bool>) {
    return static_cast<T>(from);
  } else if constexpr (sizeof(T) == sizeof(From)) {
    return std::bit_cast<T>(from);
  } else if constexpr (std::is_integral_v<From> && std::is_integral_v<T>) {
    return static_cast<T>(from);
  } else if constexpr (std::is_integral_v<From> && sizeof(T) < sizeof(From)) {
    return std::bit_cast<T>(static_cast<std::conditional_t<sizeof(T) == 2, std::uint16_t, std::uint32_t>>(from));
  } else {
    return static_cast<T>(from);
  }
}

template <class T, class Register>
void set(Register& to, T value) {
  to = as<Register>(value);
}

/// An operand's expression as its register's first value.
template <class Register, class T>
Register in(const T& value) {
  if constexpr (std::is_pointer_v<T>) {
    return static_cast<Register>(reinterpret_cast<std::uintptr_t>(value));
  } else if constexpr (std::is_array_v<T>) {
    return static_cast<Register>(reinterpret_cast<std::uintptr_t>(&value));
  } else if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
    return std::is_floating_point_v<T> == std::is_floating_point_v<Register> ? static_cast<Register>(value)
                                                                             : as<Register>(value);
  } else {
    static_assert(sizeof(T) == sizeof(Register), "the operand does not fit the register that its constraint says");
    return std::bit_cast<Register>(value);
  }
}

template <class T, class Register>
void out(T& to, const Register& from) {
  if constexpr (std::is_pointer_v<T>) {
    to = reinterpret_cast<T>(static_cast<std::uintptr_t>(from));
  } else if constexpr (std::is_integral_v<T> && std::is_integral_v<Register>) {
    to = static_cast<T>(from);
  } else {
    static_assert(sizeof(T) == sizeof(Register), "the operand does not fit the register that its constraint says");
    to = std::bit_cast<T>(from);
  }
}

template <class T>
using HalfOf = std::conditional_t<sizeof(T) == 8, std::uint32_t, std::uint16_t>;
/// The lower half first.
template <class T, class Low, class High>
T packed(const Low& low, const High& high) {
  return std::bit_cast<T>(std::array{as<HalfOf<T>>(low), as<HalfOf<T>>(high)});
}
template <class T, class From, class Low, class High>
void unpack(const From& from, Low& low, High& high) {
  const auto halves = std::bit_cast<std::array<HalfOf<T>, 2>>(as<T>(from));
  low = as<Low>(halves[0]);
  high = as<High>(halves[1]);
}

inline std::uint32_t packed_f16x2(float high, float low) {
  return to_fp16(low) | static_cast<std::uint32_t>(to_fp16(high)) << 16U;
}
inline std::uint32_t packed_bf16x2(float high, float low) {
  return to_bf16(low) | static_cast<std::uint32_t>(to_bf16(high)) << 16U;
}
inline std::uint16_t to_f16(float x) { return to_fp16(x); }
inline std::uint32_t to_tf32(float x) { return std::bit_cast<std::uint32_t>(simt::to_tf32(x)); }
inline float from_f16(std::uint16_t bits) { return from_fp16(bits); }
using simt::from_bf16;
using simt::to_bf16;

template <class T>
T min(T a, T b) {
  return b < a || a != a ? b : a;
}
template <class T>
T max(T a, T b) {
  return a < b || a != a ? b : a;
}

template <class T>
T abs(T x) {
  return x < 0 || x == 0 ? static_cast<T>(T{0} - x) : x;
}

inline float fma(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
inline double fma(double x, double y, double z) { return __builtin_fma(x, y, z); }
inline double rni(double x) { return __builtin_rint(x); }
inline double rmi(double x) { return __builtin_floor(x); }
inline double rpi(double x) { return __builtin_ceil(x); }
inline double rzi(double x) { return __builtin_trunc(x); }

using u32 = std::uint32_t;
using s32 = std::int32_t;
template <class T>
using Byte = std::conditional_t<std::is_signed_v<T>, std::int8_t, std::uint8_t>;
/// In twice as many bits.
template <class T>
auto wide(T x) {
  using Wide = std::conditional_t<sizeof(T) == 2, std::int32_t, std::int64_t>;
  return static_cast<std::conditional_t<std::is_signed_v<T>, Wide, std::make_unsigned_t<Wide>>>(x);
}

/// The nearest that the type has; 0 for NaN.
template <class T>
T to_integer(double x) {
  using Limits = std::numeric_limits<T>;
  return x != x                                    ? 0
         : x <= static_cast<double>(Limits::min()) ? Limits::min()
         : x >= static_cast<double>(Limits::max()) ? Limits::max()
                                                   : static_cast<T>(x);
}

/// Shifts by as many bits as the type has, or more, leave zeros or copies of the sign.
template <class T>
T shl(T x, std::uint32_t bits) {
  return bits < 8 * sizeof(T) ? static_cast<T>(x << bits) : T{0};
}
template <class T>
T shr(T x, std::uint32_t bits) {
  return bits < 8 * sizeof(T) ? static_cast<T>(x >> bits) : x < 0 ? static_cast<T>(-1) : T{0};
}

/// Bit by bit, the bit of `table` that those of a, b and c have the number of.
inline std::uint32_t lop3(std::uint32_t a, std::uint32_t b, std::uint32_t c, unsigned table) {
  std::uint32_t result = 0;
  for (unsigned i = 0; i < 8; ++i) {
    if ((table >> i & 1U) != 0) {
      result |= ((i & 4U) != 0 ? a : ~a) & ((i & 2U) != 0 ? b : ~b) & ((i & 1U) != 0 ? c : ~c);
    }
  }
  return result;
}
/// `length` bits from `begin` on, of signed types with the sign of the last one.
template <class T>
T bfe(T x, std::uint32_t begin, std::uint32_t length) {
  constexpr unsigned BITS = 8 * sizeof(T);
  begin &= 0xFFU;
  length &= 0xFFU;
  if (length == 0) {
    return 0;
  }
  const unsigned end = begin + length < BITS ? begin + length : BITS;
  return begin >= BITS ? shr(std::is_signed_v<T> ? x : T{0}, BITS) : shr(shl(x, BITS - end), BITS - end + begin);
}

/// `into` with `length` bits of `x` from `begin` on.
template <class T>
T bfi(T x, T into, std::uint32_t begin, std::uint32_t length) {
  const T mask = shl(static_cast<T>(~shl(~T{0}, length & 0xFFU)), begin & 0xFFU);
  return (into & ~mask) | (shl(x, begin & 0xFFU) & mask);
}

/// The number of the first lane in `mask`; `is_own` tells whether it is this one.
inline std::uint32_t elect(std::uint32_t mask, Site site, bool& is_own) {
  warp_barrier(mask, site);
  const auto first = static_cast<std::uint32_t>(std::countr_zero(mask));
  is_own = first == lane();
  return first;
}

enum class Shuffle { up, down, bfly, idx };
/// `limits` has the last lane of a group, and from bit 8 on which bits of a lane's number name its group. `inside`
/// tells whether the lane that is asked for is in the group.
inline std::uint32_t shuffle(Shuffle mode, std::uint32_t value, std::uint32_t lanes, std::uint32_t limits,
                             std::uint32_t mask, Site site, bool& inside) {
  const unsigned own = lane();
  const unsigned group = limits >> 8U & (WARP - 1);
  const unsigned first = own & group;
  const unsigned last = first | (limits & (WARP - 1) & ~group);
  lanes &= WARP - 1;
  const unsigned source = mode == Shuffle::up     ? own - lanes
                          : mode == Shuffle::down ? own + lanes
                          : mode == Shuffle::bfly ? own ^ lanes
                                                  : first | (lanes & ~group);
  // Of shfl.up, `limits` has the first lane.
  inside = mode == Shuffle::up ? static_cast<int>(source) >= static_cast<int>(last) : source <= last;
  return static_cast<std::uint32_t>(exchange(mask, value, inside ? source : own, site));
}

// ---- Memory ----

inline void* shared_pointer(unsigned address) {
  return static_cast<unsigned char*>(dynamic_shared_memory()) + static_cast<int>(address);
}
inline void* generic_pointer(std::uint64_t address) { return reinterpret_cast<void*>(address); }
inline std::uint64_t to_shared(std::uint64_t generic) { return shared_address(reinterpret_cast<const void*>(generic)); }
inline std::uint64_t from_shared(std::uint64_t address) {
  return reinterpret_cast<std::uintptr_t>(shared_pointer(static_cast<unsigned>(address)));
}

constexpr auto op_add = AtomicOperation::add, op_min = AtomicOperation::min, op_max = AtomicOperation::max,
               op_and = AtomicOperation::and_, op_or = AtomicOperation::or_, op_xor = AtomicOperation::xor_,
               op_inc = AtomicOperation::inc, op_dec = AtomicOperation::dec, op_exch = AtomicOperation::exchange,
               op_cas = AtomicOperation::compare_and_swap;
constexpr auto type_u32 = AtomicType::u32, type_b32 = AtomicType::u32, type_s32 = AtomicType::i32,
               type_u64 = AtomicType::u64, type_b64 = AtomicType::u64, type_s64 = AtomicType::i64,
               type_f32 = AtomicType::f32, type_f64 = AtomicType::f64;
template <class Bits>
Bits atom(AtomicOperation operation, AtomicType type, void* address, Site site, Bits operand, Bits expected = 0) {
  return static_cast<Bits>(simt::atomic(operation, type, address, operand, expected, site));
}
/// mbarrier.try_wait, which waits until it can say so.
inline bool mbarrier_ended(unsigned address, unsigned parity, Site site) {
  mbarrier_wait(address, parity, site);
  return true;
}

/// What one instruction loads or stores.
template <class T, std::size_t COUNT>
struct alignas(sizeof(T) * COUNT) Vector {
  std::array<T, COUNT> values;
};

template <class T>
T load(const void* address) {
  return *static_cast<const T*>(address);
}
template <class T>
void store(void* address, const T& value) {
  *static_cast<T*>(address) = value;
}
/// The same by strong accesses, of which blocks may tell one another.
template <class T>
T load_strong(const void* address) {
  T loaded;
  for (auto& value : loaded.values) {
    value = static_cast<const volatile std::remove_reference_t<decltype(value)>*>(address)[&value - &loaded.values[0]];
  }
  return loaded;
}
template <class T>
void store_strong(void* address, const T& value) {
  for (const auto& each : value.values) {
    static_cast<volatile std::remove_cvref_t<decltype(each)>*>(address)[&each - &value.values[0]] = each;
  }
}

/// mapa: a shared address in the block of that rank in the cluster, which the upper bits have. Those of an address in
/// the own block are all the same.
constexpr unsigned RANK_SHIFT = 24;
inline std::uint32_t in_cluster(std::uint32_t address, std::uint32_t rank, Site site) {
  simt::in_cluster(shared_pointer(address), rank, site);  // fails where there is none
  return (address & ((1U << RANK_SHIFT) - 1)) | (rank + 1) << RANK_SHIFT;
}
/// To an address that mapa gave, or to one in the own block.
inline void* cluster_pointer(unsigned address, Site site) {
  const unsigned rank = address >> RANK_SHIFT;
  const int own = static_cast<int>(address << (32 - RANK_SHIFT)) >> (32 - RANK_SHIFT);
  return rank == 0 || rank == 0xFF ? shared_pointer(address)
                                   : simt::in_cluster(shared_pointer(static_cast<unsigned>(own)), rank - 1, site);
}

/// cp.async.bulk to global memory, which is complete at once.
inline void bulk_copy_to_global(void* destination, unsigned source, unsigned bytes, Site site) {
  using Piece = Vector<std::uint32_t, 4>;
  if (reinterpret_cast<std::uintptr_t>(destination) % sizeof(Piece) != 0 || source % sizeof(Piece) != 0 ||
      bytes % sizeof(Piece) != 0) {
    fail("cp.async.bulk takes addresses and sizes that are multiples of 16", site);
  }
  for (unsigned i = 0; i < bytes; i += sizeof(Piece)) {
    store(static_cast<char*>(destination) + i, load<Piece>(shared_pointer(source + i)));
  }
}

/// cp.async of `bytes`, of which the first `source_bytes` come from `source` and the others are 0.
void cp_async(unsigned destination, const void* source, unsigned bytes, unsigned source_bytes, Site site);
/// What the last operand of cp.async says of `bytes`: how many come from the source, or, as a predicate, to take none.
template <class Operand>
unsigned source_bytes(Operand operand, unsigned bytes) {
  if constexpr (std::is_same_v<Operand, bool>) {
    return operand ? 0 : bytes;
  } else {
    return static_cast<unsigned>(operand);
  }
}

// ---- Matrices ----

// Parts of names: the extents of a product, and how many matrices there are.
constexpr MmaExtents m16n8k4{16, 8, 4}, m16n8k8{16, 8, 8}, m16n8k16{16, 8, 16};
constexpr unsigned x1 = 1, x2 = 2, x4 = 4;

using Floats = std::array<float, 4>;
using PackedHalves = std::array<std::uint32_t, 2>;  ///< FP16, the lower columns in the lower halves
using Integers = std::array<std::int32_t, 4>;

inline Floats mma(MmaFormat format, const MmaExtents& extents, const std::array<std::uint32_t, 4>& a,
                  const std::array<std::uint32_t, 2>& b, const Floats& c, Site site) {
  return simt::mma(format, extents, {a, b}, c, site);
}
inline PackedHalves mma(MmaFormat format, const MmaExtents& extents, const std::array<std::uint32_t, 4>& a,
                        const std::array<std::uint32_t, 2>& b, const PackedHalves& c, Site site) {
  const auto half = [&](unsigned i) { return from_fp16(static_cast<std::uint16_t>(c[i / 2] >> 16U * (i % 2))); };
  const Floats d = simt::mma(format, extents, {a, b}, Floats{half(0), half(1), half(2), half(3)}, site);
  return {packed_f16x2(d[1], d[0]), packed_f16x2(d[3], d[2])};
}

/// Of m8n8k16 as well, whose registers are the first ones of each operand.
inline Integers mma(const MmaExtents& extents, const std::array<std::uint32_t, 4>& a,
                    const std::array<std::uint32_t, 2>& b, const Integers& c, bool saturates, Site site) {
  Integers d = simt::mma(MmaFormat::s8, extents, {a, b}, saturates ? Integers{} : c, site);
  for (unsigned i = 0; saturates && i < d.size(); ++i) {
    const bool below = d[i] < 0;
    if (__builtin_add_overflow(d[i], c[i], &d[i])) {
      d[i] = below ? std::numeric_limits<std::int32_t>::min() : std::numeric_limits<std::int32_t>::max();
    }
  }
  return d;
}

// The linker must not take a function of a build that observes every access for that of another one.
#ifdef SIMT_CHECKED
inline namespace checked {
#else
inline namespace unchecked {
#endif

/// Where the rows of 8 x 8 matrices lie, of which lanes 8 i to 8 i + 7 give those of matrix i. A lane has two elements
/// of each: neighbours in a row, or of transposed matrices in a column.
class MatrixRows {
 public:
  MatrixRows(unsigned row, bool transposed, Site site) : transposed_(transposed) {
    constexpr unsigned ALIGNMENT = 16;
    if (row % ALIGNMENT != 0) {
      fail("ldmatrix and stmatrix take rows that are aligned to 16 bytes", site);
    }
    rows_ = gather(0xFFFFFFFFU, row, site);
  }

  [[gnu::always_inline]] std::uint32_t load_pair(unsigned matrix) const {
    if (!transposed_) {
      return load<std::uint32_t>(at(matrix, own_ / 4, own_ % 4 * 2));
    }
    return load<std::uint16_t>(at(matrix, own_ % 4 * 2, own_ / 4)) |
           static_cast<std::uint32_t>(load<std::uint16_t>(at(matrix, own_ % 4 * 2 + 1, own_ / 4))) << 16U;
  }
  [[gnu::always_inline]] void store_pair(unsigned matrix, std::uint32_t pair) const {
    if (!transposed_) {
      store(at(matrix, own_ / 4, own_ % 4 * 2), pair);
    } else {
      store(at(matrix, own_ % 4 * 2, own_ / 4), static_cast<std::uint16_t>(pair));
      store(at(matrix, own_ % 4 * 2 + 1, own_ / 4), static_cast<std::uint16_t>(pair >> 16U));
    }
  }

 private:
  void* at(unsigned matrix, unsigned row, unsigned element) const {
    return shared_pointer(static_cast<unsigned>(rows_[matrix * 8 + row]) + element * 2);
  }

  std::array<std::uint64_t, WARP> rows_{};
  bool transposed_;
  unsigned own_ = lane();
};

template <unsigned COUNT>
[[gnu::always_inline]] inline std::array<std::uint32_t, COUNT> ldmatrix(unsigned row, bool transposed, Site site) {
  const MatrixRows rows(row, transposed, site);
  std::array<std::uint32_t, COUNT> result;
  for (unsigned matrix = 0; matrix < COUNT; ++matrix) {
    result[matrix] = rows.load_pair(matrix);
  }
  return result;
}

template <unsigned COUNT>
[[gnu::always_inline]] inline void stmatrix(unsigned row, const std::array<std::uint32_t, COUNT>& pairs,
                                            bool transposed, Site site) {
  const MatrixRows rows(row, transposed, site);
  for (unsigned matrix = 0; matrix < COUNT; ++matrix) {
    rows.store_pair(matrix, pairs[matrix]);
  }
}

}  // inline namespace

// ---- wgmma ----

/// The shared address of a tile that a matrix descriptor tells: of one in K-major order with 128-byte swizzling.
inline unsigned wgmma_tile(std::uint64_t descriptor) {
  constexpr unsigned KNOWN_BITS = 18;  // of an address
  const auto stride = static_cast<unsigned>(descriptor >> 32U & 0x3FFFU) << 4U;
  if (descriptor >> 62U != 1 || (descriptor >> 49U & 7U) != 0 || stride != 1024) {
    not_supported("wgmma of tiles that do not lie in K-major order with 128-byte swizzling, eight rows after eight");
  }
  const auto address = static_cast<unsigned>(descriptor & 0x3FFFU) << 4U;
  for (int i = -8; i < 8; ++i) {  // static variables may lie on either side of dynamic memory, which begins at 0
    const unsigned other = address + (static_cast<unsigned>(i) << KNOWN_BITS);
    if (i != 0 && is_shared(shared_pointer(other))) {
      return other;
    }
  }
  return address;
}

inline void require_plain(bool is_plain) {
  if (!is_plain) {
    not_supported("wgmma of operands that are negated or transposed");
  }
}

/// A lane's part of A, which lies in shared memory.
struct WgmmaPart {
  WgmmaA registers;
};
[[gnu::always_inline]] inline WgmmaPart wgmma_rows(std::uint64_t descriptor) {
  const unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  WgmmaPart part;
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned row = thread / WARP % 4 * 16 + lane() / 4 + i % 2 * 8;
    const unsigned at = wgmma_tile(descriptor) + row * 128 + (lane() % 4 + i / 2 * 4) * 4;
    part.registers[i] = load<std::uint32_t>(shared_pointer(at ^ (at >> 3U & 0x70U)));
  }
  return part;
}

/// The product, for which nobody has to wait.
template <std::size_t COUNT>
std::array<float, COUNT> wgmma(MmaFormat format, std::array<float, COUNT> d, const WgmmaPart& a, std::uint64_t b,
                               bool accumulate, Site site) {
  constexpr unsigned AT_A_TIME = sizeof(WgmmaD) / sizeof(float);
  const unsigned columns = wgmma_tile(b);
  for (unsigned i = 0; i < COUNT; i += AT_A_TIME) {
    const unsigned results = COUNT - i < AT_A_TIME ? COUNT - i : AT_A_TIME;
    simt::wgmma(format, &d[i], 2 * results, a.registers, columns + 2 * i * 128, accumulate, site);
    wgmma_commit(site);
    wgmma_wait(0, &d[i], site);
  }
  return d;
}

}  // namespace simt::ptx
