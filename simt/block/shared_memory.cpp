#include "block/shared_memory.hpp"

#include "simt/executor.hpp"
#include "simt/thread.hpp"

#include <cstring>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

namespace simt {
namespace {

/// Being thread-local like `__shared__` variables, it lies within 32 bits of them.
alignas(1024) thread_local std::byte dynamic_memory[MAX_DYNAMIC_SMEM];

}  // namespace

void prepare_dynamic_memory(std::size_t bytes) {
#ifdef __SANITIZE_ADDRESS__
  ASAN_UNPOISON_MEMORY_REGION(dynamic_memory, bytes);
  ASAN_POISON_MEMORY_REGION(dynamic_memory + bytes, sizeof dynamic_memory - bytes);
#endif
  std::memset(dynamic_memory, 0xFF, bytes);
}

/// Static shared memory may lie below the dynamic one: the difference is signed.
std::byte* in_shared_memory(unsigned address) { return dynamic_memory + static_cast<int>(address); }

void* dynamic_shared_memory() { return dynamic_memory; }

unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(static_cast<const std::byte*>(pointer) - dynamic_memory);
}

}  // namespace simt
