#include "count/block_counter.hpp"

#include "core/code_runs.hpp"
#include "core/shared_memory.hpp"
#include "count/warp_recorder.hpp"

#include <algorithm>
#include <bit>
#include <list>
#include <tuple>
#include <unordered_map>

namespace simt {
namespace {

constexpr std::uint64_t WORD = 4;
constexpr std::uint64_t WORDS_PER_BITS = 64;
constexpr std::uint64_t LINE = 128;
constexpr std::uint64_t SECTORS_PER_LINE = LINE / SECTOR_BYTES;

unsigned first_lane(std::uint32_t active) { return static_cast<unsigned>(std::countr_zero(active)); }

/// Calls `body` with each lane of `active`.
template <class Body>
void for_lanes(std::uint32_t active, const Body& body) {
  for (; active != 0; active &= active - 1) {
    body(first_lane(active));
  }
}

/// The access with addresses counted from `begin`.
WarpAccess relative(std::uint32_t active, unsigned bytes, const std::array<std::uint64_t, WARP>& addresses,
                    std::uint64_t begin) {
  WarpAccess access{active, bytes, {}};
  for_lanes(active, [&](unsigned lane) { access.address[lane] = addresses[lane] - begin; });
  return access;
}

/// An L1 cache in lines whose sectors are filled one by one. The least recently used line is evicted first. Any line
/// may lie at any place, so blocks that are moved elsewhere have the same hits.
class L1Model {
 public:
  explicit L1Model(std::size_t bytes) : most_lines_(std::max<std::size_t>(bytes / LINE, 1)) {}

  /// Returns the sectors of `mask` that are missing, and adds them.
  std::uint8_t read(std::uint64_t number, std::uint8_t mask) {
    const auto [known, is_new] = places_.try_emplace(number, lines_.end());
    if (is_new) {
      known->second = lines_.insert(lines_.begin(), {number, 0});
    } else {
      lines_.splice(lines_.begin(), lines_, known->second);
    }
    if (lines_.size() > most_lines_) {
      places_.erase(lines_.back().number);
      lines_.pop_back();
    }
    Line& line = lines_.front();
    const auto missing = static_cast<std::uint8_t>(mask & ~line.sectors);
    line.sectors |= mask;
    return missing;
  }

 private:
  struct Line {
    std::uint64_t number;
    std::uint8_t sectors;
  };

