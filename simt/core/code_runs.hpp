#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace simt {

/// How often code ran, by its distance from the begin of what is counted. Calls come at every branch.
struct CodeRuns {
  std::uintptr_t begin = 0;
  std::size_t size = 0;  ///< 0 while no counter works on this OS thread
  std::uint64_t* runs = nullptr;
  std::vector<const void*>* seen = nullptr;

  /// Counts one run of the code from `code` to the next such call.
  void add(const void* code) const {
    const std::size_t offset = reinterpret_cast<std::uintptr_t>(code) - begin;
    if (offset < size) {
      count(code, offset);
    }
  }

 private:
  /// Not inline, as it would make calls without a counter slow.
  [[gnu::noinline]] void count(const void* code, std::size_t offset) const {
    if (runs[offset]++ == 0) {
      seen->push_back(code);
    }
  }
};
inline constinit thread_local CodeRuns code_runs;

}  // namespace simt
