// The functions that instrumented code calls. The compiler's thread sanitizer puts a call before every access, and its
// coverage puts one at the begin of each basic block. The program is not linked to the sanitizer's runtime, so these
// names can be defined here. The compiler gives them their meaning.

#include "core/block.hpp"
#include "core/code_runs.hpp"
#include "core/program.hpp"
#include "simt/device_memory.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

namespace {

/// Pieces of straight code that ran since the last access to memory other than stacks.
constinit thread_local std::uint64_t pieces = 0;
/// A loop that goes through so many has no end.
constexpr std::uint64_t ENDLESS = 1ULL << 31U;

/// The block that runs here, if its kernel is observed, or null.
simt::Block* observed() {
  simt::Block* const block = simt::Block::on_this_thread();
  return block != nullptr && block->watched() ? block : nullptr;
}

/// Beside a GPU the host ends with a segmentation fault where it touches what cudaMalloc() gave.
void access_of_host(const void* address, bool write, const void* code) {
  if (!simt::has_memory_of_device_alone()) {
    return;
  }
  if (const simt::Allocation memory = simt::allocation_at(address); memory.of_device_alone) {
    const std::string name = memory.name != nullptr ? memory.name : "memory";
    simt::note_fault_of_host(simt::source_line(code) + ": the host " + (write ? "writes to " : "reads ") + name +
                             ", which is the device's alone: cudaMemcpy() may copy it");
  }
}

void access(const void* address, unsigned bytes, bool write, bool aligned, const void* code, bool strong = false) {
  if (simt::Block::on_this_thread() == nullptr) {
    access_of_host(address, write, code);
  } else if (simt::Block* const block = observed(); block != nullptr && !block->scheduler().on_stack(address)) {
    pieces = 0;
    block->access({static_cast<const std::byte*>(address), bytes, write, aligned, false, strong}, code);
  }
}

/// Word by word: what is copied at once may be several rows of a matrix.
void access_words(const void* address, std::size_t bytes, bool write, const void* code) {
  constexpr std::size_t WORD = 4;
  const auto* at = static_cast<const std::byte*>(address);
  for (const auto* const end = at + bytes; at < end;) {
    const std::size_t in_word = WORD - reinterpret_cast<std::uintptr_t>(at) % WORD;
    const auto part = static_cast<unsigned>(std::min<std::size_t>(in_word, static_cast<std::size_t>(end - at)));
    access(at, part, write, false, code);
    at += part;
  }
}

/// A kernel takes memory from the device's heap, and others call `allocate`.
void* allocated(std::size_t bytes, void* (*allocate)(std::size_t)) {
  if (observed() == nullptr) {
    return allocate(bytes);
  }
  const simt::InExecutor in_executor;
  return simt::allocate(bytes);
}
void release(void* memory, void (*otherwise)(void*)) {
  if (observed() != nullptr) {
    const simt::InExecutor in_executor;
    if (simt::release(memory)) {
      return;
    }
  }
  otherwise(memory);
}

}  // namespace

namespace simt {

// Of memory_functions.hpp, whose macros are not for this file.
void* move_memory(void* to, const void* from, std::size_t bytes) {
  access_words(from, bytes, false, __builtin_return_address(0));
  access_words(to, bytes, true, __builtin_return_address(0));
  return std::memmove(to, from, bytes);
}

void* set_memory(void* to, int value, std::size_t bytes) {
  access_words(to, bytes, true, __builtin_return_address(0));
  return std::memset(to, value, bytes);
}

}  // namespace simt

#define SIMT_ACCESS(name, bytes, write, aligned, strong)                         \
  void __tsan_##name##bytes(void* address) {                                     \
    access(address, bytes, write, aligned, __builtin_return_address(0), strong); \
  }
#define SIMT_ACCESSES(bytes)                              \
  SIMT_ACCESS(read, bytes, false, true, false)            \
  SIMT_ACCESS(write, bytes, true, true, false)            \
  SIMT_ACCESS(volatile_read, bytes, false, true, true)    \
  SIMT_ACCESS(volatile_write, bytes, true, true, true)    \
  SIMT_ACCESS(unaligned_read, bytes, false, false, false) \
  SIMT_ACCESS(unaligned_write, bytes, true, false, false)

