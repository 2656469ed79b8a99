#pragma once

#include "core/program.hpp"
#include "core/zeroed_table.hpp"
#include "simt/counter.hpp"

#include <atomic>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <source_location>
#include <utility>
#include <vector>

namespace simt {

/// The sites that accesses come from, numbered for all OS threads.
class AccessSites {
 public:
  using Number = std::uint16_t;
  static constexpr Number NONE = 0;

  struct Site {
    const void* code = nullptr;  ///< the code behind the access; null for a copy, which has a place instead
    std::source_location place;
    unsigned bytes = 0;
    bool write = false;
    bool copy = false;  ///< whether it is a copy that writes shared memory; the site with the next number is its read
                        ///< of global memory
    bool bulk = false;  ///< whether it is a bulk copy; only its reads are counted
  };

  /// Of code in `program`.
  explicit AccessSites(const Program& program);
  /// The site of an access by the code before `code`.
  Number of_code(const void* code, unsigned bytes, bool write) {
    const std::size_t offset = reinterpret_cast<std::uintptr_t>(code) - begin_;
    if (offset >= size_) {
      return NONE;  // not of that program
    }
    const Number known = std::atomic_ref(of_code_[offset]).load(std::memory_order_relaxed);
    return known != NONE ? known : add(offset, code, bytes, write);
  }
  Number of_copy(const std::source_location& place, unsigned bytes, bool bulk);
  Site operator[](Number number) const;

 private:
  Number add(std::size_t offset, const void* code, unsigned bytes, bool write);
  Number append(const Site& site);

  std::uintptr_t begin_;
  std::size_t size_;
  ZeroedTable<Number> of_code_;
  mutable std::mutex mutex_;
  std::vector<Site> sites_;
};

/// Index of an array, or of a shared variable.
struct Memory {
  static constexpr std::uint16_t ELSEWHERE = 0xFFFF;

  bool shared = false;
  std::uint16_t index = ELSEWHERE;

  auto operator<=>(const Memory&) const = default;
};

class WarpRecorder;

/// Shared by the counters of all OS threads.
struct CountingContext {
  explicit CountingContext(Program program) : program(std::move(program)), sites(this->program) {}

  const Program program;  ///< whose code is counted
  std::vector<GlobalArray> arrays;
  L1Size l1_bytes;
  AccessSites sites;
  WarpRecorder* recorder = nullptr;  ///< of the warp that is traced in the current launch, or null

  /// The array that the address lies in, and its begin; 0 elsewhere.
  std::pair<Memory, std::uint64_t> array_at(std::uint64_t address) const;
};

}  // namespace simt
