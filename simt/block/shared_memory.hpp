#pragma once

#include <cstddef>
#include <string_view>

namespace simt {

/// The name of this OS thread's dynamic shared memory in the program's symbol table. The memory begins at shared
/// address 0.
constexpr std::string_view DYNAMIC_MEMORY_SYMBOL = "simt::(anonymous namespace)::dynamic_memory";

/// Sets all bits of the first `bytes` bytes of the dynamic shared memory. The block may not use more.
void prepare_dynamic_memory(std::size_t bytes);
/// The memory at a shared address.
std::byte* in_shared_memory(unsigned address);

}  // namespace simt
