#pragma once

// Copies from global to shared memory that CUDA's C++ headers split into instructions.

#include <simt/thread.hpp>

#include <cstddef>
#include <cstdint>

namespace simt {

/// Starts copies of this thread's pieces, when `threads` threads share the work and this one has number `rank`. Pieces
/// are as large as the alignment allows; what is not aligned to 4 bytes is copied at once.
inline void copy_pieces(unsigned rank, unsigned threads, void* destination, const void* source, std::size_t bytes,
                        Site site) {
  const std::uintptr_t all =
      reinterpret_cast<std::uintptr_t>(destination) | reinterpret_cast<std::uintptr_t>(source) | bytes;
  auto* const to = static_cast<unsigned char*>(destination);
  const auto* const from = static_cast<const unsigned char*>(source);
  const unsigned piece = all % 16 == 0 ? 16 : all % 8 == 0 ? 8 : all % 4 == 0 ? 4 : 1;
  for (std::size_t at = std::size_t{rank} * piece; at < bytes; at += std::size_t{threads} * piece) {
    if (piece == 1 || !is_shared(destination)) {
      for (unsigned byte = 0; byte < piece; ++byte) {
        to[at + byte] = from[at + byte];
      }
    } else {
      copy_async(shared_address(to + at), from + at, piece, site);
    }
  }
}

template <class Group>
void copy_by_group(const Group& group, void* destination, const void* source, std::size_t bytes, Site site) {
  copy_pieces(group.thread_rank(), group.size(), destination, source, bytes, site);
}

}  // namespace simt
