#pragma once

#include "check/clocks.hpp"
#include "core/shared_variables.hpp"
#include "core/watcher.hpp"
#include "core/zeroed_table.hpp"
#include "simt/checked_arrays.hpp"
#include "simt/executor.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace simt {

/// Checks that accesses stay within their arrays. It also checks that each access comes after the writes of other
/// threads, and each write after their reads. CheckedArrays describes the global memory.
class BlockChecker final : public Watcher {
 public:
  BlockChecker();

  void begin(const Launch& launch, std::uint64_t block) override;
  Complaint access(ThreadNumber thread, const Access& access, const void* code) override;
  /// An element that nobody has written may be one that another thread is about to write: then a barrier is missing.
  bool knows_all() const override { return !unwritten_; }

  void meet(const Threads& threads) override;
  void arrive_without_waiting(ThreadNumber thread, unsigned barrier, std::uint64_t phase) override;
  void complete(unsigned barrier, const Threads& waiting, bool others) override;

  Complaint mbarrier_init(ThreadNumber thread, unsigned address) override;
  Complaint mbarrier_use(ThreadNumber thread, unsigned address) override;
  void mbarrier_arrive(ThreadNumber thread, unsigned address, bool copies) override;
  void mbarrier_complete(unsigned address, const Threads& waiting) override;
  void mbarrier_wait(ThreadNumber thread, const Phase& phase, bool ended) override;

  Complaint copy_starts(ThreadNumber thread, const Copy& copy, Site site) override;
  Complaint copy_arrives(ThreadNumber thread, const Copy& copy, bool at_mbarrier) override;
  void copies_awaited(ThreadNumber thread) override { clocks_.acquire_copies(thread); }
  Complaint bulk_copy(ThreadNumber thread, const Copy& copy, const Phase& phase, Site site) override;

  Complaint product_reads(ThreadNumber thread, const std::byte* at, std::uint32_t group) override;
  void products_awaited(ThreadNumber thread, std::uint32_t group) override {
    clocks_.learn(thread, {clocks_.products_of(thread), group});
  }

 private:
  static constexpr std::size_t BARRIERS = 16;

  /// The latest uses of a word of 4 bytes of shared memory.
  struct Word {
    std::uint64_t block = 0;
    Use written;
    Use first_read;  ///< since it was written
    Use last_read;
    // The code behind these; null where a copy or a product did it.
    const void* written_by = nullptr;
    const void* first_read_by = nullptr;
    const void* last_read_by = nullptr;
    bool atomically = false;  ///< written by an atomic operation
    Use written_plainly;      ///< the last write by any other means
    const void* written_plainly_by = nullptr;
    bool copying = false;
    bool mbarrier = false;
    bool in_bytes = false;  ///< its bytes have been accessed one by one, and each has a Word of its own
  };
  enum class By : std::uint8_t { code, copy, mbarrier };

  struct MbarrierClocks {
    ThreadNumber copies = 0;  ///< the number of the bulk copies that arrive there
    // `arrived` holds what arrivals up to the current phase pass on, the other clock what arrivals up to the phase
    // before pass on. A later phase passes on what earlier ones did, because its arrivals have seen theirs.
    Clocks::Clock arrived;
    Clocks::Clock ended;
  };

  Complaint access_shared(ThreadNumber thread, const Access& access, By by, const void* code = nullptr) {
    return access_shared(thread, access, by, {thread, clocks_.now(thread)}, code);
  }
  /// `use` is what is remembered of it, and the code.
  Complaint access_shared(ThreadNumber thread, const Access& access, By by, const Use& use, const void* code = nullptr);
  /// The part of it that concerns one word, or one byte of one that is accessed in bytes.
  Complaint use_word(Word& word, ThreadNumber thread, const Access& access, By by, const Use& use, const void* code);
  Complaint access_global(ThreadNumber thread, const Access& access, const void* code = nullptr);
  Complaint use_mbarrier(ThreadNumber thread, unsigned address, bool init);
  Word& word_at(const std::byte* address);
  std::string thread_text(ThreadNumber thread) const;  ///< "thread (3,2,0)"
  /// "thread (3,2,0) wrote, and no barrier lies in between".
  std::string unordered_text(const Use& earlier, const void* code, bool write) const;
  /// "reads 4 bytes at element [3][5] of shared values"
  std::string describe_shared(const Access& access) const;
  /// Of an access that missed all shared memory: "reads 4 bytes at element [64] of shared values, outside of shared
  /// memory, 4 bytes beyond the end of shared values".
  std::string outside_text(const Access& access) const;
  std::string block_text(std::uint64_t block) const;  ///< "block (1,0,0)"
  bool unordered(const Use& earlier, ThreadNumber thread) const {
    return earlier.when != 0 && !clocks_.comes_before(earlier.thread, earlier.when, thread);
  }

  const SharedVariables& variables_;
  const std::byte* shared_;          ///< this OS thread's thread-local variables
  const std::size_t dynamic_begin_;  ///< of dynamic shared memory, behind `shared_`
  std::size_t dynamic_bytes_ = 0;
  Index3 grid_extents_;
  Index3 block_extents_;
  std::uint64_t block_ = 0;       ///< of this launch
  std::uint64_t generation_ = 0;  ///< counts blocks of all launches
  bool unwritten_ = false;        ///< nobody has written what the last access reads
  Clocks clocks_;
  std::array<Clocks::Clock, BARRIERS> passed_on_;  ///< by those who arrive at a barrier and do not wait
  std::map<unsigned, MbarrierClocks> mbarriers_;   ///< by their address
  std::vector<ThreadNumber> meeting_;
  std::vector<Word> words_;
  ZeroedTable<Word> bytes_;  ///< four for each word
};

}  // namespace simt
