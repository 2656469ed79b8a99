#include "simt/counter.hpp"

#include "core/program.hpp"
#include "core/shared_variables.hpp"
#include "core/workers.hpp"
#include "count/block_counter.hpp"
#include "count/counting_context.hpp"
#include "count/flops.hpp"
#include "count/site_names.hpp"
#include "count/warp_recorder.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <tuple>
#include <utility>

namespace simt {
namespace {

constexpr std::int64_t WORD = 4;
/// Blocks whose distance is no multiple of this many bytes cut lines differently.
constexpr std::int64_t LINE = 128;
constexpr std::int64_t SECTOR = SECTOR_BYTES;

/// How many operations of tensor cores take the executor about as long as an access.
constexpr double TENSOR_FLOPS_PER_ACCESS = 128.0;

/// The distance between the accesses of two blocks in each array, in bytes.
using Shift = std::array<std::int64_t, MAX_ARRAYS>;

/// Rows and columns of an array that a block uses, in bytes, the ends excluded.
struct Extent {
  std::int64_t first_row = 0;
  std::int64_t last_row = 0;
  std::int64_t first_column = 0;
  std::int64_t last_column = 0;

  Extent(const GlobalArray& array, const Footprint& words) {
    const auto stride = static_cast<std::int64_t>(array.stride);
    first_row = words.front().begin * WORD / stride;
    last_row = (words.back().end * WORD - 1) / stride;
    first_column = stride;
    for (const Words& part : words) {
      const std::int64_t begin = part.begin * WORD;
      const std::int64_t end = part.end * WORD;
      const bool one_row = begin / stride == (end - 1) / stride;
      first_column = std::min(first_column, one_row ? begin % stride : 0);
      last_column = std::max(last_column, one_row ? (end - 1) % stride + 1 : stride);
    }
  }
};

/// Finds the first address that each block reads in some arrays, in bytes from their begin. It ends each block as soon
/// as the last of these is known.
class FirstReads final : public Watcher {
 public:
  /// `wanted` has a bit for each array; `stop` ends the block.
  FirstReads(const CountingContext& context, std::uint32_t wanted, std::function<void()> stop)
      : context_(context), wanted_(wanted), stop_(std::move(stop)) {}

  void begin(const Launch& /*launch*/, std::uint64_t /*block*/) override {
    missing_ = wanted_;
    found_.fill(NOT_READ);
  }
  Complaint access(ThreadNumber /*thread*/, const Access& access, const void* /*code*/) override {
    if (!access.write) {
      read(access.address);
    }
    return {};
  }
  Complaint copy_starts(ThreadNumber /*thread*/, const Copy& copy, Site /*site*/) override {
    if (copy.source != nullptr) {
      read(copy.source);
    }
    return {};
  }
  Complaint bulk_copy(ThreadNumber /*thread*/, const Copy& copy, const Phase& /*phase*/, Site /*site*/) override {
    read(copy.source);
    return {};
  }

  const std::array<std::int64_t, MAX_ARRAYS>& found() const { return found_; }

  static constexpr std::int64_t NOT_READ = -1;

 private:
  void read(const void* address) {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    const auto [memory, begin] = context_.array_at(at);
    if (memory.index != Memory::ELSEWHERE && (missing_ >> memory.index & 1U) != 0) {
      missing_ &= ~(1U << memory.index);
      found_[memory.index] = static_cast<std::int64_t>(at - begin);
    }
    if (missing_ == 0) {
      stop_();
    }
  }

