#pragma once

// Counts the work of one block after the other, all on one OS thread.
//
// Accesses arrive thread by thread. Each thread keeps a log of them; when all lanes of a warp have reached a barrier or
// their end, the logs are put together to requests: the n-th access of every lane by the same code is one. A wait at an
// mbarrier does not hold up every lane, so it leaves a mark in the log. The parts of the logs between two marks that
// all lanes share are put together on their own.

#include "core/program.hpp"
#include "core/shared_variables.hpp"
#include "core/watcher.hpp"
#include "core/zeroed_table.hpp"
#include "count/counting_context.hpp"
#include "simt/counter.hpp"
#include "simt/l2_model.hpp"
#include "simt/warp_access.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <source_location>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace simt {

/// The requests that one site makes to one memory.
struct SiteTraffic {
  AccessSites::Number site = AccessSites::NONE;
  AccessKind kind = AccessKind::global_load;
  Memory memory;
  Traffic traffic;
  WarpAccess example;  ///< the first request, in bytes from the begin of the array or variable

  bool same_counts(const SiteTraffic& other) const {
    return site == other.site && kind == other.kind && memory == other.memory && traffic == other.traffic;
  }
};

struct BlockCounts {
  std::vector<SiteTraffic> sites;  ///< in order of site, kind and memory
  /// How often the code behind each trace call ran, in order of the code.
  std::vector<std::pair<const void*, std::uint64_t>> code;
  std::vector<const void*> first_code;  ///< the first of these codes in the order of their first run
  std::uint64_t barriers = 0;
  std::uint64_t tensor_flops = 0;     ///< operations of tensor cores
  std::uint64_t accesses = 0;         ///< of threads
  std::size_t smem_bytes = 0;         ///< static and dynamic
  BlockTraffic l2;                    ///< requests that miss the L1
  std::vector<Footprint> footprints;  ///< of each array
};

/// Belongs to the OS thread that makes it.
class BlockCounter final : public Watcher {
 public:
  explicit BlockCounter(CountingContext& context);
  ~BlockCounter() override;

  void begin(const Launch& launch, std::uint64_t block) override;
  void finish(ThreadNumber thread) override;

  Complaint access(ThreadNumber thread, const Access& access, const void* code) override {
    const std::size_t word = (reinterpret_cast<std::uintptr_t>(access.address) - shared_begin_) / sizeof(float);
    if (word >= shared_words_.size() || shared_words_[word] != 0) {  // skips threadIdx and the like
      log(thread, context_.sites.of_code(code, access.bytes, access.write), access.address);
    }
    return {};
  }

  void arrive(ThreadNumber thread, bool of_block) override;
  void meet(Threads threads) override {
    if (threads.size() == threads_) {
      end_interval();
    }
  }
  void arrive_without_waiting(ThreadNumber thread, unsigned barrier, std::uint64_t phase) override {
    // Lanes go on one by one, as at mbarriers. The addresses of mbarriers are multiples of 8, so this number is free.
    mark_wait(thread, barrier * 8 + 1, phase);
  }
  void complete(unsigned /*barrier*/, Threads waiting, bool others) override {
    if (others || waiting.size() == threads_) {
      end_interval();
    }
  }

  void tensor_product(ThreadNumber /*thread*/, std::uint64_t flops) override { tensor_flops_ += flops; }
  Complaint mbarrier_init(ThreadNumber thread, unsigned address) override;
  void mbarrier_complete(unsigned /*address*/, Threads /*waiting*/) override { end_interval(); }
  void mbarrier_wait(ThreadNumber thread, const Phase& phase, bool /*ended*/) override {
    mark_wait(thread, phase.address, phase.number);
  }

  Complaint copy_starts(ThreadNumber thread, const Copy& copy, Site site) override {
    const AccessSites::Number number = site_of_copy(site, copy.bytes, false);
    log(thread, number, copy.destination);
    log(thread, static_cast<AccessSites::Number>(number + 1), copy.source);
    return {};
  }
  Complaint bulk_copy(ThreadNumber thread, const Copy& copy, const Phase& /*phase*/, Site site) override {
    use_variable(reinterpret_cast<std::uintptr_t>(copy.destination));
    if (copy.source != nullptr) {
      log(thread, site_of_copy(site, copy.source_bytes, true), copy.source);
    }
    return {};
  }

