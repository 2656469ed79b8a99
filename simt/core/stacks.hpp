#pragma once

#include <boost/context/stack_context.hpp>

#include <cstddef>

namespace simt {

/// The stacks of one block's fibers, in one piece of address space. Only the parts in use take memory. A page without
/// access below a stack turns an overflow into a fault. A signal handler for faults may run on the OS thread's own
/// alternative stack, which the OS thread gets with its first Stacks.
class Stacks {
 public:
  /// Throws std::bad_alloc.
  explicit Stacks(std::size_t count);
  ~Stacks();
  Stacks(const Stacks&) = delete;
  Stacks& operator=(const Stacks&) = delete;

  /// Gives the stack that page, unless the process has too many of them.
  void guard(std::size_t index);
  boost::context::stack_context operator[](std::size_t index) const;
  bool contain(const void* address) const {
    return static_cast<std::size_t>(static_cast<const std::byte*>(address) - memory_) < bytes_;
  }
  /// Whether the address is in the page below a stack.
  bool has_below_a_stack(const void* address) const;

 private:
  std::size_t bytes_;
  std::byte* memory_;
};

}  // namespace simt