  const CountingContext& context_;
  const std::uint32_t wanted_;
  const std::function<void()> stop_;
  std::uint32_t missing_ = 0;
  std::array<std::int64_t, MAX_ARRAYS> found_{};
};

/// The place of a block, relative to block 0. Blocks with the same `edge` are copies of each other.
struct Place {
  Shift shift{};
  /// The distances by which the block would reach beyond the arrays if it were like block 0, and the cuts of its lines.
  std::vector<std::int64_t> edge;
};

bool equal_but_moved(const BlockTraffic& traffic, const BlockTraffic& from, const Shift& shift) {
  return std::equal(traffic.begin(), traffic.end(), from.begin(), from.end(),
                    [&](const SectorAccess& x, const SectorAccess& y) {
                      return x.array == y.array && x.mask == y.mask && x.write == y.write &&
                             x.sector == y.sector + shift[y.array] / SECTOR;
                    });
}

bool equal_but_moved(const Footprint& words, const Footprint& from, std::int64_t shift) {
  return std::equal(words.begin(), words.end(), from.begin(), from.end(), [&](const Words& x, const Words& y) {
    return x.begin == y.begin + shift / WORD && x.end == y.end + shift / WORD;
  });
}

/// The difference between `block` and `from` moved by `shift`, or nothing.
std::optional<std::string> difference(const BlockCounts& block, const BlockCounts& from, const Shift& shift) {
  if (!std::equal(block.sites.begin(), block.sites.end(), from.sites.begin(), from.sites.end(),
                  [](const SiteTraffic& x, const SiteTraffic& y) { return x.same_counts(y); })) {
    return "makes other requests";
  }
  if (block.code != from.code || block.barriers != from.barriers || block.tensor_flops != from.tensor_flops) {
    return "computes otherwise";
  }
  for (std::size_t array = 0; array < block.footprints.size(); ++array) {
    if (!equal_but_moved(block.footprints[array], from.footprints[array], shift[array])) {
      return "uses other elements";
    }
  }
  return equal_but_moved(block.l2, from.l2, shift) ? std::nullopt : std::optional<std::string>("has another order");
}

Shift operator-(const Shift& x, const Shift& y) {
  Shift result;
  std::transform(x.begin(), x.end(), y.begin(), result.begin(), std::minus<>());
  return result;
}

/// The floating-point instructions behind trace calls, as far as they were asked for.
class Flops {
 public:
  /// Forgets code without arithmetic, for example the code that finds a block's place.
  void keep_computing(std::vector<BlockCounts>& blocks) {
    std::set<const void*> missing;
    for (const BlockCounts& block : blocks) {
      for (const auto& [code, runs] : block.code) {
        if (!behind_.contains(code)) {
          missing.insert(code);
        }
      }
    }
    const std::vector<const void*> codes(missing.begin(), missing.end());
    const auto found = flops_behind(codes);
    known_ = known_ && found.has_value();
    for (std::size_t i = 0; known_ && i < codes.size(); ++i) {
      behind_.emplace(codes[i], (*found)[i]);
    }
    for (BlockCounts& block : blocks) {
      std::erase_if(block.code, [&](const auto& code) { return !known_ || behind(code.first).empty(); });
    }
  }
  bool known() const { return known_; }
  const Instructions& behind(const void* code) const { return behind_.at(code); }

 private:
  bool known_ = true;
  std::map<const void*, Instructions> behind_;
};

/// Adds the counts of blocks up to the counts of the launch.
class Sum {
 public:
  void add(const BlockCounts& block, std::uint64_t times) {
    for (const SiteTraffic& site : block.sites) {
      const auto key = std::tuple(site.site, site.kind, site.memory.shared, site.memory.index);
      const auto [entry, is_new] = sites_.try_emplace(key, site);
      if (is_new) {
        entry->second.traffic = {};
      }
      entry->second.traffic += site.traffic.times(times);
    }
    for (const auto& [code, runs] : block.code) {
      code_[code] += runs * times;
    }
  }

