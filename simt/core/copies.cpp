#include "core/copies.hpp"

#include "core/shared_memory.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <sstream>
#include <string>

namespace simt {

void Copies::begin_thread() {
  queue().copies.clear();
  queue().groups.clear();
  queue().open = 0;
}

void Copies::start(const Copy& copy, Site site) {
  if (reinterpret_cast<std::uintptr_t>(copy.destination) % copy.bytes != 0 ||
      reinterpret_cast<std::uintptr_t>(copy.source) % copy.bytes != 0) {
    context_.fail("an asynchronous copy of " + std::to_string(copy.bytes) + " bytes is not aligned to them", site);
  }
  context_.check("an asynchronous copy ", context_.watcher->copy_starts(context_.current(), copy, site), site);
  queue().copies.push_back(copy);
  ++queue().open;
}

void Copies::wait(unsigned pending) {
  std::vector<std::size_t>& groups = queue().groups;
  if (groups.size() > pending) {
    const auto end = groups.end() - static_cast<std::ptrdiff_t>(pending);
    const std::size_t count = std::accumulate(groups.begin(), end, std::size_t{0});
    groups.erase(groups.begin(), end);
    arrive(count, false);
  }
  if (pending == 0) {
    context_.watcher->copies_awaited(context_.current());
  }
}

void Copies::arrive(std::size_t count, bool at_mbarrier) {
  std::vector<Copy>& copies = queue().copies;
  const auto end = copies.begin() + static_cast<std::ptrdiff_t>(count);
  std::for_each(copies.begin(), end, [&](const Copy& copy) {
    if (copy.source != nullptr) {
      std::memcpy(copy.destination, copy.source, copy.bytes);
    } else {
      std::memset(copy.destination, 0, copy.bytes);
    }
    if (const Complaint complaint = context_.watcher->copy_arrives(context_.current(), copy, at_mbarrier)) {
      throw Error(context_.place_of(context_.current()) + ": an asynchronous copy that arrives " + *complaint);
    }
  });
  copies.erase(copies.begin(), end);
}

void Copies::arrive_at_mbarrier(unsigned address, bool counts, Site site) {
  Mbarrier& mbarrier = mbarriers_.at(address, site);
  arrive(queue().copies.size(), true);
  queue().groups.assign(queue().groups.size(), 0);
  queue().open = 0;
  if (counts) {
    mbarriers_.arrive(mbarrier, true, site);
  } else {
    context_.watcher->mbarrier_arrive(context_.current(), address, true);
  }
}

void Copies::bulk(const Copy& copy, unsigned destination, unsigned address, Site site) {
  constexpr unsigned UNIT = 16;
  if ((destination | reinterpret_cast<std::uintptr_t>(copy.source) | copy.bytes) % UNIT != 0) {
    std::ostringstream text;
    text << "a bulk copy takes addresses and a size that are multiples of " << UNIT << ", not " << copy.bytes
         << " bytes from " << copy.source << " to shared address 0x" << std::hex << destination;
    context_.fail(text.str(), site);
  }
  Mbarrier& mbarrier = mbarriers_.at(address, site);
  context_.check("a bulk copy ", context_.watcher->bulk_copy(context_.current(), copy, {address, mbarrier.phase}, site),
                 site);
  std::memcpy(copy.destination, copy.source, copy.bytes);
  mbarriers_.receive(mbarrier, copy.bytes, site);
}

namespace {

/// To the nearest even, and every NaN to the same one, as an H200 does. Infinity stays.
void round_to_tf32(std::byte* floats, unsigned bytes) {
  constexpr std::uint32_t SIGN = 1U << 31, INF = 0x7F800000, NOT_A_NUMBER = 0x7FFFE000;
  constexpr std::uint32_t LOST_BITS = 13, LOST = (1U << LOST_BITS) - 1;
  for (std::byte* const end = floats + bytes; floats < end; floats += sizeof(float)) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, floats, sizeof bits);
    bits = (bits & ~SIGN) > INF ? NOT_A_NUMBER : (bits + LOST / 2 + (bits >> LOST_BITS & 1U)) & ~LOST;
    std::memcpy(floats, &bits, sizeof bits);
  }
}

}  // namespace

void Copies::box(const TensorMap& map, const TensorMap::Coordinates& at, unsigned destination, unsigned address,
                 Site site) {
  constexpr unsigned PIECE = 16;
  constexpr std::size_t LONGEST_ROW = 256 * sizeof(double);
  const unsigned row_bytes = map.row_bytes();
  Mbarrier& mbarrier = mbarriers_.at(address, site);
  for (unsigned number = 0; number < map.rows(); ++number) {
    const TensorMap::Row row = map.row(number, at);
    const unsigned begin = destination + row.offset;
    // Pieces of a row change places within the row.
    const Copy copy{in_shared_memory(begin), row.inside, row_bytes, row.bytes};
    context_.check("a tensor copy ",
                   context_.watcher->bulk_copy(context_.current(), copy, {address, mbarrier.phase}, site), site);
    std::array<std::byte, LONGEST_ROW> bytes{};
    std::copy_n(row.inside, row.bytes, bytes.data() + row.before);
    if (map.rounds) {
      round_to_tf32(bytes.data() + row.before, row.bytes);
    }
    for (unsigned piece = 0; piece < row_bytes; piece += PIECE) {
      std::memcpy(in_shared_memory(map.swizzled(begin + piece)), bytes.data() + piece, PIECE);
    }
  }
  mbarriers_.receive(mbarrier, map.rows() * row_bytes, site);
}

}  // namespace simt
