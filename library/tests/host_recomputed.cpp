#include "recomputed.hpp"

#include <array>

namespace sgemm {

unsigned* word_for_recomputed(std::uint64_t) {
  thread_local std::array<unsigned, 4096> words{};
  thread_local std::size_t used = 0;
  return &words[used++ % words.size()];
}

}  // namespace sgemm
