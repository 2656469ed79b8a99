#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>

namespace simt {

/// A table of zeros. Only the parts in use take memory.
template <class Value>
struct FreeMemory {
  void operator()(Value* memory) const { std::free(memory); }
};
template <class Value>
using ZeroedTable = std::unique_ptr<Value[], FreeMemory<Value>>;
template <class Value>
ZeroedTable<Value> zeroed_table(std::size_t size) {
  auto* const memory = static_cast<Value*>(std::calloc(size, sizeof(Value)));
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  return ZeroedTable<Value>(memory);
}

}  // namespace simt
