#include "simt/l2_model.hpp"

#include "simt/warp_access.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

namespace simt {
namespace {

constexpr unsigned LINE_SECTORS = 4;
constexpr unsigned WHOLE_LINE = (1U << LINE_SECTORS) - 1;
constexpr std::uint64_t LINE_BYTES = std::uint64_t{LINE_SECTORS} * SECTOR_BYTES;

/// Spreads neighbouring lines, and those a power of two apart, over the whole range.
std::uint32_t hash(std::uint32_t line) {
  line = (line ^ line >> 16U) * 0x7feb352dU;
  line = (line ^ line >> 15U) * 0x846ca68bU;
  return line ^ line >> 16U;
}

/// Deals out hashed numbers by bits that do not choose a set.
unsigned share_of(std::uint32_t hashed, std::uint64_t shares) {
  return static_cast<unsigned>((hashed & 0xffffU) * shares >> 16U);
}

unsigned count(unsigned sectors) {
  constexpr std::array<std::uint8_t, WHOLE_LINE + 1> BITS{0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4};
  return BITS[sectors];
}

/// A set-associative cache of lines. Any sectors of a line may be present. The least recently used line is evicted
/// first.
class Cache {
 public:
  explicit Cache(std::uint64_t bytes)
      : sets_(std::max<std::uint64_t>(bytes / (WAYS * LINE_BYTES), 1)), tags_(sets_), states_(sets_) {}

  /// Makes the line the most recently used one and its sectors present, and also dirty if `dirty`. Returns the sectors
  /// that were not present before. Adds the dirty sectors of an evicted line to `written_back`.
  unsigned use(std::uint32_t line, std::uint32_t hashed, unsigned sectors, bool dirty, std::uint64_t& written_back) {
    const std::size_t set = set_of(hashed);
    auto& tags = tags_[set].of_way;
    auto& states = states_[set];
    const std::uint32_t tag = line + 1;  // 0 for none
    unsigned way = 0;
    while (way < WAYS - 1 && tags[way] != tag) {
      ++way;
    }
    unsigned state = states[way];
    if (tags[way] != tag) {
      written_back += count(state >> LINE_SECTORS);
      state = 0;
    }
    for (; way > 0; --way) {
      tags[way] = tags[way - 1];
      states[way] = states[way - 1];
    }
    tags[0] = tag;
    states[0] = static_cast<std::uint8_t>(state | sectors | (dirty ? sectors << LINE_SECTORS : 0));
    return sectors & ~state;
  }

 private:
  static constexpr unsigned WAYS = 16;
  // Both with the most recently used line first. Tags of a set are together in one cache line of the host.
  struct alignas(64) Tags {
    std::array<std::uint32_t, WAYS> of_way = {};
  };
  using States = std::array<std::uint8_t, WAYS>;  // a bit per sector that is present, then one per dirty sector

  std::size_t set_of(std::uint32_t hashed) const { return hashed * sets_ >> 32U; }

  std::uint64_t sets_;
  std::vector<Tags> tags_;
  std::vector<States> states_;
};

/// An L2 of partitions. A line has its home in one of them, and all partitions get it from DRAM through its home. Each
/// partition keeps copies of the lines that its own SMs read. Writes go to the home.
class L2 {
 public:
  /// Only the lines of one in `sample` sets are followed, and stand for all. The sets are chosen nearly at random.
  L2(const GpuModel& gpu, std::uint32_t sample)
      : sample_(sample), partitions_(gpu.l2_partitions, Cache(gpu.l2_bytes / gpu.l2_partitions)) {}

  /// An access to some sectors of a line by an SM of a partition.
  void access(unsigned partition, std::uint32_t line, unsigned sectors, bool write) {
    const std::uint32_t hashed = hash(line);
    if (std::uint64_t{hashed} * sample_ >> 32U != 0) {
      return;  // of another set
    }
    const unsigned home = share_of(hashed, partitions_.size());
    unsigned missing = partitions_[write ? home : partition].use(line, hashed, sectors, write, written_back_);
    if (write) {
      traffic_.written_sectors += count(sectors);
      return;
    }
    if (missing != 0 && partition != home) {
      missing = partitions_[home].use(line, hashed, missing, false, written_back_);
    }
    traffic_.read_sectors += count(sectors);
    traffic_.read_hits += count(sectors) - count(missing);
  }

  /// Ends a launch, whose traffic it returns. `asked` has the sectors that the whole launch requests.
  L2Traffic finish(const L2Traffic& asked) {
    const auto of_all = [](std::uint64_t part, std::uint64_t followed, std::uint64_t all) {
      return followed == 0 ? 0
                           : static_cast<std::uint64_t>(std::llround(
                                 static_cast<double>(part) / static_cast<double>(followed) * static_cast<double>(all)));
    };
    // A launch also evicts what earlier ones have written.
    all_written_ += traffic_.written_sectors;
    all_asked_to_write_ += asked.written_sectors;
    const std::uint64_t written_back = of_all(std::exchange(written_back_, 0), all_written_, all_asked_to_write_);
    L2Traffic traffic = std::exchange(traffic_, {});
    traffic.read_hits = of_all(traffic.read_hits, traffic.read_sectors, asked.read_sectors);
    traffic.read_sectors = asked.read_sectors;
    traffic.written_sectors = asked.written_sectors;
    traffic.dram_read_bytes = (traffic.read_sectors - traffic.read_hits) * std::uint64_t{SECTOR_BYTES};
    traffic.dram_written_bytes = written_back * std::uint64_t{SECTOR_BYTES};
    return traffic;
  }

