#pragma once

#include "simt/thread.hpp"

#include <algorithm>
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
  switch (operation) {
    case AtomicOperation::add:
      return static_cast<T>(old + operand);
    case AtomicOperation::min:
      return std::min(old, operand);
    case AtomicOperation::max:
      return std::max(old, operand);
    case AtomicOperation::exchange:
      return operand;
    case AtomicOperation::compare_and_swap:
      return old == expected ? operand : old;
    case AtomicOperation::inc:
      return old >= operand ? T{0} : static_cast<T>(old + 1);
    case AtomicOperation::dec:
      return old == T{0} || old > operand ? operand : static_cast<T>(old - 1);
    case AtomicOperation::and_:
    case AtomicOperation::or_:
    case AtomicOperation::xor_:
      break;
  }
  if constexpr (std::is_integral_v<T>) {
    return operation == AtomicOperation::and_  ? old & operand
           : operation == AtomicOperation::or_ ? old | operand
                                               : old ^ operand;
  }
  return old;
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
  switch (type) {
    case AtomicType::i32:
      return change<std::int32_t>(operation, address, operand, expected);
    case AtomicType::u32:
      return change<std::uint32_t>(operation, address, operand, expected);
    case AtomicType::i64:
      return change<std::int64_t>(operation, address, operand, expected);
    case AtomicType::u64:
      return change<std::uint64_t>(operation, address, operand, expected);
    case AtomicType::f32:
      return change<float>(operation, address, operand, expected);
    case AtomicType::f64:
      return change<double>(operation, address, operand, expected);
  }
  return 0;
}

}  // namespace simt
