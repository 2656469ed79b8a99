#pragma once

// Counts what one block after the other does, all on one OS thread.
//
// Accesses arrive thread by thread. Each thread keeps a log of them; when all lanes of a warp have reached a barrier or
// their end, the logs are put together to requests: the n-th access of every lane by the same code is one. Waits at
// mbarriers do not hold up every lane, so they leave marks in the logs: what lies between two that all lanes share is
// put together by itself.

#include "checked_arrays.hpp"
#include "checker.hpp"
#include "l2_model.hpp"
#include "program.hpp"
#include "warp_access.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <source_location>
#include <span>
#include <utility>
#include <vector>

namespace simt {

enum class AccessKind : std::uint8_t {
  global_load,
  global_store,
  shared_load,
  shared_store,
  async_copy,  ///< cp.async: reads global memory and writes shared memory
};
constexpr std::size_t ACCESS_KINDS = 5;

/// What warps ask of the memories.
struct Traffic {
  std::uint64_t requests = 0;
  std::uint64_t sectors = 0;     ///< of global memory
  std::uint64_t wavefronts = 0;  ///< of shared memory
  std::uint64_t ideal_wavefronts = 0;
  std::uint64_t bytes = 0;  ///< by all lanes together

  bool operator==(const Traffic&) const = default;
  Traffic& operator+=(const Traffic& other);
  Traffic times(std::uint64_t factor) const;
};

/// Memory of zeros, of which only what is used takes any.
template <class Value>
struct FreeMemory {
  void operator()(Value* memory) const { std::free(memory); }
};
template <class Value>
using ZeroedTable = std::unique_ptr<Value[], FreeMemory<Value>>;
template <class Value>
ZeroedTable<Value> zeroed_table(std::size_t size) {
  auto* const memory = static_cast<Value*>(std::calloc(size, sizeof(Value)));
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  return ZeroedTable<Value>(memory);
}

/// Where accesses come from, numbered for all OS threads.
class AccessSites {
 public:
  using Number = std::uint16_t;
  static constexpr Number NONE = 0;

  struct Site {
    const void* code = nullptr;  ///< behind the access; null for a copy, which has a place instead
    std::source_location place;
    unsigned bytes = 0;
    bool write = false;
    bool copy = false;  ///< writes shared memory; the site with the next number reads global memory for it
    bool bulk = false;  ///< a bulk copy, of which only what it reads is counted
  };

  AccessSites();
  /// The site of an access by the code before `code`.
  Number of_code(const void* code, unsigned bytes, bool write) {
    const std::size_t offset = reinterpret_cast<std::uintptr_t>(code) - begin_;
    if (offset >= size_) {
      return NONE;  // not of this program
    }
    const Number known = std::atomic_ref(of_code_[offset]).load(std::memory_order_relaxed);
    return known != NONE ? known : add(offset, code, bytes, write);
  }
  Number of_copy(const std::source_location& place, unsigned bytes, bool bulk);
  Site operator[](Number number) const;

 private:
  Number add(std::size_t offset, const void* code, unsigned bytes, bool write);
  Number append(const Site& site);

  std::uintptr_t begin_;
  std::size_t size_;
  ZeroedTable<Number> of_code_;
  mutable std::mutex mutex_;
  std::vector<Site> sites_;
};

/// Index of an array, or of a shared variable.
struct Memory {
  static constexpr std::uint16_t ELSEWHERE = 0xFFFF;

  bool shared = false;
  std::uint16_t index = ELSEWHERE;

  bool operator==(const Memory&) const = default;
};

/// What one site does with one memory.
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

/// Words of 4 bytes of an array, from `begin` to before `end`.
struct Words {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  bool operator==(const Words&) const = default;
};
/// Which words of an array a block uses, in order.
using Footprint = std::vector<Words>;

struct BlockCounts {
  std::vector<SiteTraffic> sites;  ///< in order of site, kind and memory
  /// How often the code behind each trace call ran, in order of the code.
  std::vector<std::pair<const void*, std::uint64_t>> code;
  std::uint64_t barriers = 0;
  std::uint64_t accesses = 0;         ///< of threads
  std::size_t smem_bytes = 0;         ///< static and dynamic
  BlockTraffic l2;                    ///< what passes the L1
  std::vector<Footprint> footprints;  ///< of each array
};

/// Bytes that a block has of the L1, given the shared memory that it takes and its threads.
using L1Size = std::function<std::size_t(std::size_t smem_bytes, unsigned threads)>;

/// What the counters of all OS threads share.
struct CountingContext {
  std::vector<GlobalArray> arrays;
  L1Size l1_bytes;
  AccessSites sites;