// NOLINTBEGIN(bugprone-reserved-identifier)
extern "C" {

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}

SIMT_ACCESSES(1)
SIMT_ACCESSES(2)
SIMT_ACCESSES(4)
SIMT_ACCESSES(8)
SIMT_ACCESSES(16)

void __tsan_read_range(void* address, std::size_t bytes) {
  access(address, static_cast<unsigned>(bytes), false, false, __builtin_return_address(0));
}
void __tsan_write_range(void* address, std::size_t bytes) {
  access(address, static_cast<unsigned>(bytes), true, false, __builtin_return_address(0));
}
void __tsan_vptr_update(void**, void*) {}

// The host's side of a kernel may have atomics: the counts of std::shared_ptr, the guards of variables of functions.
// They are not watched. All are there, because a symbol that is missing ends the program when it is called.
// NOLINTBEGIN(bugprone-macro-parentheses): types and parts of names take none
#define SIMT_FETCH(bits, T, operation)                                           \
  T __tsan_atomic##bits##_fetch_##operation(volatile T* address, T value, int) { \
    return __atomic_fetch_##operation(address, value, __ATOMIC_SEQ_CST);         \
  }
#define SIMT_EXCHANGE_IF(bits, T, how, weak)                                                                \
  bool __tsan_atomic##bits##_compare_exchange_##how(volatile T* address, T* expected, T value, int, int) {  \
    return __atomic_compare_exchange_n(address, expected, value, weak, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
  }
#define SIMT_ATOMICS(bits, T)                                                                                         \
  T __tsan_atomic##bits##_load(const volatile T* address, int) { return __atomic_load_n(address, __ATOMIC_SEQ_CST); } \
  void __tsan_atomic##bits##_store(volatile T* address, T value, int) {                                               \
    __atomic_store_n(address, value, __ATOMIC_SEQ_CST);                                                               \
  }                                                                                                                   \
  T __tsan_atomic##bits##_exchange(volatile T* address, T value, int) {                                               \
    return __atomic_exchange_n(address, value, __ATOMIC_SEQ_CST);                                                     \
  }                                                                                                                   \
  SIMT_EXCHANGE_IF(bits, T, strong, false)                                                                            \
  SIMT_EXCHANGE_IF(bits, T, weak, true)                                                                               \
  SIMT_FETCH(bits, T, add)                                                                                            \
  SIMT_FETCH(bits, T, sub)                                                                                            \
  SIMT_FETCH(bits, T, and)                                                                                            \
  SIMT_FETCH(bits, T, or)                                                                                             \
  SIMT_FETCH(bits, T, xor)
// NOLINTEND(bugprone-macro-parentheses)

SIMT_ATOMICS(8, std::uint8_t)
SIMT_ATOMICS(16, std::uint16_t)
SIMT_ATOMICS(32, std::uint32_t)
SIMT_ATOMICS(64, std::uint64_t)
void __tsan_atomic_thread_fence(int) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
void __tsan_atomic_signal_fence(int) { __atomic_signal_fence(__ATOMIC_SEQ_CST); }

// What files of users call for malloc(), new, free() and delete.
void* __wrap_malloc(std::size_t bytes) { return allocated(bytes, std::malloc); }
void* __wrap__Znwm(std::size_t bytes) { return allocated(bytes, operator new); }
void* __wrap__Znam(std::size_t bytes) { return allocated(bytes, operator new[]); }
void __wrap_free(void* memory) { release(memory, std::free); }
void __wrap__ZdlPv(void* memory) { release(memory, operator delete); }
void __wrap__ZdlPvm(void* memory, std::size_t) { release(memory, operator delete); }
void __wrap__ZdaPv(void* memory) { release(memory, operator delete[]); }
void __wrap__ZdaPvm(void* memory, std::size_t) { release(memory, operator delete[]); }

void __sanitizer_cov_trace_pc() {
  simt::code_runs.add(__builtin_return_address(0));
  if (++pieces == ENDLESS && observed() != nullptr) {
    const simt::InExecutor in_kernel;
    in_kernel->freeze("runs for ever at " + simt::source_line(__builtin_return_address(0)) +
                      ", where it looks at no memory");
  }
}

}  // extern "C"
// NOLINTEND(bugprone-reserved-identifier)
