#include "block/named_barriers.hpp"

namespace simt {

void NamedBarriers::refuse(unsigned id, unsigned threads, Site site) const {
  // __syncthreads takes blocks that are no whole warps; PTX counts those warps as whole.
  const bool of_block = id == 0 && threads == context_.scheduler.threads();
  if (!of_block && (id >= BARRIERS || threads == 0 || threads % WARP != 0)) {
    context_.fail("a barrier takes a number from 0 to 15 and a multiple of 32 threads, not " + std::to_string(id) +
                      " and " + std::to_string(threads),
                  site);
  }
  const Barrier& barrier = barriers_[id];
  if (barrier.size() > 0 && barrier.expected != threads) {
    const ThreadNumber other = barrier.waiting.size > 0 ? barrier.waiting.first : barrier.arriver;
    context_.fail("barrier " + std::to_string(id) + " is for " + std::to_string(threads) + " threads here and for " +
                      std::to_string(barrier.expected) + " in thread " + to_string(context_.scheduler.position(other)),
                  site);
  }
}

NamedBarriers::Barrier& NamedBarriers::at(unsigned id, unsigned threads, Site site) {
  if (id >= BARRIERS || threads == 0 || threads % WARP != 0 || barriers_[id].expected != threads) {
    refuse(id, threads, site);
  }
  barriers_[id].expected = threads;
  return barriers_[id];
}

void NamedBarriers::sync(unsigned id, unsigned threads, Site site) {
  Barrier& barrier = at(id, threads, site);
  Scheduler& scheduler = context_.scheduler;
  context_.watcher->arrive(scheduler.current(), true);
  if (barrier.size() + 1 == threads) {
    complete(id, {scheduler.links(), barrier.waiting, scheduler.current()});
    return;
  }
  scheduler.append(barrier.waiting, scheduler.current());
  scheduler.wait_at(*this, id, site);
}

void NamedBarriers::arrive(unsigned id, unsigned threads, Site site) {
  Barrier& barrier = at(id, threads, site);
  const ThreadNumber current = context_.current();
  barrier.arriver = current;
  ++barrier.arrived;
  context_.watcher->arrive_without_waiting(current, id, barrier.phase);
  if (barrier.size() == threads) {
    complete(id, {context_.scheduler.links(), barrier.waiting});
  }
}

void NamedBarriers::complete(unsigned id, const Threads& waiting) {
  Barrier& barrier = barriers_[id];
  context_.watcher->complete(id, waiting, barrier.arrived > 0);
  ++barrier.phase;
  barrier.arrived = 0;
  context_.scheduler.make_ready(barrier.waiting);
}

std::string NamedBarriers::describe(unsigned id) const {
  const Barrier& barrier = barriers_[id];
  return "barrier " + std::to_string(id) + ", which " + std::to_string(barrier.size()) + " of " +
         std::to_string(barrier.expected) + " threads reach";
}

}  // namespace simt