  /// Fills in everything except the data of single blocks.
  void write_to(LaunchCounts& counts, const AccessSites& sites, const Flops& flops) const {
    std::vector<AccessSites::Site> accessing;
    for (const auto& [key, site] : sites_) {
      accessing.push_back(sites[site.site]);
    }
    std::vector<const void*> computing;
    std::vector<std::uint64_t> flops_of;
    if (flops.known()) {
      counts.flops = 0;
      for (const auto& [code, runs] : code_) {
        for (const FlopInstruction& instruction : flops.behind(code)) {
          computing.push_back(instruction.code);
          flops_of.push_back(instruction.flops * runs);
          *counts.flops += flops_of.back();
        }
      }
    }
    const std::vector<SourcePlace> accesses = places_in_kernel(accessing);
    const std::vector<std::vector<SourcePlace>> computations = source_places(computing);

    std::map<std::tuple<std::string, unsigned, std::optional<AccessKind>, std::string>, LineCounts> lines;
    const auto line_at = [&](const SourcePlace& place, std::optional<AccessKind> kind,
                             const std::string& array) -> LineCounts& {
      const std::string file = place.file.substr(place.file.rfind('/') + 1);
      LineCounts& line = lines[{file, place.line, kind, array}];
      line.file = file;
      line.line = place.line;
      line.kind = kind;
      line.array = array;
      return line;
    };
    std::size_t index = 0;
    for (const auto& [key, counted] : sites_) {
      LineCounts& line = line_at(accesses[index++], counted.kind, name_of(counted.memory, counts.arrays));
      if (line.traffic.requests == 0) {
        line.example = counted.example;
      }
      line.traffic += counted.traffic;
      counts.traffic[static_cast<std::size_t>(counted.kind)] += counted.traffic;
      if (!counted.memory.shared && counted.memory.index != Memory::ELSEWHERE &&
          counted.kind != AccessKind::global_store) {
        counts.bytes_read[counted.memory.index] += counted.traffic.bytes;
      }
    }
    for (std::size_t i = 0; i < flops_of.size(); ++i) {
      line_at(place_in_kernel(computations[i]), std::nullopt, "").flops += flops_of[i];
    }
    for (auto& [key, line] : lines) {
      counts.lines.push_back(std::move(line));
    }
  }

 private:
  std::map<std::tuple<AccessSites::Number, AccessKind, bool, std::uint16_t>, SiteTraffic> sites_;
  std::map<const void*, std::uint64_t> code_;
};

std::uint64_t blocks_of(const Launch& launch) { return std::uint64_t{launch.grid.x} * launch.grid.y * launch.grid.z; }
unsigned threads_of(const Launch& launch) { return launch.block.x * launch.block.y * launch.block.z; }
unsigned warps_of(unsigned threads) { return (threads + WARP - 1) / WARP; }

/// Counts one launch.
class LaunchCounter {
 public:
  LaunchCounter(const Launch& launch, const std::vector<CountedArray>& arrays, CountingContext& context,
                const CountingLimits& limits)
      : launch_(launch), arrays_(arrays), context_(context), limits_(limits) {
    counts_.arrays = arrays;
    counts_.blocks = blocks_of(launch);
    counts_.threads_per_block = threads_of(launch);
  }

  LaunchCounts run() {
    std::vector<std::uint64_t> first(together(launch_));
    std::iota(first.begin(), first.end(), 0);
    blocks_ = execute(first);
    counts_.function = name_of_kernel(blocks_.front().first_code);
    const BlockCounts& block = blocks_.front();
    const double of_block =
        static_cast<double>(block.accesses) + static_cast<double>(block.tensor_flops) / TENSOR_FLOPS_PER_ACCESS;
    expected_accesses_ = of_block * static_cast<double>(counts_.blocks);
    if (expected_accesses_ <= limits_.whole_below) {
      run_whole();
    } else if (const std::optional<std::string> reason = run_samples()) {
      if (expected_accesses_ > limits_.whole_at_most) {
        throw NotCountable("too large to be executed block by block, and " + *reason);
      }
      run_whole();
    }
    sum_.write_to(counts_, context_.sites, flops_);
    if (context_.recorder != nullptr) {
      counts_.trace = context_.recorder->take(context_.sites, counts_.arrays);
      counts_.trace->blocks = counts_.blocks;
      counts_.trace->warps = warps_of(counts_.threads_per_block);
    }
    return std::move(counts_);
  }

