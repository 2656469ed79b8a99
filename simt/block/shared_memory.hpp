#pragma once

#include <cstddef>
#include <string_view>

namespace simt {

/// How the program's symbol table calls this OS thread's dynamic shared memory, which begins at shared address 0.
constexpr std::string_view DYNAMIC_MEMORY_SYMBOL = "simt::(anonymous namespace)::dynamic_memory";

/// Sets all bits of as many bytes of it; more is not to be used.
void prepare_dynamic_memory(std::size_t bytes);
/// Where a shared address lies.
std::byte* in_shared_memory(unsigned address);

}  // namespace simt
