#include "warp_access.hpp"

#include <algorithm>
#include <bit>

namespace simt {
namespace {

constexpr unsigned LANES = 32;
constexpr unsigned BANKS = 32;
constexpr unsigned BANK_BYTES = 4;

bool active(const WarpAccess& access, unsigned lane) { return (access.active >> lane & 1U) != 0; }

/// Whether lanes whose numbers differ in `bit` alone have the same address wherever both are active.
bool shared_by_pairs(const WarpAccess& access, unsigned bit) {
  for (unsigned lane = 0; lane < LANES; ++lane) {
    const unsigned other = lane ^ bit;
    if (active(access, lane) && active(access, other) && access.address[lane] != access.address[other]) {
      return false;
    }
  }
  return true;
}

/// Most different words of a bank that the lanes from `begin` to before `end` want: what they take alone.
unsigned most_words_of_a_bank(const WarpAccess& access, unsigned begin, unsigned end) {
  std::array<std::uint64_t, LANES * 4> words;  // 16 bytes are four of them
  auto words_end = words.begin();
  for (unsigned lane = begin; lane < end; ++lane) {
    if (active(access, lane)) {
      for (unsigned byte = 0; byte < access.bytes; byte += BANK_BYTES) {
        *words_end++ = (access.address[lane] + byte) / BANK_BYTES;
      }
    }
  }
  std::sort(words.begin(), words_end);
  words_end = std::unique(words.begin(), words_end);
  std::array<unsigned, BANKS> of_bank = {};
  unsigned most = 0;
  for (auto word = words.begin(); word != words_end; ++word) {
    most = std::max(most, ++of_bank[*word % BANKS]);
  }
  return most;
}

}  // namespace

unsigned sectors(const WarpAccess& access) {
  std::array<std::uint64_t, LANES> touched;
  auto end = touched.begin();
  for (unsigned lane = 0; lane < LANES; ++lane) {
    if (active(access, lane)) {
      *end++ = access.address[lane] / SECTOR_BYTES;
    }
  }
  std::sort(touched.begin(), end);
  return static_cast<unsigned>(std::unique(touched.begin(), end) - touched.begin());
}

// The data pipe hands out 128 bytes at a time, one word per lane. 8 bytes per lane are worked off by halves of the warp
// and 16 by quarters, each on its own. Loads where pairs of lanes share an address need half as many parts (NVIDIA in
// its developer forum, "Unexpected shared memory bank conflict").
Wavefronts shared_wavefronts(const WarpAccess& access, SharedOperation operation) {
  unsigned parts = std::max(access.bytes / BANK_BYTES, 1U);
  if (operation == SharedOperation::load && parts > 1 && (shared_by_pairs(access, 1) || shared_by_pairs(access, 2))) {
    parts /= 2;
  }
  Wavefronts result;
  for (unsigned part = 0; part < parts; ++part) {
    const unsigned lanes = LANES / parts;
    const unsigned wavefronts = most_words_of_a_bank(access, part * lanes, (part + 1) * lanes);
    result.taken += wavefronts;
    result.ideal += wavefronts > 0 ? 1 : 0;
  }
  return result;
}

}  // namespace simt
