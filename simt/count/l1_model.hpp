#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace simt {

/// An L1 cache in lines whose sectors are filled one by one. The least recently used line is evicted first. Any line
/// may lie at any place, so blocks that are moved elsewhere have the same hits.
class L1Model {
 public:
  explicit L1Model(std::size_t bytes) : lines_(std::max<std::size_t>(bytes / LINE_BYTES, 1) + 1) {}

  /// Returns the sectors of `mask` that are missing, and adds them.
  std::uint8_t read(std::uint64_t line, std::uint8_t mask) {
    Number number = first_with_hash(line);
    while (number != NONE && lines_[number].line != line) {
      number = lines_[number].next_with_hash;
    }
    if (number != NONE) {
      unlink(number);
    } else {
      number = unused_line();
      lines_[number] = {line, 0, first_with_hash(line), NONE, NONE};
      first_with_hash(line) = number;
    }
    link(number);
    Line& found = lines_[number];
    const auto missing = static_cast<std::uint8_t>(mask & ~found.sectors);
    found.sectors |= mask;
    return missing;
  }

 private:
  using Number = std::uint16_t;
  /// The number of the entry that joins both ends of the list by age: the oldest line follows it, the newest precedes
  /// it.
  static constexpr Number NONE = 0;

  struct Line {
    std::uint64_t line = 0;
    std::uint8_t sectors = 0;
    Number next_with_hash = NONE;
    Number used_before = NONE;
    Number used_after = NONE;
  };

  Number& first_with_hash(std::uint64_t line) {
    constexpr std::uint64_t SCATTER = 0x9E3779B97F4A7C15U;
    return first_[line * SCATTER >> (64U - HASH_BITS)];
  }
  Number unused_line() {
    if (used_ + 1U < lines_.size()) {
      return ++used_;
    }
    const Number oldest = lines_[NONE].used_after;
    unlink(oldest);
    Number* link = &first_with_hash(lines_[oldest].line);
    while (*link != oldest) {
      link = &lines_[*link].next_with_hash;
    }
    *link = lines_[oldest].next_with_hash;
    return oldest;
  }
  void unlink(Number number) {
    const Line& line = lines_[number];
    lines_[line.used_before].used_after = line.used_after;
    lines_[line.used_after].used_before = line.used_before;
  }
  void link(Number number) {
    const Number newest = lines_[NONE].used_before;
    lines_[number].used_before = newest;
    lines_[number].used_after = NONE;
    lines_[newest].used_after = number;
    lines_[NONE].used_before = number;
  }

  static constexpr std::size_t LINE_BYTES = 128;
  static constexpr unsigned HASH_BITS = 12;
  std::vector<Line> lines_;  ///< the one numbered NONE is none
  std::array<Number, 1U << HASH_BITS> first_{};
  Number used_ = 0;
};

}  // namespace simt
