#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>

#include <sys/mman.h>

namespace simt {

/// A table of zeros. Only the parts in use take memory, and large ones nobody has to set memory aside for.
template <class Value>
struct FreeMemory {
  std::size_t mapped = 0;  ///< bytes

  void operator()(Value* memory) const {
    if (mapped > 0) {
      munmap(memory, mapped);
    } else {
      std::free(memory);
    }
  }
};
template <class Value>
using ZeroedTable = std::unique_ptr<Value[], FreeMemory<Value>>;
template <class Value>
ZeroedTable<Value> zeroed_table(std::size_t size) {
  constexpr std::size_t LARGE = std::size_t{1} << 20U;
  const std::size_t mapped = size * sizeof(Value) < LARGE ? 0 : size * sizeof(Value);
  void* const memory =
      mapped == 0 ? std::calloc(size, sizeof(Value))
                  : mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == nullptr || memory == MAP_FAILED) {
    throw std::bad_alloc();
  }
  return ZeroedTable<Value>(static_cast<Value*>(memory), {mapped});
}

}  // namespace simt
