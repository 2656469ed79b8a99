#pragma once

#include "core/stacks.hpp"
#include "core/watcher.hpp"
#include "simt/executor.hpp"
#include "simt/thread.hpp"

#include <cuda_runtime.h>
#include <boost/context/fiber.hpp>

#include <array>
#include <cstddef>
#include <exception>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace simt {

/// A thing that threads wait at, for the message about threads that wait for ever. A number tells its instances apart,
/// for example the number of a barrier.
class WaitingPlace {
 public:
  /// "barrier 1, which 64 of 128 threads reach"
  virtual std::string describe(unsigned instance) const = 0;
  /// Whether a thread that waits there needs `other` to come as well.
  virtual bool needs(ThreadNumber /*waiting*/, ThreadNumber /*other*/) const { return true; }

 protected:
  ~WaitingPlace() = default;
};

/// Decides which thread of a block runs. Each thread has a fiber, which is kept for the blocks to come; all run on one
/// OS thread.
///
/// A fiber that has to wait hands over directly to the next one that is ready, in the order in which they became so.
class Scheduler {
 public:
  /// `thread` is the work of each thread of every block.
  explicit Scheduler(std::function<void()> thread);
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  /// Sets the number of threads, along each axis, of the blocks to come.
  void set_extents(const Index3& extents);
  unsigned threads() const { return threads_; }
  const Index3& position(ThreadNumber thread) const { return positions_[thread]; }

  /// Runs the threads of a block until all have finished, one has failed, or all that are left wait for ever.
  void run();
  bool all_finished() const { return finished_ == threads(); }
  /// The error that a thread threw or was stopped with, once; null where there is none.
  std::exception_ptr take_error() { return std::exchange(error_, nullptr); }
  /// The first of the threads that wait for ever. There has to be one.
  ThreadNumber first_stuck() const;
  /// "file:line in function: waits for ever at barrier 1, which ...; thread (3,0,0) has finished"
  std::string describe_stuck() const;
  /// Unwinds the threads that are under way.
  void abandon();

  // For the thread whose turn it is:
  ThreadNumber current() const { return current_; }
  /// Returns when another thread has made this one ready. Who does so has been told of it before.
  void wait_at(const WaitingPlace& place, unsigned instance, Site site) {
    Thread& thread = state_[current_];
    thread.place = &place;
    thread.instance = instance;
    thread.site = site;
    wait();
  }
  /// Lets the others run first. For good where an error is held: what the thread looks for may never come.
  void give_way() {
    if (error_ == nullptr) {
      make_ready(current_);
    }
    wait();
  }
  /// The same at a place where nothing may be thrown.
  void give_way_quietly() {
    const ThreadNumber thread = current_;
    state_[thread].frozen = true;
    if (error_ == nullptr) {
      make_ready(thread);
    }
    hand_over(take_ready());
    state_[thread].frozen = false;
  }
  /// Ends the block at a place where nothing may be thrown. Never returns.
  void freeze(std::exception_ptr error);
  /// The same when the others have run until they wait or end, unless one of them ends the block with an error of its
  /// own. The first error that is held counts.
  void hold(std::exception_ptr error);

  void make_ready(ThreadNumber thread) { ready_[(first_ready_ + ready_count_++) % ready_.size()] = thread; }
  void make_ready(Threads threads) {
    for (const ThreadNumber thread : threads) {
      make_ready(thread);
    }
  }
  /// How many other threads wait for their turn.
  unsigned ready() const { return ready_count_; }
  const void* top_of_stack() const { return stacks_[current_].sp; }
  bool on_stack(const void* address) const { return stacks_.contain(address); }

 private:
  using Fiber = boost::context::fiber;
  static constexpr ThreadNumber MAIN = MAX_THREADS_PER_BLOCK;  ///< the OS thread's own fiber

  struct Thread {
    const WaitingPlace* place = nullptr;  ///< where it waits
    unsigned instance = 0;
    bool started = false;
    bool finished = false;
    bool frozen = false;  ///< stopped where it can not be unwound
    Site site;            ///< of its wait; not beside `place`, where GCC would first put both together on the stack
  };

  void make_fiber(ThreadNumber number);
  /// Each fiber runs its thread of one block after the other, until quitting_.
  void live();
  /// The first thread that is ready, or MAIN where none is.
  ThreadNumber take_ready() {
    if (ready_count_ == 0) {
      return MAIN;
    }
    --ready_count_;
    return ready_[first_ready_++ % ready_.size()];
  }
  /// Hands over to the next ready thread until this one is ready again.
  void wait() {
    hand_over(take_ready());
    if (abandoning_) {
      throw_abandoned();
    }
  }
  [[noreturn]] static void throw_abandoned();
  /// A thread hands over to another one, or to MAIN, and goes on when its turn comes.
  void hand_over(ThreadNumber number);
  /// MAIN hands over to a thread.
  void enter(ThreadNumber number);
  /// Returns the fiber that hands over to this one again.
  Fiber resume(ThreadNumber number);
  // AddressSanitizer wants to know of every change of stacks.
#ifdef __SANITIZE_ADDRESS__
  void* depart(ThreadNumber number) const;
  void arrive(void* frames);
#else
  static void* depart(ThreadNumber) { return nullptr; }
  static void arrive(void*) {}
#endif

  std::function<void()> thread_;
  ThreadNumber threads_ = 0;  ///< in a block
  unsigned finished_ = 0;
  std::exception_ptr error_;
  bool abandoning_ = false;
  bool quitting_ = false;
  ThreadNumber current_ = MAIN;
  ThreadNumber previous_ = MAIN;                             ///< the fiber that handed over to this one
  std::array<ThreadNumber, MAX_THREADS_PER_BLOCK> ready_{};  ///< a ring, each thread once at most
  unsigned first_ready_ = 0;
  unsigned ready_count_ = 0;
  std::vector<Index3> positions_;
  std::array<Thread, MAX_THREADS_PER_BLOCK> state_;
  Stacks stacks_;
  std::array<Fiber, MAX_THREADS_PER_BLOCK + 1> fibers_;
#ifdef __SANITIZE_ADDRESS__
  const void* main_stack_ = nullptr;  ///< of the OS thread: its lowest address and size
  std::size_t main_stack_size_ = 0;
#endif
};

// This stands here and not in scheduler.cpp so that callers inline it. Every fiber touches the stack memory of a change
// of fibers, and one more frame made barriers a third slower.
inline Scheduler::Fiber Scheduler::resume(ThreadNumber number) {
  previous_ = current_;
  current_ = number;
  if (number != MAIN && !quitting_) {
    const Index3& position = positions_[number];
    threadIdx = {position.x, position.y, position.z};
  }
  void* const frames = depart(number);
  Fiber from = std::move(fibers_[number]).resume();
  arrive(frames);
  return from;
}

inline void Scheduler::hand_over(ThreadNumber number) {
  if (number != current_) {
    Fiber from = resume(number);
    fibers_[previous_] = std::move(from);
  }
}

std::string to_string(const Index3& index);       ///< "(3,2,0)"
std::string extents_text(const Index3& extents);  ///< "3 x 2 x 1"
std::string to_string(Site site);                 ///< "file:line in function"

}  // namespace simt
