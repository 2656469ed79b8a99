#pragma once

#include "simt/thread.hpp"

#include <cstddef>
#include <string_view>
#include <vector>

namespace simt {

/// The name of this OS thread's dynamic shared memory in the program's symbol table. Shared address 0 is
/// its first byte that is aligned to 16 KiB.
constexpr std::string_view DYNAMIC_MEMORY_SYMBOL = "simt::(anonymous namespace)::dynamic_memory";

/// The same for static shared memory of plain CUDA, in which place_variable() gives variables their places.
constexpr std::string_view STATIC_MEMORY_SYMBOL = "simt::(anonymous namespace)::static_memory";

/// Sets all bits of as many bytes of it; more is not to be used.
void prepare_dynamic_memory(std::size_t bytes);
/// The memory at a shared address.
std::byte* in_shared_memory(unsigned address);

/// Where an OS thread has the shared memory of its block. Shared address 0 has an alignment that thread-local data has
/// not by itself. So the distance between the two differs from thread to thread.
struct SharedMemory {
  std::byte* with_static = nullptr;
  std::byte* with_dynamic = nullptr;

  static SharedMemory of_this_thread();
  /// Where another block has what lies at `address` in this one's memory.
  std::byte* in(const SharedMemory& other, const void* address) const;
};

/// A block begins, in which no variable has a place yet.
void prepare_static_memory();
/// Where the variable lies in this OS thread's block; all its bits are set when it gets its place. Null where there is
/// no room left: static_bytes() would exceed MAX_STATIC_SMEM.
void* place_variable(SharedVariable& variable);
/// Of all the variables of this block.
std::size_t static_bytes();

struct PlacedVariable {
  const SharedVariable* variable = nullptr;
  std::byte* begin = nullptr;
};
/// Those of this block, in the order of their addresses.
const std::vector<PlacedVariable>& placed_variables();
/// The one that the address belongs to, or null.
const SharedVariable* placed_variable_at(const void* address);

}  // namespace simt