  static constexpr std::size_t OUTSIDE = ~std::size_t{0};
  /// Index of the array that the address lies in, or OUTSIDE.
  std::size_t array_of(std::uint64_t address) const;
  static std::size_t bytes_of(const GlobalArray& array) {
    return array.rows == 0 ? 0 : (array.rows - 1) * array.stride + array.row_bytes;
  }
};

/// How often code ran, by its distance from the program's begin. Kept short: calls come at every branch.
struct CodeRuns {
  std::uintptr_t begin = 0;
  std::size_t size = 0;  ///< 0 while nobody counts on this OS thread
  std::uint64_t* runs = nullptr;
  std::vector<const void*>* seen = nullptr;

  /// The code at `code` begins to run, up to the next such call.
  void add(const void* code) const {
    const std::size_t offset = reinterpret_cast<std::uintptr_t>(code) - begin;
    if (offset < size && runs[offset]++ == 0) {
      seen->push_back(code);
    }
  }
};
inline constinit thread_local CodeRuns code_runs;

/// Belongs to the OS thread that makes it.
class BlockCounter {
 public:
  explicit BlockCounter(CountingContext& context);
  ~BlockCounter();
  BlockCounter(const BlockCounter&) = delete;
  BlockCounter& operator=(const BlockCounter&) = delete;

  void begin(std::size_t threads, std::size_t dynamic_smem);
  void access(ThreadNumber thread, const Access& access, const void* code) {
    const std::size_t word = (reinterpret_cast<std::uintptr_t>(access.address) - shared_begin_) / sizeof(float);
    if (word < shared_words_.size() && shared_words_[word] == 0) {
      return;  // threadIdx and the like
    }
    log(thread, context_.sites.of_code(code, access.bytes, access.write), access.address);
  }
  void copy(ThreadNumber thread, const std::byte* to, const void* source, unsigned bytes,
            const std::source_location& place) {
    const AccessSites::Number site = site_of_copy(place, bytes, false);
    log(thread, site, to);
    log(thread, static_cast<AccessSites::Number>(site + 1), source);
  }
  void bulk_copy(ThreadNumber thread, const std::byte* to, const void* source, unsigned bytes,
                 const std::source_location& place) {
    use_variable(reinterpret_cast<std::uintptr_t>(to));
    log(thread, site_of_copy(place, bytes, true), source);
  }
  /// The thread has reached a barrier; `of_block` for those that are counted.
  void arrive(ThreadNumber thread, bool of_block);
  /// The thread waits for the end of a phase of the mbarrier at the shared address, or goes on as it has ended.
  void wait(ThreadNumber thread, unsigned address, std::uint64_t phase);
  /// An mbarrier lies there.
  void use_mbarrier(const std::byte* at) { use_variable(reinterpret_cast<std::uintptr_t>(at)); }
  /// All threads of the block have reached a barrier, or some of them ended the phase of an mbarrier: what warps ask
  /// of the L2 later comes later.
  void meet();
  void end(ThreadNumber thread);
  /// What the block did, all its threads having ended.
  BlockCounts take();

 private:
  /// A site's number above an address, or NONE above what tells waits apart.
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
    std::uint32_t lanes = 0;  ///< that the block has
    std::uint32_t arrived = 0;
    std::uint32_t ended = 0;
    std::uint32_t waited = 0;               ///< lanes with the mark of a wait in their logs
    bool at_barrier = false;                ///< one of the block
    std::vector<Piece> pieces;              ///< since the threads of the block met
    std::vector<std::uint32_t> piece_ends;  ///< of each request
  };

  /// What a request costs, remembered for the next with the same distances between lanes.
  struct Pattern {
    std::uint32_t active = 0;
    std::uint32_t sectors = 0;
    std::uint64_t hash = 0;                      ///< of copies: of the distances and where the first begins
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

  struct KnownCopy {
    const char* file;
    std::uint_least32_t line;
    std::uint_least32_t column;
    unsigned bytes;
    AccessSites::Number site;
  };
  /// Copies of so many bytes do not pass through the L1 (cp.async.cg), smaller ones do (.ca).
  static constexpr unsigned COPY_PAST_L1 = 16;

