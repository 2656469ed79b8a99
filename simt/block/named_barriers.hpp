#pragma once

#include "block/block_context.hpp"

#include <array>
#include <cstdint>
#include <string>

namespace simt {

/// Barriers 0 to 15 of a block: __syncthreads, bar.sync and bar.arrive.
class NamedBarriers final : public WaitingPlace {
 public:
  explicit NamedBarriers(BlockContext& context) : context_(context) {}

  /// A block begins, to which nothing is left of the one before.
  void begin() { barriers_ = {}; }
  void sync(unsigned id, unsigned threads, Site site);
  void sync_block(Site site) { sync(0, context_.scheduler.threads(), site); }
  void arrive(unsigned id, unsigned threads, Site site);

  std::string describe(unsigned id) const override;

 private:
  static constexpr unsigned BARRIERS = 16;

  struct Barrier {
    ThreadList waiting;
    unsigned expected = 0;
    unsigned arrived = 0;      ///< threads that do not wait
    ThreadNumber arriver = 0;  ///< the latest of them
    std::uint64_t phase = 0;
    unsigned size() const { return waiting.size + arrived; }
  };

  Barrier& at(unsigned id, unsigned threads, Site site);
  /// Fails where a barrier can not be called like this; kept apart, as barriers are called very often.
  [[gnu::noinline, gnu::cold]] void refuse(unsigned id, unsigned threads, Site site) const;
  void complete(unsigned id, const Threads& waiting);

  BlockContext& context_;
  std::array<Barrier, BARRIERS> barriers_;
};

}  // namespace simt
