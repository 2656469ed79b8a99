#pragma once

// Memory that stands for a device's, beside the arrays that the host passes to kernels directly.

#include <cstddef>
#include <vector>

namespace simt {

/// A GPU's allocator aligns arrays to this, at least.
constexpr std::size_t ALLOCATION_ALIGNMENT = 256;

struct Allocation {
  void* begin = nullptr;
  std::size_t bytes = 0;
};

/// Throws std::bad_alloc.
void* allocate(std::size_t bytes);
/// Returns false where `memory` is not the begin of an allocation.
bool release(void* memory);
/// All that have not been released, in the order of their addresses.
std::vector<Allocation> allocations();

}  // namespace simt
