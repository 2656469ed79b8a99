#include "simt/device_memory.hpp"

#include <map>
#include <new>

namespace simt {
namespace {

std::map<void*, std::size_t>& live() {
  static std::map<void*, std::size_t> allocations;
  return allocations;
}

std::vector<const DeviceVariable*>& variables() {
  static std::vector<const DeviceVariable*> known;
  return known;
}

}  // namespace

DeviceVariable::DeviceVariable(const char* name, const void* address, std::size_t bytes, bool writable)
    : name_(name), address_(address), bytes_(bytes), writable_(writable) {
  variables().push_back(this);
}

DeviceVariable::~DeviceVariable() { std::erase(variables(), this); }

const std::vector<const DeviceVariable*>& device_variables() { return variables(); }

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
