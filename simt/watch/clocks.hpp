#pragma once

#include "block/thread_list.hpp"
#include "simt/executor.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace simt {

/// When something was done: by the number of a clock and its time; 0 for never.
struct Use {
  ThreadNumber thread = 0;
  std::uint32_t when = 0;
};

/// Which of a block's threads have waited for which others. Each counts the barriers it has passed, and knows up to
/// which count each other thread's accesses came before its own next ones.
///
/// Memory that asynchronous copies write which arrive at an mbarrier is known to those alone who wait there, be it the
/// thread that started them. They have a clock of their own for it, as if another thread did them: copies_of() its
/// number. So have the bulk copies that arrive at an mbarrier, which counts its phases (add()), and what products of a
/// warp read while they are under way, which counts their groups (products_of()).
class Clocks {
 public:
  using Clock = std::vector<std::uint32_t>;

  void begin(std::size_t threads);
  /// `threads` have met at a barrier: all that each did so far comes before all that any does from now on.
  void join(std::span<const ThreadNumber> threads);
  /// Adds what `thread` did so far, and what it knows to have come before, to what a barrier passes on.
  void release(ThreadNumber thread, Clock& passed_on) { release_as(thread, thread, passed_on); }
  /// Adds its copies, without what else it did.
  void release_copies(ThreadNumber thread, Clock& passed_on) { release_as(copies_of(thread), thread, passed_on); }
  /// All that was passed on comes before whatever any of `threads` does from now on.
  void acquire(std::span<const ThreadNumber> threads, const Clock& passed_on);
  /// The thread's own copies come before all that it does from now on.
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
  /// The thread that a number belongs to, be it that of its copies.
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

}  // namespace simt
