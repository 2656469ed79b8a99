#include "core/named_barriers.hpp"

namespace simt {

void NamedBarriers::refuse(unsigned id, unsigned threads, Site site) const {
  // __syncthreads accepts blocks whose last warp is not full. PTX counts that warp as full.
  const bool of_block = id == 0 && threads == context_.scheduler.threads();
  if (!of_block && (id >= BARRIERS || threads == 0 || threads % WARP != 0)) {
    context_.fail("a barrier takes a number from 0 to 15 and a multiple of 32 threads, not " + std::to_string(id) +
                      " and " + std::to_string(threads),
                  site);
  }
  const Barrier& barrier = barriers_[id];
  if (barrier.size() > 0 && barrier.expected != threads) {
    const ThreadNumber other = barrier.waiting.empty() ? barrier.arriver : barrier.waiting.front();
    context_.fail("barrier " + std::to_string(id) + " is for " + std::to_string(threads) + " threads here and for " +
                      std::to_string(barrier.expected) + " in thread " + to_string(context_.scheduler.position(other)),
                  site);
  }
}

void NamedBarriers::arrive(unsigned id, unsigned threads, Site site) {
  Barrier& barrier = at(id, threads, site);
  const ThreadNumber current = context_.current();
  barrier.arriver = current;
  ++barrier.arrived;
  context_.watcher->arrive_without_waiting(current, id, barrier.phase);
  if (barrier.size() == threads) {
    complete(id, false);
  }
}

void NamedBarriers::end_thread() {
  ++ended_;
  const Barrier& barrier = barriers_[0];
  if (!barrier.waiting.empty() && barrier.size() + not_waited_for(0) == barrier.expected) {
    complete(0, false);
  }
}

void NamedBarriers::complete(unsigned id, bool synchronises) {
  Barrier& barrier = barriers_[id];
  const std::size_t waiting = barrier.waiting.size();
  if (synchronises) {
    barrier.waiting.push_back(context_.current());
  }
  context_.watcher->complete(id, barrier.waiting, barrier.arrived > 0);
  ++barrier.phase;
  barrier.arrived = 0;
  context_.scheduler.make_ready(Threads(barrier.waiting).first(waiting));
  barrier.waiting.clear();
}

std::string NamedBarriers::describe(unsigned id) const {
  const Barrier& barrier = barriers_[id];
  return "barrier " + std::to_string(id) + ", which " + std::to_string(barrier.size()) + " of " +
         std::to_string(barrier.expected) + " threads reach";
}

}  // namespace simt
