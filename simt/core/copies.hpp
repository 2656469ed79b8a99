#pragma once

#include "core/block_context.hpp"
#include "core/mbarriers.hpp"
#include "core/watcher.hpp"

#include <cstddef>
#include <cstring>
#include <vector>

namespace simt {

/// The cp.async copies of one thread that are under way. Bytes arrive as late as CUDA allows: when the thread waits for
/// their group, and never if it does not wait.
class CopyQueue {
 public:
  void start(const Copy& copy) { copies_.push_back(copy); }
  void commit() { group_ends_.push_back(copies_.size()); }

  /// Lets all groups arrive except the `pending` youngest. Calls `arrives` for each copy.
  template <class Arrives>
  void wait(std::size_t pending, const Arrives& arrives) {
    if (group_ends_.size() - groups_arrived_ <= pending) {
      return;
    }
    const std::size_t groups = group_ends_.size() - pending;
    arrive(group_ends_[groups - 1], arrives);
    groups_arrived_ = groups;
    constexpr std::size_t ENOUGH_TO_MOVE = 256;
    if (arrived_ == copies_.size() && groups_arrived_ == group_ends_.size()) {
      clear();
    } else if (arrived_ >= ENOUGH_TO_MOVE) {
      copies_.erase(copies_.begin(), copies_.begin() + static_cast<std::ptrdiff_t>(arrived_));
      group_ends_.erase(group_ends_.begin(), group_ends_.begin() + static_cast<std::ptrdiff_t>(groups_arrived_));
      for (std::size_t& end : group_ends_) {
        end -= arrived_;
      }
      arrived_ = 0;
      groups_arrived_ = 0;
    }
  }

  /// Lets all copies so far arrive, also those without a group, and leaves the groups as they are.
  template <class Arrives>
  void arrive_all(const Arrives& arrives) {
    arrive(copies_.size(), arrives);
    copies_.clear();
    arrived_ = 0;
    group_ends_.assign(group_ends_.size() - groups_arrived_, 0);
    groups_arrived_ = 0;
  }

  /// Forgets everything, arrived or not.
  void clear() {
    copies_.clear();
    group_ends_.clear();
    arrived_ = 0;
    groups_arrived_ = 0;
  }

 private:
  template <class Arrives>
  void arrive(std::size_t end, const Arrives& arrives) {
    for (; arrived_ < end; ++arrived_) {
      const Copy& copy = copies_[arrived_];
      if (copy.source != nullptr) {
        std::memcpy(copy.destination, copy.source, copy.bytes);
      } else {
        std::memset(copy.destination, 0, copy.bytes);
      }
      arrives(copy);
    }
  }

  std::vector<Copy> copies_;
  std::vector<std::size_t> group_ends_;  ///< positions in copies_
  std::size_t arrived_ = 0;              ///< copies from the front
  std::size_t groups_arrived_ = 0;
};

/// Copies from global to shared memory: cp.async and cp.async.bulk.
class Copies {
 public:
  Copies(BlockContext& context, Mbarriers& mbarriers)
      : context_(context), mbarriers_(mbarriers), queues_(MAX_THREADS_PER_BLOCK) {}

  /// The current thread begins. Copies of the block before are forgotten.
  void begin_thread() { queue().clear(); }
  void start(const Copy& copy, Site site);
  void commit() { queue().commit(); }
  void wait(unsigned pending);
  /// Arrives at the mbarrier when all copies have arrived, which is at once here.
  void arrive_at_mbarrier(unsigned address, Site site);
  /// The same for a phase that does not count it as an arrival.
  void announce_at_mbarrier(unsigned address, Site site);
  /// Done when it is started.
  void bulk(const Copy& copy, unsigned destination, unsigned mbarrier, Site site);

 private:
  CopyQueue& queue() { return queues_[context_.current()]; }
  void check_arrival(const Copy& copy, bool at_mbarrier) const;

  BlockContext& context_;
  Mbarriers& mbarriers_;
  std::vector<CopyQueue> queues_;  ///< of each thread
};

}  // namespace simt
