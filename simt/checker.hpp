#pragma once

// Watches what threads do with memory, for kernels that were compiled with the compiler's instrumentation.
//
// The compiler's thread sanitizer puts a call before every access; the calls land in access_callbacks.cpp instead of
// its own runtime. Every access of a kernel then goes through BlockChecker::access, which is also the place for
// whatever else wants to see them all.

#include "checked_arrays.hpp"
#include "executor.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace simt {

/// Thread numbers in their block.
using ThreadNumber = std::uint16_t;

/// When something was done: by the number of a clock and its time; 0 for never.
struct Use {
  ThreadNumber thread = 0;
  std::uint32_t when = 0;
};

/// Which of a block's threads have waited for which others. Each counts the barriers it has passed, and knows up to
/// which count each other thread's accesses came before its own next ones.
///
/// What asynchronous copies write that arrive at an mbarrier is known to those alone who wait there, be it the thread
/// that started them. They have a clock of their own for it, as if another thread did them: copies_of() its number.
/// So have the bulk copies that arrive at an mbarrier, which counts its phases (add()), and what products of a warp
/// read while they are under way, which counts their groups (products_of()).
class Clocks {
 public:
  using Clock = std::vector<std::uint32_t>;

  void begin(std::size_t threads);
  /// `threads` have met at a barrier: all that each did so far comes before all that any does from now on.
  void join(std::span<const ThreadNumber> threads);
  /// Adds what `thread` did so far, and what it knows to have come before, to what a barrier passes on.
  void release(ThreadNumber thread, Clock& passed_on) { release_as(thread, thread, passed_on); }
  /// The same for the thread's copies, without what else it did.
  void release_copies(ThreadNumber thread, Clock& passed_on) { release_as(copies_of(thread), thread, passed_on); }
  /// What was passed on comes before all that any of `threads` does from now on.
  void acquire(std::span<const ThreadNumber> threads, const Clock& passed_on);
  /// The same for the thread's own copies.
  void acquire_copies(ThreadNumber thread);
  ThreadNumber copies_of(ThreadNumber thread) const { return static_cast<ThreadNumber>(known_.size() + thread); }
  ThreadNumber products_of(ThreadNumber thread) const {
    return static_cast<ThreadNumber>(2 * known_.size() + thread / WARP);
  }
  bool is_of_products(ThreadNumber number) const { return number >= 2 * known_.size() && number < added_; }
  /// One more clock, whose times are told to pass_on().
  ThreadNumber add();
  bool is_added(ThreadNumber number) const { return number >= added_; }
  /// That it was done comes before what follows a barrier.
  void pass_on(const Use& done, Clock& passed_on) const;
  /// That it was done comes before all that the thread does from now on.
  void learn(ThreadNumber thread, const Use& done);
  /// Of a number, be it that of copies.
  ThreadNumber thread_of(ThreadNumber number) const { return static_cast<ThreadNumber>(number % known_.size()); }
  std::uint32_t now(ThreadNumber thread) const { return own_[thread]; }
  bool comes_before(ThreadNumber earlier, std::uint32_t when, ThreadNumber thread) const {
    return earlier == thread || (*known_[thread])[earlier] >= when;
  }

 private:
  void release_as(ThreadNumber number, ThreadNumber thread, Clock& passed_on);

  std::vector<std::uint32_t> own_;                   ///< of threads, their copies, warps' products; and added ones
  std::size_t added_ = 0;                            ///< the first of these
  std::vector<std::shared_ptr<const Clock>> known_;  ///< of threads
};

/// What SharedVariables calls the block's dynamic shared memory.
constexpr std::string_view DYNAMIC_SHARED_MEMORY = "dynamic shared memory";

/// The thread-local variables of the program, of which `__shared__` ones are those within functions. The table has the
/// layout of every OS thread's copy.
class SharedVariables {
 public:
  struct Variable {
    std::string name;
    std::size_t offset = 0;
    std::size_t bytes = 0;
    bool shared = false;
  };