  /// Returns the counts of the block. All of its threads have finished.
  BlockCounts take();

 private:
  /// An entry has a site's number in its upper bits and an address below. The entry of a wait has NONE and a number
  /// that tells waits apart.
  using Entry = std::uint64_t;
  static constexpr unsigned ADDRESS_BITS = 48;
  static constexpr Entry ADDRESS = (Entry{1} << ADDRESS_BITS) - 1;

  /// A part of a request for the L2: up to four sectors of a line.
  struct Piece {
    std::uint32_t sector = 0;
    std::uint8_t mask = 0;
    std::uint8_t array = 0;
    bool write = false;
    bool past_l1 = false;
  };

  struct Warp {
    std::uint32_t lanes = 0;  ///< the lanes that exist
    std::uint32_t arrived = 0;
    std::uint32_t ended = 0;
    std::uint32_t waited = 0;               ///< lanes with the mark of a wait in their logs
    bool at_barrier = false;                ///< one of the block
    std::vector<Piece> pieces;              ///< since the threads of the block met
    std::vector<std::uint32_t> piece_ends;  ///< of each request
  };

  /// The cost of a request, which is kept for later requests with the same distances between lanes.
  struct Pattern {
    std::uint32_t active = 0;
    std::uint32_t sectors = 0;
    std::array<std::uint32_t, WARP> distance{};  ///< from the first active lane
    Wavefronts wavefronts;
    std::int64_t lowest = 0;  ///< from the first active lane
    std::int64_t highest = 0;
    std::vector<std::pair<std::int32_t, std::uint8_t>> pieces;  ///< first sector from the first lane's line; mask
  };
  static constexpr unsigned PHASES = 32;  ///< of addresses in a line, 4 bytes apart

  struct SiteState {
    AccessSites::Number number = AccessSites::NONE;
    AccessSites::Site site;
    std::vector<SiteTraffic> traffic;  ///< of each memory
    std::array<Pattern, PHASES> patterns;
    std::vector<std::uint32_t> requests;  ///< in merging: by occurrence, their positions
    std::uint32_t occurrences = 0;        ///< in merging: of the lane
    unsigned lane = WARP;
  };

  /// Words of an array that were used.
  struct Used {
    ZeroedTable<std::uint64_t> bits;
    std::vector<std::uint32_t> touched;  ///< positions in bits that are not 0
  };

  using Addresses = std::array<std::uint64_t, WARP>;

  struct Merged {
    AccessSites::Number site = AccessSites::NONE;
    std::uint32_t active = 0;
    Addresses addresses{};
  };

  /// Copies of this many bytes bypass the L1 (cp.async.cg). Smaller ones pass through it (.ca).
  static constexpr unsigned COPY_PAST_L1 = 16;

