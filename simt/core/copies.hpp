#pragma once

#include "core/block_context.hpp"
#include "core/mbarriers.hpp"
#include "core/tensor_maps.hpp"
#include "core/watcher.hpp"

#include <cstddef>
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

namespace simt {

/// The cp.async copies of one thread that are under way. Bytes arrive as late as CUDA allows: when the thread waits for
/// their group, and never if it does not wait.
class CopyQueue {
 public:
  void start(const Copy& copy) {
    copies_.push_back(copy);
    ++open_;
  }
  void commit() { groups_.push_back(std::exchange(open_, 0)); }

  /// Lets all groups arrive except the `pending` youngest. Calls `arrives` for each copy.
  template <class Arrives>
  void wait(std::size_t pending, const Arrives& arrives) {
    if (groups_.size() > pending) {
      const auto end = groups_.end() - static_cast<std::ptrdiff_t>(pending);
      const std::size_t count = std::accumulate(groups_.begin(), end, std::size_t{0});
      groups_.erase(groups_.begin(), end);
      arrive(count, arrives);
    }
  }

  /// Lets all copies so far arrive, also those without a group, and leaves the groups as they are.
  template <class Arrives>
  void arrive_all(const Arrives& arrives) {
    arrive(copies_.size(), arrives);
    groups_.assign(groups_.size(), 0);
    open_ = 0;
  }

  /// Forgets everything, arrived or not.
  void clear() {
    copies_.clear();
    groups_.clear();
    open_ = 0;
  }

 private:
  template <class Arrives>
  void arrive(std::size_t count, const Arrives& arrives) {
    for (std::size_t i = 0; i < count; ++i) {
      const Copy& copy = copies_[i];
      if (copy.source != nullptr) {
        std::memcpy(copy.destination, copy.source, copy.bytes);
      } else {
        std::memset(copy.destination, 0, copy.bytes);
      }
      arrives(copy);
    }
    copies_.erase(copies_.begin(), copies_.begin() + static_cast<std::ptrdiff_t>(count));
  }

  std::vector<Copy> copies_;
  std::vector<std::size_t> groups_;  ///< how many of the copies, from the first on, are in each
  std::size_t open_ = 0;             ///< copies behind these
};

/// Copies from global to shared memory: cp.async, cp.async.bulk and cp.async.bulk.tensor.
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
  /// The same of a box, with zeros for what lies outside of the array. All bytes of the box arrive.
  void box(const TensorMap& map, const TensorMap::Coordinates& at, unsigned destination, unsigned mbarrier, Site site);

 private:
  CopyQueue& queue() { return queues_[context_.current()]; }
  void check_arrival(const Copy& copy, bool at_mbarrier) const;

  BlockContext& context_;
  Mbarriers& mbarriers_;
  std::vector<CopyQueue> queues_;  ///< of each thread
};

}  // namespace simt