 private:
  std::uint32_t sample_;
  std::vector<Cache> partitions_;
  L2Traffic traffic_;               ///< of the launch, as far as it is followed
  std::uint64_t written_back_ = 0;  ///< in the launch: sectors
  std::uint64_t all_written_ = 0;   ///< in all launches so far: sectors that were followed, and all
  std::uint64_t all_asked_to_write_ = 0;
};

/// A block under way.
struct Slot {
  const PlacedBlock* block = nullptr;
  std::array<std::uint64_t, MAX_ARRAYS> first_sector = {};
  std::uint64_t started = 0;
  std::size_t done = 0;
};

/// The accesses that the block asks for.
L2Traffic sectors_of(const BlockTraffic& traffic) {
  L2Traffic sum;
  for (const SectorAccess& access : traffic) {
    (access.write ? sum.written_sectors : sum.read_sectors) += static_cast<unsigned>(std::popcount(access.mask));
  }
  return sum;
}

/// Large launches are sampled, down to one set in 16. That still leaves thousands of sets.
std::uint32_t sample_for(std::uint64_t accesses) {
  constexpr std::uint64_t MOST = 100'000'000;
  std::uint32_t sample = 1;
  while (sample < 16 && accesses / sample > MOST) {
    sample *= 2;
  }
  return sample;
}

/// All blocks' accesses.
L2Traffic sectors_of(const PlacedLaunch& launch) {
  L2Traffic asked;
  std::map<const BlockTraffic*, L2Traffic> asked_by;
  for (const PlacedBlock& block : launch.blocks) {
    const auto [of_block, is_new] = asked_by.try_emplace(block.traffic);
    if (is_new) {
      of_block->second = sectors_of(*block.traffic);
    }
    asked.read_sectors += of_block->second.read_sectors;
    asked.written_sectors += of_block->second.written_sectors;
  }
  return asked;
}

/// The launch, with lines counted from that of sector `origin`.
void replay_on(L2& l2, const PlacedLaunch& launch, std::uint64_t origin, Turns turns, const GpuModel& gpu) {
  constexpr std::size_t ACCESSES_AT_A_TIME = 8;
  std::size_t longest = 0;
  for (const PlacedBlock& block : launch.blocks) {
    longest = std::max(longest, block.traffic->size());
  }
  // The number of ticks that every block takes.
  const std::uint64_t ticks = std::max<std::uint64_t>(longest / ACCESSES_AT_A_TIME, launch.blocks_per_sm);

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
      const unsigned partition = share_of(hash(static_cast<std::uint32_t>(i % gpu.sms)), gpu.l2_partitions);
      const std::uint64_t age = tick + 1 - slot.started;
      const std::size_t end = traffic.size() * age / ticks;
      for (; slot.done < end; ++slot.done) {
        const SectorAccess& access = traffic[slot.done];
        const std::uint64_t sector = slot.first_sector[access.array] + access.sector;
        auto line = static_cast<std::uint32_t>(sector / LINE_SECTORS);
        for (unsigned mask = unsigned{access.mask} << sector % LINE_SECTORS; mask != 0; mask >>= LINE_SECTORS) {
          l2.access(partition, line++, mask & WHOLE_LINE, access.write);
        }
      }
      if (age == ticks) {
        --under_way;
        start(slot, tick + 1);
      }
    }
  }
}

}  // namespace

L2Traffic& L2Traffic::operator+=(const L2Traffic& other) {
  read_sectors += other.read_sectors;
  read_hits += other.read_hits;
  written_sectors += other.written_sectors;
  dram_read_bytes += other.dram_read_bytes;
  dram_written_bytes += other.dram_written_bytes;
  return *this;
}

std::vector<L2Traffic> replay(std::span<const PlacedLaunch> launches, Turns turns, const GpuModel& gpu) {
  std::uint64_t accesses = 0;
  // Lines are counted from the first array's.
  std::uint64_t origin = std::numeric_limits<std::uint64_t>::max();
  for (const PlacedLaunch& launch : launches) {
    for (const PlacedBlock& block : launch.blocks) {
      accesses += block.traffic->size();
    }
    origin = std::min(origin, *std::ranges::min_element(launch.first_sector) / LINE_SECTORS * LINE_SECTORS);
  }
  L2 l2(gpu, sample_for(accesses));
  std::vector<L2Traffic> traffic;
  for (const PlacedLaunch& launch : launches) {
    replay_on(l2, launch, origin, turns, gpu);
    traffic.push_back(l2.finish(sectors_of(launch)));
  }
  return traffic;
}

}  // namespace simt
