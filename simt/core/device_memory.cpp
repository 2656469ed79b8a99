#include "simt/device_memory.hpp"

#include "simt/global_array.hpp"

#include <atomic>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace simt {
namespace {

/// By address. Host threads allocate and release at once, as they may with CUDA.
struct LiveAllocations {
  std::mutex mutex;
  std::map<void*, Allocation> all;
};

thread_local const char* next_name = nullptr;

/// Never destroyed: code of a block may call exit() while other threads run blocks.
LiveAllocations& live() {
  static LiveAllocations& allocations = *new LiveAllocations;
  return allocations;
}

std::string fault_of_host;  ///< with the lock of live()
std::atomic<int> of_device_alone_count = 0;

std::vector<const DeviceVariable*>& variables() {
  static std::vector<const DeviceVariable*> known;
  return known;
}

}  // namespace

DeviceVariable::DeviceVariable(const char* name, const volatile void* address, std::size_t bytes, bool writable)
    : name_(name), address_(const_cast<const void*>(address)), bytes_(bytes), writable_(writable) {
  variables().push_back(this);
}

DeviceVariable::~DeviceVariable() { std::erase(variables(), this); }

const std::vector<const DeviceVariable*>& device_variables() { return variables(); }

void note_fault_of_host(std::string what) {
  const std::lock_guard lock(live().mutex);
  fault_of_host = fault_of_host.empty() ? std::move(what) : fault_of_host;
}

std::string take_fault_of_host() {
  const std::lock_guard lock(live().mutex);
  return std::exchange(fault_of_host, "");
}

void name_next_allocation(const char* name) { next_name = name; }

void* allocate(std::size_t bytes, bool of_device_alone) {
  void* const memory = ::operator new (bytes, std::align_val_t{ALLOCATION_ALIGNMENT});
  const std::lock_guard lock(live().mutex);
  live().all.emplace(memory, Allocation{memory, bytes, std::exchange(next_name, nullptr), of_device_alone});
  of_device_alone_count += of_device_alone ? 1 : 0;
  return memory;
}

bool release(void* memory) {
  constexpr int NOT_A_NUMBER = 0xFF;  // what is read later is not to pass for what was there
  {
    const std::lock_guard lock(live().mutex);
    const auto found = live().all.find(memory);
    if (found == live().all.end()) {
      return false;
    }
    std::memset(memory, NOT_A_NUMBER, found->second.bytes);
    asm volatile("" ::"r"(memory) : "memory");  // or the compiler leaves out what nobody reads before the end
    of_device_alone_count -= found->second.of_device_alone ? 1 : 0;
    live().all.erase(found);
  }
  ::operator delete (memory, std::align_val_t{ALLOCATION_ALIGNMENT});
  return true;
}

bool has_memory_of_device_alone() { return of_device_alone_count > 0; }

Allocation allocation_at(const void* address) {
  const std::lock_guard lock(live().mutex);
  const auto behind = live().all.upper_bound(const_cast<void*>(address));
  if (behind == live().all.begin()) {
    return {};
  }
  const Allocation& memory = std::prev(behind)->second;
  return address < static_cast<const std::byte*>(memory.begin) + memory.bytes ? memory : Allocation{};
}

bool is_allocated(const void* begin, std::size_t bytes) {
  const Allocation memory = allocation_at(begin);
  return memory.bytes > 0 &&
         static_cast<const std::byte*>(begin) + bytes <= static_cast<const std::byte*>(memory.begin) + memory.bytes;
}

std::vector<Allocation> allocations() {
  const std::lock_guard lock(live().mutex);
  std::vector<Allocation> result;
  for (const auto& [begin, allocation] : live().all) {
    result.push_back(allocation);
  }
  return result;
}

std::vector<GlobalArray> workspaces() {
  std::vector<GlobalArray> arrays;
  for (const Allocation& memory : allocations()) {
    const std::string name = memory.name != nullptr ? memory.name : std::string(WORKSPACE);
    arrays.push_back(bytes_of_device(name, memory.begin, memory.bytes));
  }
  return arrays;
}

}  // namespace simt