 private:
  std::vector<BlockCounts> execute(const std::vector<std::uint64_t>& numbers) {
    std::vector<BlockCounts> result(numbers.size());
    run_watched_blocks(
        launch_, &numbers, [&](Block&) { return std::make_unique<BlockCounter>(context_); },
        [&](Watcher& counter, std::uint64_t position) {
          result[position] = static_cast<BlockCounter&>(counter).take();
        });
    counts_.blocks_executed += numbers.size();
    flops_.keep_computing(result);
    return result;
  }

  /// Takes over an executed block; returns its index.
  std::uint32_t keep(BlockCounts& block) {
    counts_.smem_bytes = std::max(counts_.smem_bytes, block.smem_bytes);
    auto executed = std::make_unique<ExecutedBlock>();
    executed->traffic = std::move(block.l2);
    executed->reads = std::move(block.footprints);
    counts_.executed.push_back(std::move(executed));
    return static_cast<std::uint32_t>(counts_.executed.size() - 1);
  }

  void place(std::uint64_t number, std::uint32_t executed, const Shift& shift) {
    PlacedBlock& placed = counts_.placed[number];
    placed.traffic = &counts_.executed[executed]->traffic;
    std::transform(shift.begin(), shift.end(), placed.shift.begin(), [](std::int64_t bytes) { return bytes / SECTOR; });
    counts_.like[number] = executed;
  }

  void run_whole() {
    const unsigned group = together(launch_);
    std::vector<std::uint64_t> rest(counts_.blocks - group);
    std::iota(rest.begin(), rest.end(), group);
    counts_.blocks_executed = group;
    blocks_.resize(group);
    std::vector<BlockCounts> others = execute(rest);
    std::move(others.begin(), others.end(), std::back_inserter(blocks_));
    counts_.placed.resize(counts_.blocks);
    counts_.like.resize(counts_.blocks);
    for (std::uint64_t number = 0; number < counts_.blocks; ++number) {
      BlockCounts& block = blocks_[number];
      sum_.add(block, 1);
      counts_.barriers += block.barriers;
      counts_.tensor_flops += block.tensor_flops;
      place(number, keep(block), {});
    }
  }

  std::optional<std::vector<Place>> find_places() {
    const BlockCounts& first = blocks_.front();
    const auto used = [&](std::size_t array) { return !first.footprints[array].empty(); };
    std::uint32_t inputs = 0;
    for (std::size_t array = 0; array < arrays_.size(); ++array) {
      inputs |= used(array) && !arrays_[array].array.writable ? 1U << array : 0U;
    }
    for (std::size_t array = 0; array < arrays_.size(); ++array) {
      const std::uint32_t needed = 1U << arrays_[array].rows_like | 1U << arrays_[array].columns_like;
      if (used(array) && arrays_[array].array.writable && (inputs & needed) != needed) {
        return std::nullopt;
      }
    }
    if (inputs == 0) {
      return std::nullopt;
    }
    std::vector<Shift> found(counts_.blocks);
    run_watched_blocks(
        launch_, nullptr,
        [&](Block& block) { return std::make_unique<FirstReads>(context_, inputs, [&block] { block.stop(); }); },
        [&](Watcher& reads, std::uint64_t number) { found[number] = static_cast<FirstReads&>(reads).found(); });

    std::vector<Place> places(counts_.blocks);
    for (std::uint64_t number = 0; number < counts_.blocks; ++number) {
      Place& place = places[number];
      for (std::size_t index = 0; index < arrays_.size(); ++index) {
        if (!used(index)) {
          continue;
        }
        const GlobalArray& array = arrays_[index].array;
        const std::size_t rows_like = array.writable ? arrays_[index].rows_like : index;
        const std::size_t columns_like = array.writable ? arrays_[index].columns_like : index;
        if (found[number][rows_like] == FirstReads::NOT_READ || found[number][columns_like] == FirstReads::NOT_READ) {
          place.edge = {static_cast<std::int64_t>(number)};  // like no other
          break;
        }
        const auto rows_stride = static_cast<std::int64_t>(arrays_[rows_like].array.stride);
        const auto columns_stride = static_cast<std::int64_t>(arrays_[columns_like].array.stride);
        const std::int64_t rows = found[number][rows_like] / rows_stride - found[0][rows_like] / rows_stride;
        const std::int64_t columns =
            found[number][columns_like] % columns_stride - found[0][columns_like] % columns_stride;
        place.shift[index] = rows * static_cast<std::int64_t>(array.stride) + columns;
        const Extent extent(array, first.footprints[index]);
        const auto beyond = [](std::int64_t begin, std::int64_t end, std::size_t size) {
          return std::max<std::int64_t>(end - static_cast<std::int64_t>(size), 0) + std::min<std::int64_t>(begin, 0);
        };
        place.edge.push_back((place.shift[index] % LINE + LINE) % LINE);
        place.edge.push_back(beyond(extent.first_row + rows, extent.last_row + rows + 1, array.rows));
        place.edge.push_back(beyond(extent.first_column + columns, extent.last_column + columns,
                                    std::max(array.row_bytes, static_cast<std::size_t>(extent.last_column))));
      }
    }
    return places;
  }

