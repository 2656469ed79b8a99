#include "simt/device_memory.hpp"

#include <map>
#include <new>

namespace simt {
namespace {

std::map<void*, std::size_t>& live() {
  static std::map<void*, std::size_t> allocations;
  return allocations;
}

}  // namespace

void* allocate(std::size_t bytes) {
  void* const memory = ::operator new (bytes, std::align_val_t{ALLOCATION_ALIGNMENT});
  live().emplace(memory, bytes);
  return memory;
}

bool release(void* memory) {
  if (live().erase(memory) == 0) {
    return false;
  }
  ::operator delete (memory, std::align_val_t{ALLOCATION_ALIGNMENT});
  return true;
}

std::vector<Allocation> allocations() {
  std::vector<Allocation> result;
  for (const auto& [begin, bytes] : live()) {
    result.push_back({begin, bytes});
  }
  return result;
}

}  // namespace simt
