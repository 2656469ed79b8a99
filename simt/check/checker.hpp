#pragma once

#include "check/block_order.hpp"
#include "check/clocks.hpp"
#include "check/uses.hpp"
#include "core/shared_variables.hpp"
#include "core/watcher.hpp"
#include "simt/checked_arrays.hpp"
#include "simt/executor.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
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

  void meet(Threads threads) override;
  void arrive_without_waiting(ThreadNumber thread, unsigned barrier, std::uint64_t phase) override;
  void complete(unsigned barrier, Threads waiting, bool others) override;

  void fence(ThreadNumber thread, bool of_block) override;
  void release(ThreadNumber thread, const void* at) override;
  void acquire(ThreadNumber thread, const void* at) override;

  Complaint mbarrier_init(ThreadNumber thread, unsigned address) override;
  Complaint mbarrier_use(ThreadNumber thread, unsigned address) override;
  void mbarrier_arrive(ThreadNumber thread, unsigned address, bool copies) override;
  void mbarrier_complete(unsigned address, Threads waiting) override;
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

  enum class By : std::uint8_t { code, copy, mbarrier };

  struct MbarrierClocks {
    ThreadNumber copies = 0;  ///< the number of the bulk copies that arrive there
    // `arrived` holds what arrivals up to the current phase pass on, the other clock what arrivals up to the phase
    // before pass on. A later phase passes on what earlier ones did, because its arrivals have seen theirs.
    Clocks::Clock arrived;
    Clocks::Clock ended;
  };

  /// A strong access to the word of a flag: a write tells of what came before, and a read learns of it.
  void tell(ThreadNumber thread, const Access& access);
  Complaint access_shared(ThreadNumber thread, const Access& access, By by, const void* code = nullptr) {
    return access_shared(thread, access, by, {thread, clocks_.now(thread)}, code);
  }
  /// `use` is what is remembered of it, and the code.
  Complaint access_shared(ThreadNumber thread, const Access& access, By by, const Use& use, const void* code = nullptr);
  Complaint access_global(ThreadNumber thread, const Access& access, const void* code = nullptr);
  /// The part of an access that concerns one word, or one byte of one that is accessed in bytes. No array stands for
  /// shared memory.
  Complaint use_word(Word& word, ThreadNumber thread, const Access& access, By by, const UseOfBlock& use,
                     const GlobalArray* array);
  Complaint use_mbarrier(ThreadNumber thread, unsigned address, bool init);
  Word& word_at(const std::byte* address) {
    return uses_.word(static_cast<std::size_t>(address - shared_), generation_);
  }
  std::string thread_text(ThreadNumber thread) const;  ///< "thread (3,2,0)"
  /// "thread (3,2,0) wrote, and no barrier lies in between"; behind its block where that is told.
  std::string unordered_text(const UseOfBlock& earlier, bool write, bool with_block) const;
  /// "reads 4 bytes at element [3][5] of shared values"
  std::string describe_shared(const Access& access) const;
  /// Of an access that missed all shared memory: "reads 4 bytes at element [64] of shared values, outside of shared
  /// memory, 4 bytes beyond the end of shared values".
  std::string outside_text(const Access& access) const;
  bool unordered(const UseOfBlock& earlier, ThreadNumber thread) const;

  /// Learns what was told where the thread's last strong access was: it is over only when the thread's next one begins.
  void learn_pending(ThreadNumber thread) {
    if (const void* const at = std::exchange(pending_[thread], nullptr)) {
      acquire(thread, at);
    }
  }

  const SharedVariables& variables_;
  const std::byte* shared_;          ///< this OS thread's thread-local variables
  const std::size_t dynamic_begin_;  ///< of dynamic shared memory, behind `shared_`
  std::size_t dynamic_bytes_ = 0;
  Launch launch_{};
  std::uint32_t block_ = 0;       ///< of this launch
  std::uint64_t generation_ = 0;  ///< counts blocks of all launches
  bool unwritten_ = false;        ///< nobody has written what the last access reads
  Clocks clocks_;
  std::array<Clocks::Clock, BARRIERS> passed_on_;  ///< by those who arrive at a barrier and do not wait
  std::map<unsigned, MbarrierClocks> mbarriers_;   ///< by their address
  UsesOfWords uses_;
  BlockOrder* order_ = nullptr;
  std::map<std::uint32_t, ThreadNumber> clocks_of_blocks_;  ///< of others: what they told, by its number
  Clocks::Clock fenced_;
  Clocks::Clock fenced_in_block_;  ///< by fences of a block as well, which order what its own flags tell
  std::vector<const void*> pending_;
};

}  // namespace simt
