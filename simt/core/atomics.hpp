#pragma once

#include "simt/thread.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <type_traits>

namespace simt {

/// Bytes of a variable of the type.
constexpr unsigned size_of(AtomicType type) {
  return type == AtomicType::i64 || type == AtomicType::u64 || type == AtomicType::f64 ? 8 : 4;
}

template <class T>
T changed(AtomicOperation operation, T old, T operand, T expected) {
  using enum AtomicOperation;
  if constexpr (std::is_integral_v<T>) {
    if (operation == and_ || operation == or_ || operation == xor_) {
      return operation == and_ ? old & operand : operation == or_ ? old | operand : old ^ operand;
    }
  }
  return operation == add                ? static_cast<T>(old + operand)
         : operation == min              ? std::min(old, operand)
         : operation == max              ? std::max(old, operand)
         : operation == exchange         ? operand
         : operation == compare_and_swap ? (old == expected ? operand : old)
         : operation == inc              ? (old >= operand ? T{0} : static_cast<T>(old + 1))
         : operation == dec              ? (old == T{0} || old > operand ? operand : static_cast<T>(old - 1))
                                         : old;
}

template <class T>
std::uint64_t change(AtomicOperation operation, void* address, std::uint64_t operand, std::uint64_t expected) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  const auto value = [](std::uint64_t bits) { return std::bit_cast<T>(static_cast<Bits>(bits)); };
  const std::atomic_ref variable(*static_cast<Bits*>(address));
  Bits old = variable.load();
  while (!variable.compare_exchange_weak(
      old, std::bit_cast<Bits>(changed(operation, value(old), value(operand), value(expected))))) {
  }
  return old;
}

/// simt::atomic(), unwatched. Other OS threads may do the same to the variable.
inline std::uint64_t change_atomically(AtomicOperation operation, AtomicType type, void* address, std::uint64_t operand,
                                       std::uint64_t expected) {
  constexpr std::array CHANGES{change<std::int32_t>,  change<std::uint32_t>, change<std::int64_t>,
                               change<std::uint64_t>, change<float>,         change<double>};  // as AtomicType has them
  return CHANGES.at(static_cast<std::size_t>(type))(operation, address, operand, expected);
}

}  // namespace simt