  /// Throws std::runtime_error where the program has no symbols.
  static const SharedVariables& of_program();
  std::size_t bytes() const { return words_.size() * sizeof(float); }
  const std::vector<Variable>& all() const { return variables_; }
  /// The variable that the word at `offset` belongs to, or null.
  const Variable* at(std::size_t offset) const;

 private:
  SharedVariables();

  std::vector<Variable> variables_;
  std::vector<std::uint16_t> words_;  ///< of every 4 bytes, 1 + an index in variables_, or 0
};

/// One access of a thread, about to happen.
struct Access {
  const std::byte* address = nullptr;
  unsigned bytes = 0;
  bool write = false;
  bool aligned = true;  ///< whether CUDA asks for an address that is a multiple of `bytes`
};

/// Checks the accesses of one block after the other, all on one OS thread.
class BlockChecker {
 public:
  BlockChecker();

  void begin(const Launch& launch, std::size_t threads, std::uint64_t block);
  void join(std::span<const ThreadNumber> threads) { clocks_.join(threads); }
  Clocks& clocks() { return clocks_; }

  /// What is wrong with the access, or nothing.
  std::optional<std::string> access(ThreadNumber thread, const Access& access);
  /// An asynchronous copy starts, or has arrived; `source` is null for zeros. Those that arrive at an mbarrier are yet
  /// to be released.
  std::optional<std::string> copy_starts(ThreadNumber thread, const std::byte* to, const void* source, unsigned bytes);
  std::optional<std::string> copy_arrives(ThreadNumber thread, const std::byte* to, unsigned bytes, bool at_mbarrier);
  /// The same for a bulk copy, which is all done at once; `copy` tells who may read it.
  std::optional<std::string> bulk_copy(ThreadNumber thread, const std::byte* to, const void* source, unsigned bytes,
                                       const Use& copy);
  /// A product reads on until it has been waited for: that is `read`.
  std::optional<std::string> product_reads(ThreadNumber thread, const Access& access, const Use& read) {
    return access_shared(thread, access, By::code, read);
  }
  /// The mbarrier there is initialised or used.
  std::optional<std::string> mbarrier(ThreadNumber thread, const std::byte* at, bool init);

 private:
  /// What is remembered of 4 bytes of shared memory.
  struct Word {
    std::uint64_t block = 0;
    Use written;
    Use first_read;  ///< since it was written
    Use last_read;
    bool copying = false;
    bool mbarrier = false;
  };
  enum class By : std::uint8_t { code, copy, mbarrier };

  std::optional<std::string> access_shared(ThreadNumber thread, const Access& access, By by) {
    return access_shared(thread, access, by, {thread, clocks_.now(thread)});
  }
  /// `use` is what is remembered of it.
  std::optional<std::string> access_shared(ThreadNumber thread, const Access& access, By by, const Use& use);
  std::optional<std::string> access_global(ThreadNumber thread, const Access& access);
  std::string thread_text(ThreadNumber thread) const;  ///< "thread (3,2,0)"
  /// "thread (3,2,0) wrote, and no barrier lies in between".
  std::string unordered_text(const Use& earlier, bool write) const;
  std::string block_text(std::uint64_t block) const;  ///< "block (1,0,0)"
  bool unordered(const Use& earlier, ThreadNumber thread) const {
    return earlier.when != 0 && !clocks_.comes_before(earlier.thread, earlier.when, thread);
  }

  const SharedVariables& variables_;
  const std::byte* shared_;  ///< this OS thread's thread-local variables
  std::size_t dynamic_bytes_ = 0;
  Index3 grid_extents_;
  Index3 block_extents_;
  std::uint64_t block_ = 0;       ///< of this launch
  std::uint64_t generation_ = 0;  ///< counts blocks of all launches
  Clocks clocks_;
  std::vector<Word> words_;
};

}  // namespace simt
