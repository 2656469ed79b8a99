#include "l2_model.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace simt {
namespace {

constexpr unsigned LINE_SECTORS = 4;
constexpr unsigned WHOLE_LINE = (1U << LINE_SECTORS) - 1;
constexpr std::uint64_t SECTOR = 32;
constexpr std::uint64_t LINE = LINE_SECTORS * SECTOR;

/// Spreads neighbouring lines, and those a power of two apart, over the whole range.
std::uint32_t hash(std::uint32_t line) {
  line = (line ^ line >> 16U) * 0x7feb352dU;
  line = (line ^ line >> 15U) * 0x846ca68bU;
  return line ^ line >> 16U;
}

/// A set-associative cache of lines of which any sectors may be there; the least recently used line goes first.
class Cache {
 public:
  struct Line {
    std::uint8_t present;  ///< a bit per sector
    std::uint8_t dirty;
  };

  explicit Cache(std::uint64_t bytes) : sets_(std::max<std::uint64_t>(bytes / (WAYS * LINE), 1)) {}

  /// The line, which becomes the most recently used; empty where it was not there. Adds to `written_back` the dirty
  /// sectors of the line that made room.
  Line& use(std::uint32_t line, std::uint32_t hashed, std::uint64_t& written_back) {
    Set& set = sets_[hashed * std::uint64_t{sets_.size()} >> 32U];
    const std::uint32_t tag = line + 1;  // 0 for none
    if (set.tags[0] == tag) {
      return set.lines[0];
    }
    std::size_t way = 1;
    while (way < WAYS - 1 && set.tags[way] != tag) {
      ++way;
    }
    Line found = set.lines[way];
    if (set.tags[way] != tag) {
      written_back += static_cast<unsigned>(std::popcount(found.dirty));
      found = {};
    }
    std::memmove(&set.tags[1], &set.tags[0], way * sizeof set.tags[0]);
    std::memmove(&set.lines[1], &set.lines[0], way * sizeof set.lines[0]);
    set.tags[0] = tag;
    set.lines[0] = found;
    return set.lines[0];
  }

 private:
  static constexpr std::size_t WAYS = 16;
  struct Set {
    std::array<std::uint32_t, WAYS> tags = {};  // most recently used first
    std::array<Line, WAYS> lines = {};
  };

  std::vector<Set> sets_;
};

/// An L2 of partitions. A line has its home in one of them, through which all partitions get it from DRAM; each keeps
/// copies of what its own SMs read. Writes go home.
class L2 {
 public:
  explicit L2(const GpuModel& gpu) : partitions_(gpu.l2_partitions, Cache(gpu.l2_bytes / gpu.l2_partitions)) {}

  void read(std::size_t partition, std::uint32_t line, std::uint8_t sectors) {
    const std::uint32_t hashed = hash(line);
    unsigned missing = fetch(partition, line, hashed, sectors);
    const std::size_t home = home_of(hashed);
    if (missing != 0 && home != partition) {
      missing = fetch(home, line, hashed, missing);
    }
    const auto wanted = static_cast<unsigned>(std::popcount(sectors));
    const auto fetched = static_cast<unsigned>(std::popcount(missing));
    traffic_.read_sectors += wanted;
    traffic_.read_hits += wanted - fetched;
    traffic_.dram_read_bytes += fetched * SECTOR;
  }

  void write(std::uint32_t line, std::uint8_t sectors) {
    const std::uint32_t hashed = hash(line);
    Cache::Line& state = partitions_[home_of(hashed)].use(line, hashed, written_back_);
    state.present |= sectors;
    state.dirty |= sectors;
    traffic_.written_sectors += static_cast<unsigned>(std::popcount(sectors));
  }

  L2Traffic traffic() const {
    L2Traffic result = traffic_;
    result.dram_written_bytes = written_back_ * SECTOR;
    return result;
  }

