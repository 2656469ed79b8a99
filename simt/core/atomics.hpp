#pragma once

#include "simt/thread.hpp"

#include <cstdint>

namespace simt {

/// Bytes of a variable of the type.
constexpr unsigned size_of(AtomicType type) {
  return type == AtomicType::i64 || type == AtomicType::u64 || type == AtomicType::f64 ? 8 : 4;
}

/// simt::atomic(), unwatched. Other OS threads may do the same to the variable.
std::uint64_t change_atomically(AtomicOperation operation, AtomicType type, void* address, std::uint64_t operand,
                                std::uint64_t expected);

}  // namespace simt
