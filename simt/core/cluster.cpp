#include "core/cluster.hpp"

#include "core/workers.hpp"

#include <thread>

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
    if (launch_ends()) {
      throw Stopped("a block waits for another one, which has not finished");
    }
    scheduler.give_way();
    std::this_thread::yield();
  }
}

}  // namespace simt
