#include "detour.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <map>
#include <mutex>

namespace sgemm {
namespace {

constexpr unsigned WORDS = 65536;  // for the shapes of 16 handles, of which each remembers 4096

unsigned* allocate() {
  void* words = nullptr;
  if (cudaHostAlloc(&words, WORDS * sizeof(unsigned), cudaHostAllocPortable | cudaHostAllocMapped) != cudaSuccess) {
    return nullptr;
  }
  std::fill_n(static_cast<unsigned*>(words), WORDS, 0U);
  return static_cast<unsigned*>(words);
}

}  // namespace

unsigned* word_for_recomputed(std::uint64_t context) {
  static std::mutex mutex;
  static auto* const all = new std::map<std::uint64_t, unsigned*>;
  static unsigned used = 0;
  const std::lock_guard lock(mutex);
  const auto [words, is_new] = all->try_emplace(context, nullptr);
  if (is_new) {
    words->second = allocate();
  }
  return words->second == nullptr ? nullptr : words->second + used++ % WORDS;
}

}  // namespace sgemm
