#include "core/cluster.hpp"

#include "core/workers.hpp"

namespace simt {

bool Cluster::sync(unsigned blocks, Scheduler& scheduler) {
  const unsigned meeting = arrived_.fetch_add(1) / blocks;
  while (true) {
    const bool ended = ended_;  // a block that has come to this meeting ends after it
    if (arrived_ / blocks != meeting) {
      return true;
    }
    if (ended) {
      return false;
    }
    wait_for_other_blocks(scheduler);
  }
}

}  // namespace simt
