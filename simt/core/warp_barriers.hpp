#pragma once

#include "core/block_context.hpp"

#include <array>
#include <cstdint>
#include <string>

namespace simt {

constexpr unsigned ALL_LANES = 0xFFFFFFFF;

/// The barriers at which the lanes of each warp wait for each other: __syncwarp, shuffles, and everything else that
/// warps do together.
class WarpBarriers final : public WaitingPlace {
 public:
  explicit WarpBarriers(BlockContext& context) : context_(context) {}

  void begin();
  /// Returns whether this thread was the last to arrive.
  bool sync(unsigned mask, Site site);
  std::uint64_t exchange(unsigned mask, std::uint64_t value, unsigned source, Site site);
  /// What lanes outside of the mask gave earlier stays in the result.
  std::array<std::uint64_t, WARP> gather(unsigned mask, std::uint64_t value, Site site);

  std::string describe(unsigned mask) const override;
  bool needs(ThreadNumber waiting, ThreadNumber other) const override;

 private:
  struct Warp {
    unsigned waiting = 0;             ///< lanes
    std::array<unsigned, WARP> mask;  ///< of each that waits
    std::array<std::uint64_t, WARP> given;
  };

  BlockContext& context_;
  std::array<Warp, MAX_THREADS_PER_BLOCK / WARP> warps_{};
};

}  // namespace simt
