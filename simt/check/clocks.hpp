#pragma once

#include "core/watcher.hpp"
#include "simt/executor.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace simt {

/// The moment of a use: the number of a clock and its time. Time 0 stands for never.
struct Use {
  ThreadNumber thread = 0;
  std::uint32_t when = 0;
};

/// Which of a block's threads have waited for which others. Each thread counts the barriers that it has passed. It
/// knows for each other thread the count up to which that thread's accesses came before its own next ones.
///
/// Asynchronous copies have clocks of their own, as if other threads made them: even the thread that started a copy may
/// read its bytes only after a wait. copies_of() is the number of the clock of a thread's copies. Bulk copies that
/// arrive at an mbarrier have a clock that counts its phases (add()). The reads of a warp's products under way have a
/// clock that counts their groups (products_of()).
class Clocks {
 public:
  using Clock = std::vector<std::uint32_t>;

  void begin(std::size_t threads);
  /// `threads` have met at a barrier: all that each did so far comes before all that any does from now on.
  void join(Threads threads);
  /// Adds everything that `thread` did or knows of so far to the clock that a barrier passes on.
  void release(ThreadNumber thread, Clock& passed_on) { release_as(thread, thread, passed_on); }
  /// Adds the thread's copies alone.
  void release_copies(ThreadNumber thread, Clock& passed_on) { release_as(copies_of(thread), thread, passed_on); }
  /// All that was passed on comes before whatever any of `threads` does from now on.
  void acquire(Threads threads, const Clock& passed_on);
  /// The thread's own copies come before all that it does from now on.
  void acquire_copies(ThreadNumber thread) { learn(thread, {copies_of(thread), own_[copies_of(thread)] - 1}); }
  ThreadNumber copies_of(ThreadNumber thread) const { return static_cast<ThreadNumber>(known_.size() + thread); }
  ThreadNumber products_of(ThreadNumber thread) const {
    return static_cast<ThreadNumber>(2 * known_.size() + thread / WARP);
  }
  bool is_of_products(ThreadNumber number) const { return number >= 2 * known_.size() && number < added_; }
  /// Adds a clock and returns its number. pass_on() gets its times.
  ThreadNumber add();
  bool is_added(ThreadNumber number) const { return number >= added_; }
  /// The use `done` comes before everything that follows a barrier.
  void pass_on(const Use& done, Clock& passed_on) const;
  /// The use `done` comes before everything that the thread does from now on.
  void learn(ThreadNumber thread, const Use& done);
  /// Up to which time of `number` the thread knows.
  std::uint32_t known(ThreadNumber thread, ThreadNumber number) const { return (*known_[thread])[number]; }
  /// The thread to which a number belongs: its own number or that of its copies.
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