  /// Returns the reason if that is not possible.
  std::optional<std::string> run_samples() {
    // Such a block may wait for a block that would not be executed.
    if (std::any_of(arrays_.begin(), arrays_.end(),
                    [](const CountedArray& array) { return array.array.passed_between_blocks; })) {
      return "its blocks have a workspace in which they may depend on each other";
    }
    if (together(launch_) > 1) {
      return "its blocks wait for one another";
    }
    const std::optional<std::vector<Place>> places = find_places();
    if (!places) {
      return "what its blocks read does not tell what they write";
    }
    std::map<std::vector<std::int64_t>, std::vector<std::uint64_t>> classes;
    for (std::uint64_t number = 0; number < counts_.blocks; ++number) {
      classes[(*places)[number].edge].push_back(number);
    }
    constexpr std::size_t MOST_CLASSES = 64;
    if (classes.size() > MOST_CLASSES) {
      return "its blocks are of " + std::to_string(classes.size()) + " different kinds";
    }
    // One of each class, then some others: of the largest classes, spread over the launch, and the last.
    std::vector<std::uint64_t> representatives;
    std::set<std::uint64_t> checks{counts_.blocks - 1};
    std::mt19937_64 random(counts_.blocks);
    const auto any = [&](std::uint64_t begin, std::uint64_t end) { return begin + random() % (end - begin); };
    for (const auto& [edge, members] : classes) {
      representatives.push_back(members.front());
      if (members.size() > 1 && classes.size() <= limits_.blocks_to_check) {
        checks.insert(members[any(1, members.size())]);
      }
    }
    for (std::uint64_t part = 0; part < limits_.blocks_to_check; ++part) {
      const std::uint64_t begin = counts_.blocks * part / limits_.blocks_to_check;
      checks.insert(any(begin, std::max(counts_.blocks * (part + 1) / limits_.blocks_to_check, begin + 1)));
    }
    if (context_.recorder != nullptr) {
      checks.insert(context_.recorder->warp().block);
    }
    for (const std::uint64_t number : representatives) {
      checks.erase(number);
    }

    std::vector<std::uint64_t> chosen = representatives;
    std::erase(chosen, 0U);
    const std::size_t new_representatives = chosen.size();
    chosen.insert(chosen.end(), checks.begin(), checks.end());
    std::vector<BlockCounts> executed = execute(chosen);
    std::map<std::uint64_t, BlockCounts*> representative{{0, &blocks_.front()}};
    for (std::size_t i = 0; i < new_representatives; ++i) {
      representative[chosen[i]] = &executed[i];
    }
    for (std::size_t i = new_representatives; i < chosen.size(); ++i) {
      const Place& place = (*places)[chosen[i]];
      const std::uint64_t like = classes[place.edge].front();
      if (const auto what = difference(executed[i], *representative[like], place.shift - (*places)[like].shift)) {
        return "block number " + std::to_string(chosen[i]) + " is not number " + std::to_string(like) +
               " moved elsewhere: it " + *what;
      }
    }

    counts_.placed.resize(counts_.blocks);
    counts_.like.resize(counts_.blocks);
    for (const auto& [edge, members] : classes) {
      BlockCounts& block = *representative[members.front()];
      sum_.add(block, members.size());
      counts_.barriers += block.barriers * members.size();
      counts_.tensor_flops += block.tensor_flops * members.size();
      const std::uint32_t index = keep(block);
      for (const std::uint64_t number : members) {
        place(number, index, (*places)[number].shift - (*places)[members.front()].shift);
      }
    }
    return std::nullopt;
  }

