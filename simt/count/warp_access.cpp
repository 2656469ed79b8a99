#include "simt/warp_access.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace simt {
namespace {

constexpr unsigned LANES = 32;
constexpr unsigned BANKS = 32;
constexpr unsigned BANK_BYTES = 4;
constexpr unsigned ROW_BYTES = BANKS * BANK_BYTES;

bool active(const WarpAccess& access, unsigned lane) { return (access.active >> lane & 1U) != 0; }

/// The number of parts of a warp that are served one after the other.
unsigned parts_of(unsigned bytes_per_lane) { return std::max(bytes_per_lane / BANK_BYTES, 1U); }

/// Whether lanes whose numbers differ only in `bit` have the same address if both are active.
bool shared_by_pairs(const WarpAccess& access, unsigned bit) {
  for (unsigned lane = 0; lane < LANES; ++lane) {
    const unsigned other = lane ^ bit;
    if (active(access, lane) && active(access, other) && access.address[lane] != access.address[other]) {
      return false;
    }
  }
  return true;
}

/// The largest number of different words in one bank that the lanes from `begin` to before `end` access. They take as
/// many wavefronts.
unsigned most_words_of_a_bank(const WarpAccess& access, unsigned begin, unsigned end) {
  std::array<std::uint64_t, std::size_t{LANES} * 4> words;  // 16 bytes are four of them
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

/// The lanes in `lanes` that come first in their slot. A row of all banks has a slot for each lane that it can serve.
/// Lanes without an access block no other lane.
std::uint32_t first_of_slots(const WarpAccess& access, std::uint32_t lanes) {
  std::uint32_t taken_slots = 0;
  for (unsigned lane = 0; lane < LANES; ++lane) {
    const std::uint32_t bit = 1U << lane;
    if ((lanes & access.active & bit) != 0) {
      const std::uint32_t slot = 1U << access.address[lane] % ROW_BYTES / access.bytes;
      lanes &= (taken_slots & slot) != 0 ? ~bit : ~0U;
      taken_slots |= slot;
    }
  }
  return lanes;
}

/// Copies of up to 8 bytes go from the L1's lines to shared memory, both of which are in the same banks.
unsigned wavefronts_through_l1(const WarpAccess& from, const WarpAccess& to, std::uint32_t lanes) {
  unsigned wavefronts = 0;
  for (; lanes != 0; ++wavefronts) {
    lanes &= ~first_of_slots(from, first_of_slots(to, lanes));
  }
  return wavefronts;
}

/// Copies of 16 bytes come from the L2. The copies of one wavefront have one line in common on each side. They may
/// change places within 64 bytes if all do it in the same way.
unsigned wavefronts_past_l1(const WarpAccess& from, const WarpAccess& to) {
  std::vector<std::array<std::uint64_t, 3>> moves;
  for (unsigned lane = 0; lane < LANES; ++lane) {
    if (active(to, lane)) {
      // Zeros come from no line: theirs is the number of none.
      const std::uint64_t line = active(from, lane) ? from.address[lane] / ROW_BYTES : ~std::uint64_t{0};
      const std::uint64_t moved = active(from, lane) ? (from.address[lane] ^ to.address[lane]) / 16 % 4 : 0;
      moves.push_back({line, to.address[lane] / ROW_BYTES, moved});
    }
  }
  std::sort(moves.begin(), moves.end());
  return static_cast<unsigned>(std::unique(moves.begin(), moves.end()) - moves.begin());
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

// The data pipe hands out 128 bytes at a time, one word per lane. It serves 8 bytes per lane by halves of the warp and
// 16 by quarters, each on its own. Loads where pairs of lanes share an address need half as many parts (NVIDIA in its
// developer forum, "Unexpected shared memory bank conflict"). An H200's counters agree for all 660 patterns tried.
Wavefronts shared_wavefronts(const WarpAccess& access, SharedOperation operation) {
  unsigned parts = parts_of(access.bytes);
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

// This rule was found by trying patterns on an H200. All 134 patterns with 4 and 8 bytes agree with its counters. With
// 16 bytes the patterns agree whose lanes write different addresses in some regular order.
Wavefronts copy_wavefronts(const WarpAccess& from, const WarpAccess& to) {
  const unsigned parts = parts_of(to.bytes);
  const std::uint32_t part = parts == 1 ? ~0U : (1U << LANES / parts) - 1;
  Wavefronts result;
  for (unsigned first_lane = 0; first_lane < LANES; first_lane += LANES / parts) {
    const std::uint32_t lanes = to.active & part << first_lane;
    result.taken += to.bytes < 16 ? wavefronts_through_l1(from, to, lanes) : 0;
    result.ideal += lanes != 0 ? 1 : 0;
  }
  if (to.bytes == 16) {
    result.taken = wavefronts_past_l1(from, to);
    result.ideal = std::min(result.ideal, result.taken);
  }
  return result;
}

}  // namespace simt
