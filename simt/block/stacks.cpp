#include "block/stacks.hpp"

#include <sys/mman.h>

#include <new>

namespace simt {
namespace {

constexpr std::size_t PAGE = 4096;
#ifdef __SANITIZE_ADDRESS__
constexpr std::size_t STACK = std::size_t{256} * 1024;  // frames grow by their red zones
#else
constexpr std::size_t STACK = std::size_t{64} * 1024;
#endif
constexpr std::size_t STRIDE = PAGE + STACK;
/// Fibers touch a few cache lines near the top of their stacks. If all tops lay at the same place of a page, they would
/// compete for the same few sets of the cache. So each top lies a few lines further down than the one before.
constexpr std::size_t SHIFT = 320;

}  // namespace

Stacks::Stacks(std::size_t count) : bytes_(count * STRIDE), memory_(nullptr) {
  void* const memory =
      mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    throw std::bad_alloc();
  }
  memory_ = static_cast<std::byte*>(memory);
  for (std::size_t i = 0; i < count; ++i) {
    mprotect(memory_ + i * STRIDE, PAGE, PROT_NONE);
  }
}

Stacks::~Stacks() { munmap(memory_, bytes_); }

boost::context::stack_context Stacks::operator[](std::size_t index) const {
  const std::size_t shift = index * SHIFT % PAGE;
  boost::context::stack_context stack;
  stack.sp = memory_ + (index + 1) * STRIDE - shift;
  stack.size = STACK - shift;
  return stack;
}

}  // namespace simt
