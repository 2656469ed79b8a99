#pragma once

// Comes before all else in translations of plain CUDA: to the checks, memcpy() and the like are accesses to memory, of
// files and of std::copy() alike. The compiler would make instructions of them that it does not tell of.

#include <cstring>

// Translations that are compiled for several targets have the word itself until then.
#ifndef SIMT_IS_CHECKED
#ifdef SIMT_CHECKED
#define SIMT_IS_CHECKED true
#else
#define SIMT_IS_CHECKED false
#endif
#endif

namespace simt {
void* move_memory(void* to, const void* from, std::size_t bytes);
void* set_memory(void* to, int value, std::size_t bytes);
}  // namespace simt

[[gnu::always_inline]] constexpr void* simt_memmove(void* to, const void* from, std::size_t bytes) {
  return SIMT_IS_CHECKED && !__builtin_is_constant_evaluated() ? simt::move_memory(to, from, bytes)
                                                               : __builtin_memmove(to, from, bytes);
}
[[gnu::always_inline]] constexpr void* simt_memset(void* to, int value, std::size_t bytes) {
  return SIMT_IS_CHECKED && !__builtin_is_constant_evaluated() ? simt::set_memory(to, value, bytes)
                                                               : __builtin_memset(to, value, bytes);
}
namespace std {
using ::simt_memmove;
using ::simt_memset;
}  // namespace std

#define memcpy simt_memmove
#define memmove simt_memmove
#define memset simt_memset
#define __builtin_memcpy simt_memmove
#define __builtin_memmove simt_memmove
#define __builtin_memset simt_memset