  std::size_t most_lines_;
  std::list<Line> lines_;  ///< the most recently used one first
  std::unordered_map<std::uint64_t, std::list<Line>::iterator> places_;
};

}  // namespace

BlockCounter::BlockCounter(CountingContext& context)
    : context_(context),
      variables_(SharedVariables::of_program()),
      program_(context.program),
      shared_begin_(reinterpret_cast<std::uintptr_t>(Program::find().thread_local_data)),
      shared_words_(variables_.bytes() / WORD),
      logs_(MAX_THREADS_PER_BLOCK),
      runs_(zeroed_table<std::uint64_t>(program_.code_end - program_.code_begin)),
      used_(context.arrays.size()) {
  for (std::size_t word = 0; word < shared_words_.size(); ++word) {
    const SharedVariables::Variable* const variable = variables_.at(word * WORD);
    shared_words_[word] = variable != nullptr && variable->shared;
  }
  for (std::size_t array = 0; array < used_.size(); ++array) {
    const std::size_t words = (context.arrays[array].bytes() + WORD - 1) / WORD;
    used_[array].bits = zeroed_table<std::uint64_t>(words / WORDS_PER_BITS + 1);
  }
  code_runs = {program_.code_begin, program_.code_end - program_.code_begin, runs_.get(), &code_seen_};
}

BlockCounter::~BlockCounter() { code_runs = {}; }

void BlockCounter::begin(const Launch& launch, std::uint64_t block) {
  clear();
  const std::size_t threads = std::size_t{launch.block.x} * launch.block.y * launch.block.z;
  threads_ = threads;
  dynamic_smem_ = launch.dynamic_smem;
  warps_.resize((threads + WARP - 1) / WARP);
  for (std::size_t warp = 0; warp < warps_.size(); ++warp) {
    const std::size_t lanes = std::min<std::size_t>(threads - warp * WARP, WARP);
    warps_[warp].lanes = lanes == WARP ? ~0U : (1U << lanes) - 1U;
  }
  traced_ = nullptr;
  if (context_.recorder != nullptr && context_.recorder->warp().block == block) {
    context_.recorder->begin();
    traced_ = &warps_[context_.recorder->warp().warp];
  }
}

void BlockCounter::clear() {
  for (std::vector<Entry>& log : logs_) {
    log.clear();
  }
  for (Warp& warp : warps_) {
    warp.arrived = 0;
    warp.ended = 0;
    warp.waited = 0;
    warp.at_barrier = false;
    warp.pieces.clear();
    warp.piece_ends.clear();
  }
  for (const AccessSites::Number number : sites_used_) {
    sites_[number]->traffic.clear();
  }
  sites_used_.clear();
  variables_used_.clear();
  pieces_.clear();
  for (const void* const code : code_seen_) {
    runs_[reinterpret_cast<std::uintptr_t>(code) - program_.code_begin] = 0;
  }
  code_seen_.clear();
  for (Used& used : used_) {
    for (const std::uint32_t position : used.touched) {
      used.bits[position] = 0;
    }
    used.touched.clear();
  }
  barriers_ = 0;
  tensor_flops_ = 0;
  accesses_ = 0;
}

AccessSites::Number BlockCounter::site_of_copy(const std::source_location& place, unsigned bytes, bool bulk) {
  const auto [known, is_new] = copies_.try_emplace({place.file_name(), place.line(), place.column(), bytes});
  if (is_new) {
    known->second = context_.sites.of_copy(place, bytes, bulk);
  }
  return known->second;
}

BlockCounter::SiteState& BlockCounter::state(AccessSites::Number number) {
  if (number >= sites_.size()) {
    sites_.resize(number + 1U);
  }
  std::unique_ptr<SiteState>& state = sites_[number];
  if (!state) {
    state = std::make_unique<SiteState>();
    state->number = number;
    state->site = context_.sites[number];
  }
  return *state;
}

Complaint BlockCounter::mbarrier_init(ThreadNumber /*thread*/, unsigned address) {
  use_variable(reinterpret_cast<std::uintptr_t>(in_shared_memory(address)));
  return {};
}

void BlockCounter::arrive(ThreadNumber thread, bool of_block) {
  Warp& warp = warps_[thread / WARP];
  warp.arrived |= 1U << thread % WARP;
  warp.at_barrier = warp.at_barrier || of_block;
  merge_when_complete(warp);
}

void BlockCounter::finish(ThreadNumber thread) {
  Warp& warp = warps_[thread / WARP];
  warp.ended |= 1U << thread % WARP;
  merge_up_to_waits(warp);
  merge_when_complete(warp);
}

void BlockCounter::mark_wait(ThreadNumber thread, unsigned address, std::uint64_t phase) {
  constexpr unsigned PHASE_BITS = 16;
  Warp& warp = warps_[thread / WARP];
  log_of(thread).push_back(Entry{address} << PHASE_BITS | (phase & ((1U << PHASE_BITS) - 1)));
  warp.waited |= 1U << thread % WARP;
  merge_up_to_waits(warp);
}

void BlockCounter::merge_up_to_waits(Warp& warp) {
  const std::span<std::vector<Entry>> logs = logs_of(warp);
  const auto is_wait = [](Entry entry) { return entry >> ADDRESS_BITS == AccessSites::NONE; };
  while (warp.waited != 0 && (warp.waited | warp.ended) == warp.lanes) {
    std::array<std::size_t, WARP> at{};
    const std::vector<Entry>& leader = logs[first_lane(warp.waited)];
    const Entry wait = *std::find_if(leader.begin(), leader.end(), is_wait);
    bool together = true;
    for_lanes(warp.waited, [&](unsigned lane) {
      const auto found = std::find_if(logs[lane].begin(), logs[lane].end(), is_wait);
      at[lane] = static_cast<std::size_t>(found - logs[lane].begin());
      together = together && *found == wait;
    });
    if (!together) {
      return;
    }
    const std::uint32_t lanes = warp.waited;
    warp.waited = 0;
    for_lanes(lanes, [&](unsigned lane) {
      std::vector<Entry>& log = logs[lane];
      later_[lane].assign(log.begin() + static_cast<std::ptrdiff_t>(at[lane]) + 1, log.end());
      log.resize(at[lane]);
    });
    merge(warp);
    for_lanes(lanes, [&](unsigned lane) {
      if (!later_[lane].empty()) {
        log_of(static_cast<ThreadNumber>(&logs[lane] - logs_.data())) = later_[lane];
        warp.waited |= std::ranges::any_of(later_[lane], is_wait) ? 1U << lane : 0U;
      }
    });
    ++barriers_;
    if (&warp == traced_) {
      context_.recorder->pass_barrier();
    }
  }
}

void BlockCounter::drop_waits(Warp& warp) {
  std::size_t most = 0;
  for_lanes(warp.waited, [&](unsigned lane) {
    most = std::max(most, std::erase_if(logs_of(warp)[lane],
                                        [](Entry entry) { return entry >> ADDRESS_BITS == AccessSites::NONE; }));
  });
  barriers_ += most;
  warp.waited = 0;
}

void BlockCounter::merge_when_complete(Warp& warp) {
  if ((warp.arrived | warp.ended) != warp.lanes) {
    return;
  }
  const bool at_barrier = std::exchange(warp.at_barrier, false);
  barriers_ += at_barrier ? 1 : 0;
  warp.arrived = 0;
  drop_waits(warp);
  merge(warp);
  if (&warp == traced_ && at_barrier) {
    context_.recorder->pass_barrier();
  }
}

void BlockCounter::merge(Warp& warp) {
  const std::span<std::vector<Entry>> logs = logs_of(warp);
  std::uint32_t lanes = 0;
  bool same_size = true;
  std::size_t entries = 0;
  for (unsigned lane = 0; lane < WARP; ++lane) {
    const std::size_t size = logs[lane].size();
    if (size == 0) {
      continue;
    }
    lanes |= 1U << lane;
    accesses_ += size;
    same_size = same_size && (entries == 0 || entries == size);
    entries = size;
  }
  if (lanes == 0) {
    return;
  }
  // In most cases all lanes did the same.
  std::size_t merged = 0;
  for (bool in_step = same_size; in_step && merged < entries; merged += in_step ? 1 : 0) {
    const Entry leader = logs[first_lane(lanes)][merged];
    Entry difference = 0;
    Addresses addresses;
    for_lanes(lanes, [&](unsigned lane) {
      const Entry entry = logs[lane][merged];
      difference |= entry ^ leader;
      addresses[lane] = entry & ADDRESS;
    });
    in_step = difference >> ADDRESS_BITS == 0;
    if (in_step) {
      request(warp, static_cast<AccessSites::Number>(leader >> ADDRESS_BITS), lanes, addresses);
    }
  }
  merge_by_occurrence(warp, logs, merged);
  for_lanes(lanes, [&](unsigned lane) {
    logs[lane].clear();
    spare_.push_back(std::move(logs[lane]));
    logs[lane] = {};
  });
}

void BlockCounter::merge_by_occurrence(Warp& warp, std::span<const std::vector<Entry>> logs, std::size_t from) {
  merged_.clear();
  for (unsigned lane = 0; lane < WARP; ++lane) {
    const std::vector<Entry>& log = logs[lane];
    for (std::size_t i = from; i < log.size(); ++i) {
      const auto number = static_cast<AccessSites::Number>(log[i] >> ADDRESS_BITS);
      SiteState& site = state(number);
      if (site.lane != lane) {
        site.lane = lane;
        site.occurrences = 0;
      }
      if (site.occurrences == site.requests.size()) {
        if (site.requests.empty()) {
          merging_.push_back(&site);
        }
        site.requests.push_back(static_cast<std::uint32_t>(merged_.size()));
        merged_.push_back({number, 0, {}});
      }
      Merged& request = merged_[site.requests[site.occurrences++]];
      request.active |= 1U << lane;
      request.addresses[lane] = log[i] & ADDRESS;
    }
  }
  for (const Merged& merged : merged_) {
    request(warp, merged.site, merged.active, merged.addresses);
  }
  for (SiteState* const site : merging_) {
    site->requests.clear();
    site->lane = WARP;
  }
  merging_.clear();
}

void BlockCounter::request(Warp& warp, AccessSites::Number number, std::uint32_t active, const Addresses& addresses) {
  SiteState& site = state(number);
  if (site.site.copy) {
    if (site.site.write) {
      // The sources of these copies come next. A source and its destination make one request.
      const auto [variable, begin] = use_variable(addresses[first_lane(active)]);
      copies_to_memory_ = variable;
      copies_to_ = relative(active, site.site.bytes, addresses, begin);
      return;
    }
    std::uint32_t reading = 0;
    for_lanes(active, [&](unsigned lane) { reading |= addresses[lane] != 0 ? 1U << lane : 0U; });
    global_request(warp, site, AccessKind::async_copy, reading, addresses);
    const std::uint64_t begin = reading == 0 ? 0 : context_.array_at(addresses[first_lane(reading)]).second;
    const Wavefronts wavefronts = copy_wavefronts(relative(reading, site.site.bytes, addresses, begin), copies_to_);
    last_->traffic.wavefronts += wavefronts.taken;
    last_->traffic.ideal_wavefronts += wavefronts.ideal;
    if (&warp == traced_) {
      context_.recorder->add_destination(copies_to_, wavefronts);
    }
    return;
  }
  if (site.site.bulk) {
    bulk_requests(warp, site, active, addresses);
    return;
  }
  const std::uint64_t first = addresses[first_lane(active)];
  if (first - shared_begin_ >= variables_.bytes()) {
    global_request(warp, site, site.site.write ? AccessKind::global_store : AccessKind::global_load, active, addresses);
    return;
  }
  const auto [variable, begin] = use_variable(first);
  const Wavefronts wavefronts = pattern_of(site, active, addresses, begin, true).wavefronts;
  SiteTraffic& counts = traffic_of(site, site.site.write ? AccessKind::shared_store : AccessKind::shared_load, variable,
                                   active, addresses, begin);
  charge(warp, counts,
         {1, 0, wavefronts.taken, wavefronts.ideal,
          std::uint64_t{site.site.bytes} * static_cast<unsigned>(std::popcount(active))},
         active, addresses, begin);
}

void BlockCounter::charge(const Warp& warp, SiteTraffic& to, const Traffic& traffic, std::uint32_t active,
                          const Addresses& addresses, std::uint64_t begin) {
  to.traffic += traffic;
  if (&warp == traced_) {
    const AccessSites::Site site = context_.sites[to.site];
    context_.recorder->add(to.site, to.kind, to.memory, site.copy ? copies_to_memory_ : Memory{},
                           relative(active, site.bytes, addresses, begin), traffic);
  }
}

void BlockCounter::bulk_requests(Warp& warp, SiteState& site, std::uint32_t active, const Addresses& addresses) {
  for_lanes(active, [&](unsigned lane) {
    const std::uint32_t alone = 1U << lane;
    const auto [memory, begin] = context_.array_at(addresses[lane]);
    const std::uint64_t first = (addresses[lane] - begin) / SECTOR_BYTES;
    const std::uint64_t end = (addresses[lane] - begin + site.site.bytes + SECTOR_BYTES - 1) / SECTOR_BYTES;
    charge(warp, traffic_of(site, AccessKind::async_copy, memory, alone, addresses, begin),
           {1, end - first, 0, 0, site.site.bytes}, alone, addresses, begin);
    if (memory.index == Memory::ELSEWHERE) {
      return;
    }
    use_words(memory.index, site.site.bytes, alone, addresses, begin);
    for (std::uint64_t sector = first; sector < end;) {
      const std::uint64_t line_end = std::min(end, (sector / SECTORS_PER_LINE + 1) * SECTORS_PER_LINE);
      const std::uint64_t line = sector / SECTORS_PER_LINE * SECTORS_PER_LINE;
      const auto mask = static_cast<std::uint8_t>((1U << (line_end - line)) - (1U << (sector - line)));
      warp.pieces.push_back(
          {static_cast<std::uint32_t>(line), mask, static_cast<std::uint8_t>(memory.index), false, true});
      sector = line_end;
    }
    warp.piece_ends.push_back(static_cast<std::uint32_t>(warp.pieces.size()));
  });
}

std::pair<Memory, std::uint64_t> BlockCounter::use_variable(std::uint64_t address) {
  const SharedVariables::Variable* const variable = variables_.at(address - shared_begin_);
  const auto index =
      variable == nullptr ? Memory::ELSEWHERE : static_cast<std::uint16_t>(variable - variables_.all().data());
  if (std::find(variables_used_.begin(), variables_used_.end(), index) == variables_used_.end()) {
    variables_used_.push_back(index);
  }
  return {{true, index}, variable == nullptr ? shared_begin_ : shared_begin_ + variable->offset};
}

void BlockCounter::global_request(Warp& warp, SiteState& site, AccessKind kind, std::uint32_t active,
                                  const Addresses& addresses) {
  std::uint64_t requests = 1;
  if (active == 0) {
    last_ = &traffic_of(site, kind, {}, active, addresses, 0);
    charge(warp, *last_, {1, 0, 0, 0, 0}, active, addresses, 0);
    return;
  }
  // Lanes need not all use the same array.
  while (active != 0) {
    const std::uint64_t first = addresses[first_lane(active)];
    const auto [memory, begin_of_array] = context_.array_at(first);
    const std::uint64_t begin = begin_of_array;
    std::uint32_t here = active;
    const Pattern* pattern = &pattern_of(site, active, addresses, begin, false);
    if (const std::size_t array = memory.index; array != Memory::ELSEWHERE) {
      const auto offset = static_cast<std::int64_t>(first - begin);
      const auto bytes = static_cast<std::int64_t>(context_.arrays[array].bytes());
      if (offset + pattern->lowest < 0 || offset + pattern->highest >= bytes) {
        here = 0;
        for_lanes(active, [&](unsigned lane) {
          here |= addresses[lane] - begin < static_cast<std::uint64_t>(bytes) ? 1U << lane : 0U;
        });
        pattern = &pattern_of(site, here, addresses, begin, false);
      }
      use_words(array, site.site.bytes, here, addresses, begin);
      const std::uint64_t line = (first - begin) / LINE * SECTORS_PER_LINE;
      for (const auto& [sector, mask] : pattern->pieces) {
        warp.pieces.push_back({static_cast<std::uint32_t>(static_cast<std::int64_t>(line) + sector), mask,
                               static_cast<std::uint8_t>(array), kind == AccessKind::global_store,
                               kind == AccessKind::async_copy && site.site.bytes == COPY_PAST_L1});
      }
      warp.piece_ends.push_back(static_cast<std::uint32_t>(warp.pieces.size()));
    }
    last_ = &traffic_of(site, kind, memory, here, addresses, begin);
    charge(
        warp, *last_,
        {requests, pattern->sectors, 0, 0, std::uint64_t{site.site.bytes} * static_cast<unsigned>(std::popcount(here))},
        here, addresses, begin);
    requests = 0;
    active &= ~here;
  }
}

void BlockCounter::use_words(std::size_t array, unsigned bytes, std::uint32_t active, const Addresses& addresses,
                             std::uint64_t begin) {
  Used& used = used_[array];
  for_lanes(active, [&](unsigned lane) {
    const std::uint64_t offset = addresses[lane] - begin;
    for (std::uint64_t word = offset / WORD; word * WORD < offset + bytes; ++word) {
      std::uint64_t& bits = used.bits[word / WORDS_PER_BITS];
      if (bits == 0) {
        used.touched.push_back(static_cast<std::uint32_t>(word / WORDS_PER_BITS));
      }
      bits |= std::uint64_t{1} << word % WORDS_PER_BITS;
    }
  });
}

SiteTraffic& BlockCounter::traffic_of(SiteState& site, AccessKind kind, Memory memory, std::uint32_t active,
                                      const Addresses& addresses, std::uint64_t begin) {
  for (SiteTraffic& traffic : site.traffic) {
    if (traffic.memory == memory) {
      return traffic;
    }
  }
  if (site.traffic.empty()) {
    sites_used_.push_back(site.number);
  }
  SiteTraffic& traffic = site.traffic.emplace_back();
  traffic.site = site.number;
  traffic.kind = kind;
  traffic.memory = memory;
  traffic.example = relative(active, site.site.bytes, addresses, begin);
  return traffic;
}

const BlockCounter::Pattern& BlockCounter::pattern_of(SiteState& site, std::uint32_t active, const Addresses& addresses,
                                                      std::uint64_t begin, bool shared) {
  const std::uint64_t first = addresses[first_lane(active)];
  Pattern& pattern = site.patterns[(first - begin) % LINE / WORD];
  std::array<std::uint32_t, WARP> distance{};
  std::int64_t lowest = 0;
  std::int64_t highest = 0;
  for_lanes(active, [&](unsigned lane) {
    const auto from_first = static_cast<std::int64_t>(addresses[lane] - first);
    lowest = std::min(lowest, from_first);
    highest = std::max(highest, from_first);
    distance[lane] = static_cast<std::uint32_t>(from_first);
  });
  // Patterns whose distances do not fit in 32 bits are told apart by the farthest lane.
  if (pattern.active == active && pattern.lowest == lowest && pattern.highest == highest &&
      pattern.distance == distance) {
    return pattern;
  }
  pattern.active = active;
  pattern.distance = distance;
  pattern.lowest = lowest;
  pattern.highest = highest;
  const WarpAccess access = relative(active, site.site.bytes, addresses, begin);
  if (shared) {
    pattern.wavefronts = shared_wavefronts(access, site.site.write ? SharedOperation::store : SharedOperation::load);
    return pattern;
  }
  pattern.sectors = sectors(access);
  pattern.pieces.clear();
  const auto first_sector = static_cast<std::int64_t>((first - begin) / LINE * SECTORS_PER_LINE);
  for_lanes(active, [&](unsigned lane) {
    const auto sector = static_cast<std::int64_t>(access.address[lane] / SECTOR_BYTES);
    const auto of_line = static_cast<std::uint64_t>(sector) % SECTORS_PER_LINE;
    const auto line = static_cast<std::int32_t>(sector - static_cast<std::int64_t>(of_line) - first_sector);
    auto piece = std::find_if(pattern.pieces.begin(), pattern.pieces.end(),
                              [&](const auto& known) { return known.first == line; });
    if (piece == pattern.pieces.end()) {
      piece = pattern.pieces.insert(piece, {line, 0});
    }
    piece->second = static_cast<std::uint8_t>(piece->second | 1U << of_line);
  });
  return pattern;
}

void BlockCounter::end_interval() {
  // Takes the requests of the warps one by one in turn.
  std::size_t rounds = 0;
  for (const Warp& warp : warps_) {
    rounds = std::max(rounds, warp.piece_ends.size());
  }
  for (std::size_t round = 0; round < rounds; ++round) {
    for (const Warp& warp : warps_) {
      if (round < warp.piece_ends.size()) {
        const std::uint32_t from = round == 0 ? 0 : warp.piece_ends[round - 1];
        pieces_.insert(pieces_.end(), warp.pieces.begin() + from, warp.pieces.begin() + warp.piece_ends[round]);
      }
    }
  }
  for (Warp& warp : warps_) {
    warp.pieces.clear();
    warp.piece_ends.clear();
  }
}

BlockTraffic BlockCounter::through_l1(std::size_t l1_bytes) const {
  constexpr unsigned ARRAY_SHIFT = 40;
  // Requests for parts of one line that follow each other soon count as one access. The L2 model gives the same result,
  // and has fewer accesses to replay.
  constexpr std::size_t SOON = 16;
  L1Model l1(l1_bytes);
  BlockTraffic traffic;
  for (const Piece& piece : pieces_) {
    std::uint8_t mask = piece.mask;
    if (!piece.write && !piece.past_l1) {
      mask = l1.read(std::uint64_t{piece.array} << ARRAY_SHIFT | piece.sector / SECTORS_PER_LINE, mask);
    }
    if (mask == 0) {
      continue;
    }
    const auto same = std::find_if(
        traffic.rbegin(), traffic.rbegin() + static_cast<std::ptrdiff_t>(std::min(SOON, traffic.size())),
        [&](const SectorAccess& earlier) {
          return earlier.sector == piece.sector && earlier.array == piece.array && earlier.write == piece.write;
        });
    if (same != traffic.rbegin() + static_cast<std::ptrdiff_t>(std::min(SOON, traffic.size())) &&
        (same->mask & mask) == 0) {
      same->mask |= mask;
    } else {
      traffic.push_back({piece.sector, mask, piece.array, piece.write});
    }
  }
  return traffic;
}

Footprint BlockCounter::footprint(std::size_t array) {
  Used& used = used_[array];
  std::sort(used.touched.begin(), used.touched.end());
  Footprint words;
  for (const std::uint32_t position : used.touched) {
    std::uint64_t bits = used.bits[position];
    const auto base = static_cast<std::int64_t>(position * WORDS_PER_BITS);
    while (bits != 0) {
      const int begin = std::countr_zero(bits);
      const int length = std::countr_one(bits >> begin);
      if (!words.empty() && words.back().end == base + begin) {
        words.back().end += length;
      } else {
        words.push_back({base + begin, base + begin + length});
      }
      bits = begin + length == 64 ? 0 : bits >> (begin + length) << (begin + length);
    }
  }
  return words;
}

BlockCounts BlockCounter::take() {
  end_interval();
  BlockCounts counts;
  for (const AccessSites::Number number : sites_used_) {
    const std::vector<SiteTraffic>& traffic = sites_[number]->traffic;
    counts.sites.insert(counts.sites.end(), traffic.begin(), traffic.end());
  }
  const auto order = [](const SiteTraffic& traffic) {
    return std::tuple(traffic.site, traffic.memory.shared, traffic.memory.index);
  };
  std::sort(counts.sites.begin(), counts.sites.end(),
            [&](const SiteTraffic& x, const SiteTraffic& y) { return order(x) < order(y); });
  constexpr std::size_t ENOUGH_TO_REACH_THE_KERNEL = 16;
  counts.first_code.assign(
      code_seen_.begin(),
      code_seen_.begin() + static_cast<std::ptrdiff_t>(std::min(code_seen_.size(), ENOUGH_TO_REACH_THE_KERNEL)));
  std::sort(code_seen_.begin(), code_seen_.end());
  for (const void* const code : code_seen_) {
    counts.code.emplace_back(code, runs_[reinterpret_cast<std::uintptr_t>(code) - program_.code_begin]);
  }
  counts.barriers = barriers_;
  counts.tensor_flops = tensor_flops_;
  counts.accesses = accesses_;
  counts.smem_bytes = dynamic_smem_;
  for (const std::uint16_t index : variables_used_) {
    if (index != Memory::ELSEWHERE && variables_.all()[index].name != DYNAMIC_SHARED_MEMORY) {
      const SharedVariables::Variable& variable = variables_.all()[index];
      counts.smem_bytes += variable.placed ? static_bytes() : variable.bytes;
    }
  }
  counts.l2 = through_l1(context_.l1_bytes(counts.smem_bytes, static_cast<unsigned>(threads_)));
  for (std::size_t array = 0; array < used_.size(); ++array) {
    counts.footprints.push_back(footprint(array));
  }
  clear();
  return counts;
}

}  // namespace simt
