#pragma once

#include "core/block_context.hpp"
#include "core/mbarriers.hpp"
#include "core/tensor_maps.hpp"
#include "core/watcher.hpp"

#include <cstddef>
#include <utility>
#include <vector>

namespace simt {

/// Copies from global to shared memory: cp.async, cp.async.bulk and cp.async.bulk.tensor.
class Copies {
 public:
  Copies(BlockContext& context, Mbarriers& mbarriers)
      : context_(context), mbarriers_(mbarriers), queues_(MAX_THREADS_PER_BLOCK) {}

  /// The current thread begins. Copies of the block before are forgotten.
  void begin_thread();
  void start(const Copy& copy, Site site);
  void commit() { queue().groups.push_back(std::exchange(queue().open, 0)); }
  /// Lets all groups arrive except the `pending` youngest.
  void wait(unsigned pending);
  /// Lets all copies so far arrive, also those without a group, which the mbarrier's phase under way announces. Where
  /// `counts` says so, that is an arrival of the current thread.
  void arrive_at_mbarrier(unsigned address, bool counts, Site site);
  /// Done when it is started.
  void bulk(const Copy& copy, unsigned destination, unsigned mbarrier, Site site);
  /// The same of a box, with zeros for what lies outside of the array. All bytes of the box arrive.
  void box(const TensorMap& map, const TensorMap::Coordinates& at, unsigned destination, unsigned mbarrier, Site site);

 private:
  /// The cp.async copies of one thread that are under way. Bytes arrive as late as CUDA allows: when the thread waits
  /// for their group, and never if it does not wait.
  struct Queue {
    std::vector<Copy> copies;
    std::vector<std::size_t> groups;  ///< how many of the copies, from the first on, are in each
    std::size_t open = 0;             ///< copies behind these
  };

  Queue& queue() { return queues_[context_.current()]; }
  /// The bytes of the current thread's oldest copies are there.
  void arrive(std::size_t count, bool at_mbarrier);

  BlockContext& context_;
  Mbarriers& mbarriers_;
  std::vector<Queue> queues_;  ///< of each thread
};

}  // namespace simt
