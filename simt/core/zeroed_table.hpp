#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>

#include <sys/mman.h>

namespace simt {

template <class Value>
struct Unmap {
  std::size_t bytes = 0;

  void operator()(Value* memory) const { munmap(memory, bytes); }
};
/// A table of zeros. Only the parts in use take memory, and large ones nobody has to set memory aside for.
template <class Value>
using ZeroedTable = std::unique_ptr<Value[], Unmap<Value>>;
template <class Value>
ZeroedTable<Value> zeroed_table(std::size_t size) {
  const std::size_t bytes = std::max(size, std::size_t{1}) * sizeof(Value);
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    throw std::bad_alloc();
  }
  return ZeroedTable<Value>(static_cast<Value*>(memory), {bytes});
}

}  // namespace simt