  const Launch& launch_;
  const std::vector<CountedArray>& arrays_;
  CountingContext& context_;
  const CountingLimits& limits_;
  LaunchCounts counts_;
  Flops flops_;
  Sum sum_;
  std::vector<BlockCounts> blocks_;  ///< those that run with the first one, at least
  double expected_accesses_ = 0.0;   ///< with what takes as long on tensor cores
};

}  // namespace

Traffic& Traffic::operator+=(const Traffic& other) {
  requests += other.requests;
  sectors += other.sectors;
  wavefronts += other.wavefronts;
  ideal_wavefronts += other.ideal_wavefronts;
  bytes += other.bytes;
  return *this;
}

Traffic Traffic::times(std::uint64_t factor) const {
  return {requests * factor, sectors * factor, wavefronts * factor, ideal_wavefronts * factor, bytes * factor};
}

std::uint64_t LaunchCounts::elements_read_by_first(std::uint64_t count) const {
  std::uint64_t elements = 0;
  for (std::size_t index = 0; index < arrays.size(); ++index) {
    const GlobalArray& array = arrays[index].array;
    if (array.writable) {
      continue;
    }
    std::vector<bool> read(array.bytes() / static_cast<std::size_t>(WORD) + 1);
    for (std::uint64_t number = 0; number < std::min(count, blocks); ++number) {
      const std::int64_t shift = placed[number].shift[index] * SECTOR / WORD;
      for (const Words& words : executed[like[number]]->reads[index]) {
        std::fill(read.begin() + words.begin + shift, read.begin() + words.end + shift, true);
      }
    }
    elements += static_cast<std::uint64_t>(std::count(read.begin(), read.end(), true));
  }
  return elements;
}

Counting::Counting(std::vector<CountedArray> arrays, L1Size l1_bytes, CountingLimits limits,
                   std::optional<TracedWarp> traced)
    : l1_bytes_(std::move(l1_bytes)), limits_(limits), traced_(traced), arrays_(std::move(arrays)) {
  SharedVariables::of_program();
}

Counting::~Counting() = default;

void Counting::launch(const Launch& launch) {
  std::vector<CountedArray> arrays = arrays_;
  for (GlobalArray& workspace : workspaces()) {
    workspace.name = WORKSPACE;
    arrays.push_back({std::move(workspace)});
  }
  if (arrays.size() > MAX_ARRAYS) {
    throw std::invalid_argument("too many arrays to be counted");
  }
  // Of the code that is launched, which may be a shared object's.
  if (const Program program = Program::of(reinterpret_cast<const void*>(launch.thread));
      context_ == nullptr || context_->program.code_begin != program.code_begin) {
    context_ = std::make_unique<CountingContext>(program);
    context_->l1_bytes = l1_bytes_;
  }
  context_->arrays.clear();
  for (const CountedArray& array : arrays) {
    context_->arrays.push_back(array.array);
  }
  std::optional<WarpRecorder> recorder;
  if (traced_ && traced_->block < blocks_of(launch) && traced_->warp < warps_of(threads_of(launch))) {
    recorder.emplace(*traced_);
  }
  context_->recorder = recorder ? &*recorder : nullptr;
  launches_.push_back(LaunchCounter(launch, arrays, *context_, limits_).run());
}

}  // namespace simt
