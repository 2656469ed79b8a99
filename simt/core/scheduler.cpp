#include "core/scheduler.hpp"

#include <memory>
#include <sstream>
#include <utility>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif

namespace simt {
namespace {

/// Thrown through a thread's frames to end it.
struct Abandoned {};

/// Boost.Context needs an allocator that takes stacks back. The scheduler keeps the stacks.
struct KeepStack {
  static boost::context::stack_context allocate() { return {}; }
  static void deallocate(boost::context::stack_context&) {}
};

}  // namespace

std::string to_string(const Index3& index) {
  std::ostringstream text;
  text << '(' << index.x << ',' << index.y << ',' << index.z << ')';
  return text.str();
}

std::string extents_text(const Index3& by) {
  return std::to_string(by.x) + " x " + std::to_string(by.y) + " x " + std::to_string(by.z);
}

std::string to_string(Site site) {
  std::ostringstream text;
  text << site.file_name() << ':' << site.line() << " in " << site.function_name();
  return text.str();
}

Scheduler::Scheduler(std::function<void()> thread) : thread_(std::move(thread)), stacks_(MAX_THREADS_PER_BLOCK) {}

Scheduler::~Scheduler() {
  quitting_ = true;
  for (ThreadNumber number = 0; number < MAIN && fibers_[number]; ++number) {
    enter(number);
  }
}

void Scheduler::make_fiber(ThreadNumber number) {
  const boost::context::stack_context stack = stacks_[number];
  fibers_[number] = Fiber(std::allocator_arg, boost::context::preallocated(stack.sp, stack.size, stack), KeepStack{},
                          [this](Fiber&& from) {
                            arrive(nullptr);
                            fibers_[previous_] = std::move(from);
                            live();
                            depart(MAIN);
                            return std::move(fibers_[MAIN]);
                          });
}

void Scheduler::enter(ThreadNumber number) {
  Fiber from = resume(number);
  if (quitting_) {
    current_ = MAIN;  // the fiber is gone
  } else {
    fibers_[previous_] = std::move(from);
  }
}

void Scheduler::set_extents(const Index3& extents) {
  positions_.clear();
  for (Index3 at; at.z < extents.z; ++at.z) {
    for (at.y = 0; at.y < extents.y; ++at.y) {
      for (at.x = 0; at.x < extents.x; ++at.x) {
        positions_.push_back(at);
      }
    }
  }
  threads_ = static_cast<ThreadNumber>(positions_.size());
  for (ThreadNumber number = 0; number < threads_; ++number) {
    if (!fibers_[number]) {
      stacks_.guard(number);
      make_fiber(number);
    }
  }
}

void Scheduler::run() {
  finished_ = 0;
  for (ThreadNumber number = 0; number < threads_; ++number) {
    Thread& thread = state_[number];
    thread.started = false;
    thread.finished = false;
    make_ready(number);
  }
  enter(take_ready());
}

void Scheduler::live() {
  while (!quitting_) {
    Thread& thread = state_[current_];
    thread.started = true;
    bool failed = false;
    try {
      thread_();
    } catch (const Abandoned&) {
      failed = true;
    } catch (...) {
      error_ = std::current_exception();
      failed = true;
    }
    // Fibers change places outside of the handlers, because the exception being handled belongs to the OS thread.
    thread.finished = true;
    finished_ += failed ? 0 : 1;
    hand_over(failed ? MAIN : take_ready());
  }
}

void Scheduler::abandon() {
  abandoning_ = true;
  for (ThreadNumber number = 0; number < threads_; ++number) {
    if (state_[number].frozen) {
      std::construct_at(&fibers_[number]);  // forgets the fiber, which a destructor would unwind
      make_fiber(number);
      state_[number].frozen = false;
    } else if (state_[number].started && !state_[number].finished) {
      enter(number);
    }
  }
  abandoning_ = false;
  ready_count_ = 0;
}

void Scheduler::freeze(std::exception_ptr error) {
  error_ = std::move(error);
  state_[current_].frozen = true;
  hand_over(MAIN);
}

void Scheduler::hold(std::exception_ptr error) {
  if (error_ == nullptr) {
    error_ = std::move(error);
  }
  state_[current_].frozen = true;
  hand_over(take_ready());
}

void Scheduler::throw_abandoned() { throw Abandoned{}; }

#ifdef __SANITIZE_ADDRESS__
void* Scheduler::depart(ThreadNumber number) const {
  void* frames = nullptr;
  if (number == MAIN) {
    __sanitizer_start_switch_fiber(quitting_ ? nullptr : &frames, main_stack_, main_stack_size_);
  } else {
    const boost::context::stack_context stack = stacks_[number];
    __sanitizer_start_switch_fiber(&frames, static_cast<std::byte*>(stack.sp) - stack.size, stack.size);
  }
  return frames;
}

void Scheduler::arrive(void* frames) {
  const void* bottom = nullptr;
  std::size_t size = 0;
  __sanitizer_finish_switch_fiber(frames, &bottom, &size);
  if (previous_ == MAIN) {
    main_stack_ = bottom;
    main_stack_size_ = size;
  }
}
#endif

ThreadNumber Scheduler::first_stuck() const {
  ThreadNumber number = 0;
  while (state_[number].finished) {
    ++number;
  }
  return number;
}

std::string Scheduler::describe_stuck() const {
  const ThreadNumber stuck = first_stuck();
  const Thread& waiting = state_[stuck];
  std::ostringstream text;
  text << to_string(waiting.site) << ": waits for ever at " << waiting.place->describe(waiting.instance);
  for (ThreadNumber number = 0; number < threads_; ++number) {
    const Thread& other = state_[number];
    const bool elsewhere = other.finished || other.place != waiting.place || other.instance != waiting.instance;
    if (elsewhere && waiting.place->needs(stuck, number)) {
      text << "; thread " << to_string(positions_[number])
           << (other.finished ? " has finished" : " waits at " + to_string(other.site));
      break;
    }
  }
  return text.str();
}

}  // namespace simt
