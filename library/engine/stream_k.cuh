#pragma once

// Stream-k: persistent blocks share tiles of C along k. Chapter 09 explains it; 13 and the library use it too. Osama et
// al., "Stream-K: Work-centric Parallel Decomposition for Dense Matrix-Matrix Multiplication on the GPU".

#include "common/ceil_div.hpp"
#include "common/target.hpp"
#include "ptx/flags.cuh"

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace sgemm::SGEMM_TARGET {

/// The division of work among blocks. The tiles of C lie along the Hilbert curve. The first ones are computed whole, by
/// one block after the other. The k-tiles of those behind them are dealt out to all blocks in equal, contiguous shares,
/// so that a share may begin and end within a tile.
struct Schedule {
  int whole;          ///< how many tiles are not divided
  int k_tiles;        ///< how many each tile of C takes
  int share;          ///< k-tiles of a block's share, or one less:
  int longer_shares;  ///< how many of the shares, the first ones, have one k-tile more
  // Partial sums of each share, and flags that tell that they are there.
  float4* sums;
  unsigned* flags;

  /// The schedule in which `blocks` blocks share all tiles from number `whole` on. The memory is not set here. On the
  /// GPU the product of streamed tiles and k-tiles stays below 2^31, or the operands would need terabytes.
  static Schedule of(int tiles, int k_tiles, int whole, int blocks) {
    const std::int64_t streamed = std::int64_t{tiles - whole} * k_tiles;
    return {whole, k_tiles, static_cast<int>(streamed / blocks), static_cast<int>(streamed % blocks), nullptr, nullptr};
  }

  /// The k-tile at which share number `index` begins, counted from the first streamed tile on.
  __device__ int begin_of_share(int index) const {
    return index * share + (index < longer_shares ? index : longer_shares);
  }
};

/// Consecutive k-tiles of one tile of C.
struct Segment {
  int tile;
  int first;
  int count;
};

/// A block's work, segment by segment: its share of the streamed tiles comes first.
class Work {
 public:
  __device__ __forceinline__ explicit Work(const Schedule& schedule)
      : at_(schedule.begin_of_share(share())), end_(schedule.begin_of_share(share() + 1)), next_whole_(blockIdx.x) {}

  /// The number of the block's share. Shares are dealt from the last block to the first. A block waits for the blocks
  /// that have the rest of its tile, and these were started before it.
  __device__ static int share() { return static_cast<int>(gridDim.x - 1 - blockIdx.x); }

  __device__ bool done(const Schedule& schedule) const { return at_ == end_ && next_whole_ >= schedule.whole; }

  __device__ __forceinline__ Segment next(const Schedule& schedule) {
    if (at_ == end_) {
      const Segment segment{next_whole_, 0, schedule.k_tiles};
      next_whole_ += static_cast<int>(gridDim.x);
      return segment;
    }
    const int tile = at_ / schedule.k_tiles;
    const int first = at_ - tile * schedule.k_tiles;
    const int count = schedule.k_tiles - first < end_ - at_ ? schedule.k_tiles - first : end_ - at_;
    at_ += count;
    return {schedule.whole + tile, first, count};
  }

 private:
  int at_;
  int end_;
  int next_whole_;
};

/// The partial sums that one share has of a tile, for the block that has the tile's beginning. Each thread of WARPS
/// warps has ROWS x COLS of them. Each warp hands its sums to the warp of the same number, with a flag of its own.
template <int WARPS, int ROWS, int COLS>
class PartialSums {
 public:
  __device__ __forceinline__ PartialSums(const Schedule& schedule, int share)
      : sums_(schedule.sums + warp(share) * (ROWS * COLS / 4 * LANES) + threadIdx.x % LANES),
        flag_(schedule.flags + warp(share)) {}

  __device__ __forceinline__ void wait() const { wait_for_flag(flag_); }  ///< by one thread of the warp
  __device__ __forceinline__ void wait_together() const { wait_for_flag_together(flag_); }  ///< by all of them

  /// Stores sums that add_to() of the same thread will read.
  __device__ __forceinline__ void put(const float (&accumulators)[ROWS][COLS]) const {
#pragma unroll
    for (int i = 0; i < ROWS; ++i) {
#pragma unroll
      for (int j = 0; j < COLS; j += 4) {
        __stcg(sums_ + (i * COLS + j) / 4 * LANES,
               float4{accumulators[i][j], accumulators[i][j + 1], accumulators[i][j + 2], accumulators[i][j + 3]});
      }
    }
  }

  /// Where numbers 4 i to 4 i + 3 of the thread's are, for kernels that keep other numbers there.
  __device__ __forceinline__ float4* place(int i) const { return sums_ + i * LANES; }

  /// Stores sums for other blocks.
  __device__ __forceinline__ void publish(const float (&accumulators)[ROWS][COLS]) const {
    put(accumulators);
    announce();
  }
  /// Tells another block that the warp's sums are there.
  __device__ __forceinline__ void announce() const {
    __syncwarp();
    if (threadIdx.x % LANES == 0) {
      raise_flag(flag_);
    }
  }

  /// To be called after put(), wait() or wait_together().
  __device__ __forceinline__ void add_to(float (&accumulators)[ROWS][COLS]) const {
#pragma unroll
    for (int i = 0; i < ROWS; ++i) {
#pragma unroll
      for (int j = 0; j < COLS; j += 4) {
        const float4 other = __ldcg(sums_ + (i * COLS + j) / 4 * LANES);
        accumulators[i][j] += other.x;
        accumulators[i][j + 1] += other.y;
        accumulators[i][j + 2] += other.z;
        accumulators[i][j + 3] += other.w;
      }
    }
  }

 private:
  static constexpr int LANES = 32;

  __device__ static std::int64_t warp(int share) {
    return static_cast<std::int64_t>(share) * WARPS + threadIdx.x / LANES;
  }

  float4* sums_;
  unsigned* flag_;
};

/// The places of the flags and partial sums of `shares` shares in a launch's memory. The flags come first, so that
/// their place does not depend on the problem. They are 0 before the first launch, and every launch leaves them at 0.
template <int WARPS, int ROWS, int COLS, class Number = float>
struct SharesMemory {
  static constexpr std::size_t ALIGNMENT = 128;  // a line of the L2; so is bytes()
  static int flag_count(int shares) { return shares * WARPS; }
  static std::size_t sums_at(int shares) {
    return ceil_div<std::size_t>(flag_count(shares) * sizeof(unsigned), ALIGNMENT) * ALIGNMENT;
  }
  static std::size_t bytes(int shares) {
    return sums_at(shares) + static_cast<std::size_t>(shares) * WARPS * 32 * ROWS * COLS * sizeof(Number);
  }
  static void place(Schedule& schedule, void* memory, int shares) {
    schedule.flags = static_cast<unsigned*>(memory);
    schedule.sums = reinterpret_cast<float4*>(static_cast<char*>(memory) + sums_at(shares));
  }
};

}  // namespace sgemm::SGEMM_TARGET
