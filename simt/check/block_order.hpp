#pragma once

#include "check/clocks.hpp"

#include <cstdint>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace simt {

/// What the blocks of a launch tell one another in global memory. A block counts what it tells, from 1 on. Who knows of
/// a number knows of all accesses of the block that come before it. Blocks on several OS threads use this at once.
class BlockOrder {
 public:
  /// The number that is known of each block.
  using Known = std::map<std::uint32_t, std::uint32_t>;

  void begin_launch();
  /// At this address, `block` tells of the accesses of its threads up to these times, and what is known of other
  /// blocks.
  void release(const void* at, std::uint32_t block, const Clocks::Clock& times, const Known& of_others);
  /// All that was told at this address.
  Known acquire(const void* at);
  /// The first number of the block that tells of this access; 0 if none does.
  std::uint32_t number_of(std::uint32_t block, const Use& use);
  /// The times up to which a number of the block tells of its threads' accesses.
  Clocks::Clock times_of(std::uint32_t block, std::uint32_t number);

 private:
  struct Block {
    std::uint32_t told = 0;
    /// By thread, in their order: an access up to this time is told of by this number.
    std::vector<std::vector<std::pair<std::uint32_t, std::uint32_t>>> times;
    std::uint32_t number_of(ThreadNumber thread, std::uint32_t when) const;
  };

  std::mutex mutex_;
  std::map<std::uint32_t, Block> blocks_;
  std::map<const void*, Known> told_at_;
};

}  // namespace simt
