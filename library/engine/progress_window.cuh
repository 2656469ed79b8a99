#pragma once

// Persistent blocks that stay within a window of one another along k. Chapters 11 to 15 have a window
// of their own.

#include "common/target.hpp"
#include "engine/stream_k.cuh"
#include "ptx/flags.cuh"

#include <cuda_runtime.h>

namespace sgemm::SGEMM_TARGET {

// ProgressWindow: holds back the producer of a block that is more than WINDOW k-tiles ahead of the slowest block. The
// blocks of a round share operand tiles of A and B. Without a window they drift apart along k, and the L2 has lost an
// operand tile by the time when the last of them asks for it. Results are the same with and without.
//
// Only rounds in which each block has a whole tile have a window, and `fewest_rounds` of them or more: fewer end before
// the blocks are far apart. A block may wait for one that does not run, because another kernel has its multiprocessor.
// So it gives up after PATIENCE looks, for the rest of the launch.
//
// ProgressWindow(schedule, fewest_rounds, progress): `progress` points to a word that is 0 when the launch begins.
// advance(): one thread of each block calls it before each k-tile of a whole tile.
// reset(progress): makes the word 0; by one thread, in an earlier launch.

#ifdef __CUDACC__

class ProgressWindow {
 public:
  __device__ __forceinline__ ProgressWindow(const Schedule& schedule, int fewest_rounds, unsigned* progress)
      : progress_(progress) {
    const int rounds = schedule.whole / static_cast<int>(gridDim.x);
    left_ = rounds < fewest_rounds ? 0 : rounds * schedule.k_tiles;
  }

  __device__ __forceinline__ void advance() {
    if (left_ == 0) {
      return;
    }
    --left_;
    atomicAdd(progress_, 1U);
    all_ += gridDim.x;
    for (int look = 0; look < PATIENCE; ++look) {
      if (ld_relaxed_gpu(progress_) + WINDOW * gridDim.x >= all_) {
        return;
      }
    }
    left_ = 0;
  }

  __device__ __forceinline__ static void reset(unsigned* progress) { *progress = 0; }

 private:
  static constexpr unsigned WINDOW = 2;
  static constexpr int PATIENCE = 128;  // some 0.1 ms, if a look takes 0.7 us

  unsigned* progress_;  ///< how many k-tiles all blocks together have begun
  unsigned all_ = 0;    ///< how many that is when all are where this block is
  int left_;            ///< k-tiles that have a window
};

#else

/// The executor's blocks take turns, and have no window.
struct ProgressWindow {
  ProgressWindow(const Schedule&, int, const unsigned*) {}
  void advance() const {}
  static void reset(const unsigned*) {}
};

#endif

}  // namespace sgemm::SGEMM_TARGET
