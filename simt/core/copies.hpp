#pragma once

#include "core/block_context.hpp"
#include "core/copy_queue.hpp"
#include "core/mbarriers.hpp"

#include <vector>

namespace simt {

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
