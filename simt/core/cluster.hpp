#pragma once

#include "core/scheduler.hpp"
#include "core/shared_memory.hpp"
#include "simt/executor.hpp"

#include <array>
#include <atomic>
#include <cstddef>

namespace simt {

/// What a thread throws before it has done anything else: its kernel has __cluster_dims__ that the launch does not
/// have.
struct ClustersWanted {
  Index3 extents;
};

/// The blocks of a cluster or of a cooperative launch, each on an OS thread of its own.
class Cluster {
 public:
  static constexpr unsigned MOST_BLOCKS = 8;  ///< that every GPU with clusters takes

  /// The shared memory of the block of this rank, which is about to begin.
  void set_memory(unsigned rank, const SharedMemory& memory) { memory_.at(rank) = memory; }
  /// To be called behind a barrier alone, before which the block of that rank has begun.
  const SharedMemory& memory(unsigned rank) const { return memory_[rank]; }

  /// By one thread of each of `blocks` blocks: waits for the others. Gives way to the other threads of the block and to
  /// other OS threads. Returns whether they have come: not if one has ended. Throws Stopped where the launch ends.
  bool sync(unsigned blocks, Scheduler& scheduler);
  /// A block has ended.
  void end() { ended_ = true; }

 private:
  std::array<SharedMemory, MOST_BLOCKS> memory_{};
  std::atomic<unsigned> arrived_ = 0;  ///< counts all arrivals
  std::atomic<bool> ended_ = false;    ///< one or more
};

}  // namespace simt