 private:
  std::size_t home_of(std::uint32_t hashed) const { return hashed % partitions_.size(); }

  /// Brings sectors into a partition and returns those that were not there.
  unsigned fetch(std::size_t partition, std::uint32_t line, std::uint32_t hashed, unsigned sectors) {
    Cache::Line& state = partitions_[partition].use(line, hashed, written_back_);
    const unsigned missing = sectors & ~unsigned{state.present};
    state.present = static_cast<std::uint8_t>(state.present | sectors);
    return missing;
  }

  std::vector<Cache> partitions_;
  L2Traffic traffic_;
  std::uint64_t written_back_ = 0;
};

/// A block under way.
struct Slot {
  const PlacedBlock* block = nullptr;
  std::array<std::uint64_t, MAX_ARRAYS> first_sector = {};
  std::uint64_t started = 0;
  std::size_t done = 0;
};

}  // namespace

L2Traffic replay(const PlacedLaunch& launch, Turns turns, const GpuModel& gpu) {
  constexpr std::size_t ACCESSES_AT_A_TIME = 8;
  std::size_t longest = 0;
  for (const PlacedBlock& block : launch.blocks) {
    longest = std::max(longest, block.traffic->size());
  }
  // Every block takes so many ticks.
  const std::uint64_t ticks = std::max<std::uint64_t>(longest / ACCESSES_AT_A_TIME, launch.blocks_per_sm);
  // Lines are counted from the first array's.
  const std::uint64_t origin =
      *std::min_element(launch.first_sector.begin(), launch.first_sector.end()) / LINE_SECTORS * LINE_SECTORS;

  L2 l2(gpu);
  std::size_t next_block = 0;
  std::size_t under_way = 0;
  std::vector<Slot> slots(std::min<std::size_t>(launch.blocks.size(), std::size_t{gpu.sms} * launch.blocks_per_sm));
  const auto start = [&](Slot& slot, std::uint64_t tick) {
    slot.block = next_block < launch.blocks.size() ? &launch.blocks[next_block++] : nullptr;
    slot.started = tick;
    slot.done = 0;
    if (slot.block != nullptr) {
      ++under_way;
      for (std::size_t array = 0; array < MAX_ARRAYS; ++array) {
        slot.first_sector[array] =
            launch.first_sector[array] - origin + static_cast<std::uint64_t>(slot.block->shift[array]);
      }
    }
  };
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const std::uint64_t turn = turns == Turns::in_turn ? i / gpu.sms : 0;
    start(slots[i], turn * ticks / launch.blocks_per_sm);
  }

  for (std::uint64_t tick = 0; under_way > 0; ++tick) {
    for (std::size_t i = 0; i < slots.size(); ++i) {
      Slot& slot = slots[i];
      if (slot.block == nullptr || tick < slot.started) {
        continue;
      }
      const BlockTraffic& traffic = *slot.block->traffic;
      const std::size_t partition = i % gpu.sms % gpu.l2_partitions;
      const std::uint64_t age = tick + 1 - slot.started;
      const std::size_t end = traffic.size() * age / ticks;
      for (; slot.done < end; ++slot.done) {
        const SectorAccess& access = traffic[slot.done];
        const std::uint64_t sector = slot.first_sector[access.array] + access.sector;
        auto line = static_cast<std::uint32_t>(sector / LINE_SECTORS);
        for (unsigned mask = unsigned{access.mask} << sector % LINE_SECTORS; mask != 0; mask >>= LINE_SECTORS, ++line) {
          const auto of_line = static_cast<std::uint8_t>(mask & WHOLE_LINE);
          if (of_line == 0) {
            continue;
          }
          if (access.write) {
            l2.write(line, of_line);
          } else {
            l2.read(partition, line, of_line);
          }
        }
      }
      if (age == ticks) {
        --under_way;
        start(slot, tick + 1);
      }
    }
  }
  return l2.traffic();
}

}  // namespace simt
