#pragma once

#include "simt/executor.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace simt {

/// Threads are numbered in their block, x running fastest.
using ThreadNumber = std::uint16_t;

/// Threads in the order of their arrival, linked through ThreadLinks.
struct ThreadList {
  ThreadNumber first = 0;
  ThreadNumber last = 0;
  unsigned size = 0;
};

/// The links of all lists of a block. A thread is in one list at a time, so that all threads of one list can be moved
/// to another at once.
class ThreadLinks {
 public:
  void append(ThreadList& list, ThreadNumber thread) {
    (list.size == 0 ? list.first : next_[list.last]) = thread;
    list.last = thread;
    ++list.size;
  }
  /// Leaves `other` empty.
  void append(ThreadList& list, ThreadList& other) {
    if (other.size == 0) {
      return;
    }
    (list.size == 0 ? list.first : next_[list.last]) = other.first;
    list.last = other.last;
    list.size += other.size;
    other.size = 0;
  }
  /// The list is not empty.
  ThreadNumber take_first(ThreadList& list) {
    const ThreadNumber first = list.first;
    list.first = next_[first];
    --list.size;
    return first;
  }
  ThreadNumber after(ThreadNumber thread) const { return next_[thread]; }

 private:
  std::array<ThreadNumber, MAX_THREADS_PER_BLOCK> next_;
};

/// The threads that an event concerns: a list and possibly one more thread. They are collected only if somebody asks
/// for them.
class Threads {
 public:
  Threads(const ThreadLinks& links, const ThreadList& list, std::optional<ThreadNumber> last = std::nullopt)
      : links_(links), list_(list), last_(last) {}

  unsigned size() const { return list_.size + (last_ ? 1 : 0); }
  void copy_to(std::vector<ThreadNumber>& threads) const {
    threads.clear();
    ThreadNumber thread = list_.first;
    for (unsigned i = 0; i < list_.size; ++i, thread = links_.after(thread)) {
      threads.push_back(thread);
    }
    if (last_) {
      threads.push_back(*last_);
    }
  }

 private:
  const ThreadLinks& links_;
  const ThreadList& list_;
  std::optional<ThreadNumber> last_;
};

}  // namespace simt
