#include "core/shared_memory.hpp"

#include "simt/executor.hpp"
#include "simt/thread.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

namespace simt {
namespace {

/// Up to which a variable's shared address is as aligned as the variable: kernels find the other one of two buffers by
/// a flip of a bit in the address. Addresses count from the dynamic memory.
constexpr std::size_t LARGEST_ALIGNMENT = std::size_t{16} * 1024;

/// Being thread-local like `__shared__` variables, it lies within 32 bits of them. Its alignment is not left to the
/// linker, as a program with a large one in its thread-local data can not be started everywhere.
alignas(1024) thread_local std::byte dynamic_memory[MAX_DYNAMIC_SMEM + LARGEST_ALIGNMENT];

std::size_t rounded_up(std::size_t value, std::size_t to) { return (value + to - 1) / to * to; }

/// The first aligned byte of it.
std::byte* begin_of_dynamic_memory() {
  const auto address = reinterpret_cast<std::uintptr_t>(dynamic_memory);
  return dynamic_memory + (rounded_up(address, LARGEST_ALIGNMENT) - address);
}

/// Around each variable, so that what reaches beyond one does not reach the next.
constexpr std::size_t RED_ZONE = 128;
constexpr std::size_t UNIT = 4;
/// With room for red zones and large alignments.
constexpr std::size_t STATIC_ROOM = 3 * MAX_STATIC_SMEM;
alignas(1024) thread_local std::byte static_memory[STATIC_ROOM];

/// The variables of the block that is under way.
struct StaticMemory {
  std::uint64_t block = 0;  ///< counts all
  std::size_t end = 0;      ///< of what is in use, with the red zone behind it
  std::size_t bytes = 0;
  struct Place {
    std::uint64_t block = 0;
    std::byte* at = nullptr;
  };
  std::vector<Place> places;  ///< by the variables' numbers
  std::vector<PlacedVariable> variables;
};

// What every checked access looks at, and so no part of StaticMemory: to get at an object that is constructed for each
// OS thread takes a function call.
constinit thread_local std::array<std::uint16_t, STATIC_ROOM / UNIT> owners{};  ///< 1 + a number in `in_order`, or 0
constinit thread_local const PlacedVariable* in_order = nullptr;                ///< StaticMemory's variables

StaticMemory& static_state() {
  static thread_local StaticMemory state;
  return state;
}

/// Numbers variables from 1.
unsigned number_of(SharedVariable& variable) {
  static std::atomic<unsigned> numbers = 0;
  const std::atomic_ref number(variable.number);
  if (number.load(std::memory_order_acquire) == 0) {
    unsigned none = 0;
    number.compare_exchange_strong(none, ++numbers);
  }
  return number.load(std::memory_order_acquire);
}

}  // namespace

void prepare_dynamic_memory(std::size_t bytes) {
  std::byte* const begin = begin_of_dynamic_memory();
#ifdef __SANITIZE_ADDRESS__
  ASAN_UNPOISON_MEMORY_REGION(begin, bytes);
  ASAN_POISON_MEMORY_REGION(begin + bytes, MAX_DYNAMIC_SMEM - bytes);
#endif
  std::memset(begin, 0xFF, bytes);
}

/// Static shared memory may lie below the dynamic one: the difference is signed.
std::byte* in_shared_memory(unsigned address) { return begin_of_dynamic_memory() + static_cast<int>(address); }

SharedMemory SharedMemory::of_this_thread() { return {static_memory, begin_of_dynamic_memory()}; }

std::byte* SharedMemory::in(const SharedMemory& other, const void* address) const {
  const auto* const at = static_cast<const std::byte*>(address);
  return static_cast<std::size_t>(at - with_static) < STATIC_ROOM ? other.with_static + (at - with_static)
                                                                  : other.with_dynamic + (at - with_dynamic);
}

void prepare_static_memory() {
  StaticMemory& state = static_state();
  std::fill_n(owners.begin(), state.end / UNIT, std::uint16_t{0});
  ++state.block;
  state.end = 0;
  state.bytes = 0;
  state.variables.clear();
}

void* place_variable(SharedVariable& variable) {
  StaticMemory& state = static_state();
  const unsigned number = number_of(variable);
  if (number >= state.places.size()) {
    state.places.resize(number + 1);
  }
  StaticMemory::Place& place = state.places[number];
  if (place.block == state.block) {
    return place.at;
  }
  const auto base = reinterpret_cast<std::uintptr_t>(static_memory);
  const std::size_t begin = rounded_up(base + state.end + RED_ZONE, std::max(variable.alignment, sizeof(float))) - base;
  const std::size_t end = rounded_up(begin + variable.bytes, UNIT);
  state.bytes += variable.bytes;
  if (state.bytes > MAX_STATIC_SMEM || end + RED_ZONE > STATIC_ROOM) {
    return nullptr;
  }
  state.variables.push_back({&variable, static_memory + begin});
  in_order = state.variables.data();
  std::fill(owners.begin() + static_cast<std::ptrdiff_t>(begin / UNIT),
            owners.begin() + static_cast<std::ptrdiff_t>(end / UNIT),
            static_cast<std::uint16_t>(state.variables.size()));
  std::memset(static_memory + begin, 0xFF, end - begin);
  state.end = end + RED_ZONE;
  place = {state.block, static_memory + begin};
  return place.at;
}

std::size_t static_bytes() { return static_state().bytes; }

const std::vector<PlacedVariable>& placed_variables() { return static_state().variables; }

const SharedVariable* placed_variable_at(const void* address) {
  const auto offset = static_cast<std::size_t>(static_cast<const std::byte*>(address) - static_memory);
  const std::uint16_t owner = offset < STATIC_ROOM ? owners[offset / UNIT] : std::uint16_t{0};
  return owner == 0 ? nullptr : in_order[owner - 1U].variable;
}

void* dynamic_shared_memory() { return begin_of_dynamic_memory(); }

unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(static_cast<const std::byte*>(pointer) - begin_of_dynamic_memory());
}

}  // namespace simt