  void log(ThreadNumber thread, AccessSites::Number site, const void* address) {
    if (site == AccessSites::NONE) {
      return;
    }
    log_of(thread).push_back(Entry{site} << ADDRESS_BITS | (reinterpret_cast<std::uintptr_t>(address) & ADDRESS));
  }
  /// The log of a thread, to add entries to.
  std::vector<Entry>& log_of(ThreadNumber thread) {
    std::vector<Entry>& log = logs_[thread];
    if (log.capacity() == 0 && !spare_.empty()) {
      log = std::move(spare_.back());
      spare_.pop_back();
    }
    return log;
  }
  std::span<std::vector<Entry>> logs_of(const Warp& warp) {
    return {&logs_[static_cast<std::size_t>(&warp - warps_.data()) * WARP], WARP};
  }
  void clear();
  /// The thread waits for the end of a phase of the mbarrier at the shared address, or goes on because the phase has
  /// ended.
  void mark_wait(ThreadNumber thread, unsigned address, std::uint64_t phase);
  /// All threads of the block have reached a barrier, or some of them ended the phase of an mbarrier. Later requests of
  /// warps to the L2 come behind the earlier ones.
  void end_interval();
  AccessSites::Number site_of_copy(const std::source_location& place, unsigned bytes, bool bulk);
  SiteState& state(AccessSites::Number number);
  void merge_when_complete(Warp& warp);
  /// Merges the logs up to each mark of a wait that all lanes have.
  void merge_up_to_waits(Warp& warp);
  /// Removes the remaining marks from the logs, because not all lanes have waited there.
  void drop_waits(Warp& warp);
  /// Puts the logs of the warp's lanes together.
  void merge(Warp& warp);
  void merge_by_occurrence(Warp& warp, std::span<const std::vector<Entry>> logs, std::size_t from);
  void request(Warp& warp, AccessSites::Number number, std::uint32_t active, const Addresses& addresses);
  void global_request(Warp& warp, SiteState& site, AccessKind kind, std::uint32_t active, const Addresses& addresses);
  /// Adds the bulk copies of a warp. Each lane's copy is a request of its own.
  void bulk_requests(Warp& warp, SiteState& site, std::uint32_t active, const Addresses& addresses);
  /// The shared variable at the address, and its begin.
  std::pair<Memory, std::uint64_t> use_variable(std::uint64_t address);
  void use_words(std::size_t array, unsigned bytes, std::uint32_t active, const Addresses& addresses,
                 std::uint64_t begin);
  /// Adds to the counts, and to the trace if the request is the traced warp's.
  void charge(const Warp& warp, SiteTraffic& to, const Traffic& traffic, std::uint32_t active,
              const Addresses& addresses, std::uint64_t begin);
  SiteTraffic& traffic_of(SiteState& site, AccessKind kind, Memory memory, std::uint32_t active,
                          const Addresses& addresses, std::uint64_t begin);
  /// `begin` is where the array or variable lies.
  const Pattern& pattern_of(SiteState& site, std::uint32_t active, const Addresses& addresses, std::uint64_t begin,
                            bool shared);
  BlockTraffic through_l1(std::size_t l1_bytes) const;
  Footprint footprint(std::size_t array);

  CountingContext& context_;
  const SharedVariables& variables_;
  const Program& program_;                  ///< whose code is counted
  const std::uint64_t shared_begin_;        ///< this OS thread's thread-local variables
  std::vector<std::uint8_t> shared_words_;  ///< whether each word of them is shared memory
  std::size_t threads_ = 0;
  std::size_t dynamic_smem_ = 0;
  std::vector<std::vector<Entry>> logs_;   ///< of each thread
  std::vector<std::vector<Entry>> spare_;  ///< logs without an owner
  std::vector<Warp> warps_;
  std::vector<std::unique_ptr<SiteState>> sites_;
  std::vector<AccessSites::Number> sites_used_;
  /// By their file, line, column and bytes.
  std::map<std::tuple<const char*, std::uint_least32_t, std::uint_least32_t, unsigned>, AccessSites::Number> copies_;
  std::vector<std::uint16_t> variables_used_;
  std::vector<Piece> pieces_;
  ZeroedTable<std::uint64_t> runs_;  ///< of the code behind every address
  std::vector<const void*> code_seen_;
  std::vector<Used> used_;  ///< of each array
  std::uint64_t barriers_ = 0;
  std::uint64_t tensor_flops_ = 0;
  std::uint64_t accesses_ = 0;
  // While logs are merged:
  std::vector<Merged> merged_;
  std::vector<SiteState*> merging_;
  std::array<std::vector<Entry>, WARP> later_;  ///< of each lane, what follows its wait
  WarpAccess copies_to_;                        ///< the copies whose sources come next
  Memory copies_to_memory_;
  SiteTraffic* last_ = nullptr;   ///< where the last request was added
  const Warp* traced_ = nullptr;  ///< the warp whose requests context_.recorder gets; null in most blocks
};

}  // namespace simt
