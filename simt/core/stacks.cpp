#include "core/stacks.hpp"

#include "simt/executor.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <new>

namespace simt {
namespace {

constexpr std::size_t PAGE = 4096;
#ifdef __SANITIZE_ADDRESS__
constexpr std::size_t STACK = std::size_t{256} * 1024;  // frames grow by their red zones
#else
constexpr std::size_t STACK = THREAD_STACK_BYTES;
#endif
constexpr std::size_t STRIDE = PAGE + STACK;
/// Fibers touch a few cache lines near the top of their stacks. If all tops lay at the same place of a page, they would
/// compete for the same few sets of the cache. So each top lies a few lines further down than the one before.
constexpr std::size_t SHIFT = 320;

/// All stacks that there are, for signal handlers, which can not wait for a lock. Of more OS threads than this some are
/// not found.
std::array<std::atomic<const Stacks*>, 1024> all_stacks{};

void replace_in_all_stacks(const Stacks* old, const Stacks* replacement) {
  std::any_of(all_stacks.begin(), all_stacks.end(), [&](std::atomic<const Stacks*>& each) {
    const Stacks* expected = old;
    return each.compare_exchange_strong(expected, replacement);
  });
}

/// Lets handlers of signals run on this OS thread when a fiber's stack has no room for them. AddressSanitizer does so
/// itself.
class StackOfHandlers {
 public:
#ifndef __SANITIZE_ADDRESS__
  StackOfHandlers() {
    stack_t stack{};
    stack.ss_sp = memory_.data();
    stack.ss_size = memory_.size();
    sigaltstack(&stack, nullptr);
  }
  ~StackOfHandlers() {
    stack_t none{};
    none.ss_flags = SS_DISABLE;
    sigaltstack(&none, nullptr);
  }
  StackOfHandlers(const StackOfHandlers&) = delete;
  StackOfHandlers& operator=(const StackOfHandlers&) = delete;

 private:
  std::array<std::byte, std::size_t{64} * 1024> memory_;
#endif
};

}  // namespace

Stacks::Stacks(std::size_t count) : bytes_(count * STRIDE), memory_(nullptr) {
  void* const memory =
      mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    throw std::bad_alloc();
  }
  memory_ = static_cast<std::byte*>(memory);
  [[maybe_unused]] static thread_local StackOfHandlers stack_of_handlers;
  replace_in_all_stacks(nullptr, this);
}

Stacks::~Stacks() {
  replace_in_all_stacks(this, nullptr);
  munmap(memory_, bytes_);
}

bool Stacks::has_below_a_stack(const void* address) const {
  return contain(address) && static_cast<std::size_t>(static_cast<const std::byte*>(address) - memory_) % STRIDE < PAGE;
}

void Stacks::guard(std::size_t index) {
  // Each page takes two of the mappings that a process may have, 65530 by default, and threads need some as well.
  constexpr unsigned MOST_GUARDS = 28000;
  static std::atomic<unsigned> guards = 0;
  if (guards++ < MOST_GUARDS) {
    mprotect(memory_ + index * STRIDE, PAGE, PROT_NONE);
  }
}

boost::context::stack_context Stacks::operator[](std::size_t index) const {
  const std::size_t shift = index * SHIFT % PAGE;
  boost::context::stack_context stack;
  stack.sp = memory_ + (index + 1) * STRIDE - shift;
  stack.size = STACK - shift;
  return stack;
}

bool is_stack_overflow(const void* address) {
  return std::any_of(all_stacks.begin(), all_stacks.end(), [&](const std::atomic<const Stacks*>& each) {
    const Stacks* const stacks = each;
    return stacks != nullptr && stacks->has_below_a_stack(address);
  });
}

}  // namespace simt
