#pragma once

#include <boost/context/stack_context.hpp>

#include <cstddef>

namespace simt {

/// The stacks of one block's fibers, in one piece of address space. Only the parts in use take memory. A page without
/// access below each stack turns an overflow into a fault.
class Stacks {
 public:
  /// Throws std::bad_alloc.
  explicit Stacks(std::size_t count);
  ~Stacks();
  Stacks(const Stacks&) = delete;
  Stacks& operator=(const Stacks&) = delete;

  boost::context::stack_context operator[](std::size_t index) const;
  bool contain(const void* address) const {
    return static_cast<std::size_t>(static_cast<const std::byte*>(address) - memory_) < bytes_;
  }

 private:
  std::size_t bytes_;
  std::byte* memory_;
};

}  // namespace simt