  void log(ThreadNumber thread, AccessSites::Number site, const void* address) {
    if (site == AccessSites::NONE) {
      return;
    }
    log_of(thread).push_back(Entry{site} << ADDRESS_BITS | (reinterpret_cast<std::uintptr_t>(address) & ADDRESS));
  }
  /// To add to.
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
  AccessSites::Number site_of_copy(const std::source_location& place, unsigned bytes, bool bulk);
  SiteState& state(AccessSites::Number number);
  void merge_when_complete(Warp& warp);
  /// Merges up to each mark of a wait that all lanes have.
  void merge_up_to_waits(Warp& warp);
  /// Takes the marks that are left out of the logs: not all lanes have waited there.
  void drop_waits(Warp& warp);
  /// Puts the logs of the warp's lanes together.
  void merge(Warp& warp);
  void merge_by_occurrence(Warp& warp, std::span<const std::vector<Entry>> logs, std::size_t from);
  void request(Warp& warp, AccessSites::Number number, std::uint32_t active, const Addresses& addresses);
  void global_request(Warp& warp, SiteState& site, AccessKind kind, std::uint32_t active, const Addresses& addresses);
  /// Each lane's copy is a request of its own.
  void bulk_requests(Warp& warp, SiteState& site, std::uint32_t active, const Addresses& addresses);
  /// Of copies from these addresses to copies_to_.
  Wavefronts wavefronts_of_copies(SiteState& site, std::uint32_t active, const Addresses& addresses);
  /// Index of the shared variable at the address, and its begin.
  std::pair<std::uint16_t, std::uint64_t> use_variable(std::uint64_t address);
  void use_words(std::size_t array, unsigned bytes, std::uint32_t active, const Addresses& addresses,
                 std::uint64_t begin);
  SiteTraffic& traffic_of(SiteState& site, AccessKind kind, Memory memory, std::uint32_t active,
                          const Addresses& addresses, std::uint64_t begin);
  /// `begin` is where the array or variable lies.
  const Pattern& pattern_of(SiteState& site, std::uint32_t active, const Addresses& addresses, std::uint64_t begin,
                            bool shared);
  BlockTraffic through_l1(std::size_t l1_bytes) const;
  Footprint footprint(std::size_t array);

  CountingContext& context_;
  const SharedVariables& variables_;
  const Program program_;
  const std::uint64_t shared_begin_;        ///< this OS thread's thread-local variables
  std::vector<std::uint8_t> shared_words_;  ///< whether each word of them is shared memory
  std::size_t threads_ = 0;
  std::size_t dynamic_smem_ = 0;
  std::vector<std::vector<Entry>> logs_;   ///< of each thread
  std::vector<std::vector<Entry>> spare_;  ///< logs without an owner
  std::vector<Warp> warps_;
  std::vector<std::unique_ptr<SiteState>> sites_;
  std::vector<AccessSites::Number> sites_used_;
  std::vector<KnownCopy> copies_;
  std::vector<std::uint16_t> variables_used_;
  std::vector<Piece> pieces_;
  ZeroedTable<std::uint64_t> runs_;  ///< of the code behind every address
  std::vector<const void*> code_seen_;
  std::vector<Used> used_;  ///< of each array
  std::uint64_t barriers_ = 0;
  std::uint64_t accesses_ = 0;
  // While logs are merged:
  std::vector<Merged> merged_;
  std::vector<SiteState*> merging_;
  std::array<std::vector<Entry>, WARP> later_;  ///< of each lane, what follows its wait
  WarpAccess copies_to_;                        ///< the copies whose sources come next
  std::uint64_t copies_to_hash_ = 0;
  std::map<std::pair<std::uint64_t, std::uint64_t>, Wavefronts> copy_wavefronts_;  ///< by hashes of both sides
  SiteTraffic* last_ = nullptr;                                                    ///< where the last request was added
};

/// The first address that a block reads in each array that is only read, in bytes from its begin.
class FirstReads {
 public:
  explicit FirstReads(const CountingContext& context) : context_(context) {}

  /// `wanted` has a bit for each array that is to be found.
  void begin(std::uint32_t wanted);
  /// Returns whether all have been found.
  bool read(const void* address);
  const std::array<std::int64_t, MAX_ARRAYS>& found() const { return found_; }
  bool complete() const { return missing_ == 0; }

  static constexpr std::int64_t NOT_READ = -1;

 private:
  const CountingContext& context_;
  std::uint32_t missing_ = 0;
  std::array<std::int64_t, MAX_ARRAYS> found_{};
};

}  // namespace simt
