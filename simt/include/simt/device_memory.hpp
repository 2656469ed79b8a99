#pragma once

// Memory that stands for a device's, beside the arrays that the host passes to kernels directly.

#include <cstddef>
#include <string>
#include <vector>

namespace simt {

/// A GPU's allocator aligns arrays to this, at least.
constexpr std::size_t ALLOCATION_ALIGNMENT = 256;

struct Allocation {
  void* begin = nullptr;
  std::size_t bytes = 0;
  const char* name = nullptr;    ///< for messages; or null
  bool of_device_alone = false;  ///< the host may not touch it
};

/// Of what this host thread allocates next; outlives it.
void name_next_allocation(const char* name);

/// Throws std::bad_alloc. This, release() and allocations() may be called from several threads at once.
void* allocate(std::size_t bytes, bool of_device_alone = false);
/// Returns false where `memory` is not the begin of an allocation.
bool release(void* memory);
/// All that have not been released, in the order of their addresses.
std::vector<Allocation> allocations();

/// Whether all of it belongs to one that has not been released.
bool is_allocated(const void* begin, std::size_t bytes);
/// The one that has the address; one of no bytes where none has it.
Allocation allocation_at(const void* address);

/// Whether there is any that the host may not touch. Takes no lock: all instrumented code of hosts asks, also in a
/// process that was forked while another thread held one.
bool has_memory_of_device_alone();

/// Notes what the host did that ends its process beside a GPU.
void note_fault_of_host(std::string what);
/// The first that was noted since the last call, or nothing.
std::string take_fault_of_host();

/// A __device__ or __constant__ variable, known to the checks for as long as this lives. `name` outlives it.
class DeviceVariable {
 public:
  DeviceVariable(const char* name, const volatile void* address, std::size_t bytes, bool writable);
  /// In constant memory, of which a file's variables have taken so many bytes before.
  DeviceVariable(const char* name, const volatile void* address, std::size_t bytes, bool writable, std::size_t& taken)
      : DeviceVariable(name, address, bytes, writable) {
    taken += bytes;
  }
  ~DeviceVariable();
  DeviceVariable(const DeviceVariable&) = delete;
  DeviceVariable& operator=(const DeviceVariable&) = delete;

  const char* name() const { return name_; }
  const void* address() const { return address_; }
  std::size_t bytes() const { return bytes_; }
  bool writable() const { return writable_; }

 private:
  const char* name_;
  const void* address_;
  std::size_t bytes_;
  bool writable_;
};

/// All that live.
const std::vector<const DeviceVariable*>& device_variables();

}  // namespace simt
