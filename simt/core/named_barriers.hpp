#pragma once

#include "core/block_context.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace simt {

/// Barriers 0 to 15 of a block: __syncthreads, bar.sync and bar.arrive.
class NamedBarriers final : public WaitingPlace {
 public:
  explicit NamedBarriers(BlockContext& context) : context_(context) {}

  /// A block begins. Arrivals of the block before are forgotten.
  void begin() {
    for (Barrier& barrier : barriers_) {
      barrier.waiting.clear();
      barrier = {std::move(barrier.waiting)};
    }
    ended_ = 0;
  }
  void sync(unsigned id, unsigned threads, Site site) {
    Barrier& barrier = at(id, threads, site);
    Scheduler& scheduler = context_.scheduler;
    context_.watcher->arrive(scheduler.current(), true);
    if (barrier.size() + 1 + not_waited_for(id) == threads) {
      complete(id, true);
      return;
    }
    barrier.waiting.push_back(scheduler.current());
    scheduler.wait_at(*this, id, site);
  }
  void sync_block(Site site) { sync(0, context_.scheduler.threads(), site); }
  void arrive(unsigned id, unsigned threads, Site site);
  /// The current thread ends. The block's barrier is one of the threads that have not: CUDA's guide, __syncthreads().
  void end_thread();

  std::string describe(unsigned id) const override;

 private:
  static constexpr unsigned BARRIERS = 16;

  struct Barrier {
    std::vector<ThreadNumber> waiting;
    unsigned expected = 0;
    unsigned arrived = 0;      ///< threads that do not wait
    ThreadNumber arriver = 0;  ///< the latest of them
    std::uint64_t phase = 0;
    unsigned size() const { return static_cast<unsigned>(waiting.size()) + arrived; }
  };

  Barrier& at(unsigned id, unsigned threads, Site site) {
    if (id >= BARRIERS || threads == 0 || threads % WARP != 0 || barriers_[id].expected != threads) {
      refuse(id, threads, site);
    }
    barriers_[id].expected = threads;
    return barriers_[id];
  }
  /// Fails, because the barrier can not be called like this.
  [[gnu::noinline, gnu::cold]] void refuse(unsigned id, unsigned threads, Site site) const;
  unsigned not_waited_for(unsigned id) const {
    return id == 0 && barriers_[0].expected == context_.scheduler.threads() ? ended_ : 0;
  }
  /// Completes a barrier. `synchronises`: the current thread is one of the threads that meet there.
  void complete(unsigned id, bool synchronises);

  BlockContext& context_;
  std::array<Barrier, BARRIERS> barriers_;
  unsigned ended_ = 0;  ///< threads
};

}  // namespace simt
