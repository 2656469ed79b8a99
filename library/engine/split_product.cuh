#pragma once

// FP32 products on tensor cores (sm_90a), second half: what kernels that multiply operand tiles have around their main
// loops (terms_loop.cuh, int8x6_loop.cuh). They differ by their split configuration as well: the number and format of
// the terms.

#include "common/ceil_div.hpp"
#include "common/problem.hpp"
#include "engine/product_policy.cuh"
#include "engine/progress_window.cuh"
#include "engine/ring.cuh"
#include "engine/split_operands.cuh"
#include "engine/split_terms.cuh"
#include "engine/stream_k.cuh"
#include "ptx/cp_async_bulk.cuh"
#include "ptx/griddepcontrol.cuh"
#include "ptx/mbarrier.cuh"
#include "ptx/setmaxnreg.cuh"
#include "ptx/shared_memory.cuh"
#include "ptx/wgmma.cuh"

#include <cmath>
#include <cstdint>

namespace sgemm::SGEMM_TARGET::split_product {

constexpr int K_BLOCK_BYTES = 32;  // of a row, for the 16 elements along k of one instruction

/// A block's tile: an operand tile of A by B_TILES of B. Two consumer warpgroups multiply, 64 rows of A each;
/// one thread of a producer warpgroup keeps two rings of operand tiles full, one for A and one for B.
template <class Split_, int B_TILES_>
struct BlockTile {
  using Split = Split_;
  static constexpr int B_TILES = B_TILES_;
  static constexpr int BM = TILE_ROWS;
  static constexpr int BN = TILE_ROWS * B_TILES;
  static constexpr int CONSUMER_THREADS = 2 * WARPGROUP;
  static constexpr int CONSUMER_WARPS = CONSUMER_THREADS / WARP;
  static constexpr int THREADS = CONSUMER_THREADS + WARPGROUP;
  // 64 Ki registers make 168 for each of 384 threads. Producers leave most of theirs over for the consumers.
  static constexpr int PRODUCER_REGISTERS = 40;
  static constexpr int CONSUMER_REGISTERS = 168 + (168 - PRODUCER_REGISTERS) / 2;
};
template <class Split>
using Tile128x256 = BlockTile<Split, 2>;
template <class Split>
using Tile128x128 = BlockTile<Split, 1>;

/// A ring of operand tiles.
template <class Tile, int STAGES>
using TileRing = Ring<Tile::BYTES, STAGES, SCALING_BYTES>;

/// Two rings in a block's dynamic shared memory. Those of A take a multiple of what wgmma's operands are aligned to.
template <class A_, class B_>
struct RingPair {
  using A = A_;
  using B = B_;
  static constexpr int B_TILES_AT = A::TILES_BYTES;
  static constexpr int A_SCALINGS_AT = B_TILES_AT + B::TILES_BYTES;
  static constexpr int B_SCALINGS_AT = A_SCALINGS_AT + A::SCALINGS_BYTES;
  static constexpr int A_BARRIERS_AT = B_SCALINGS_AT + B::SCALINGS_BYTES;
  static constexpr int B_BARRIERS_AT = A_BARRIERS_AT + A::BARRIERS_BYTES;
  static constexpr int SMEM_BYTES = B_BARRIERS_AT + B::BARRIERS_BYTES;
  static_assert(B_TILES_AT % WGMMA_ALIGNMENT == 0);

  A a;
  B b;
  __device__ __forceinline__ explicit RingPair(unsigned smem)
      : a(smem, smem + A_SCALINGS_AT, smem + A_BARRIERS_AT),
        b(smem + B_TILES_AT, smem + B_SCALINGS_AT, smem + B_BARRIERS_AT) {}
};
template <class Split>
using Rings = RingPair<TileRing<OperandTile<Split>, Split::A_STAGES>, TileRing<OperandTile<Split>, Split::B_STAGES>>;

template <class Shape>
SGEMM_HOST_DEVICE inline std::int64_t tile_count(const Problem& p) {
  return tiles_along(p.m) * ceil_div<std::int64_t>(tiles_along(p.n), Shape::B_TILES);
}

/// Fills the next stage of a ring with the operand tile of number `tile`. Workspace is that of split_operands.cuh, or
/// one with the same members.
template <class Split, int STAGES, class Workspace>
__device__ __forceinline__ void copy_tile(TileRing<OperandTile<Split>, STAGES>& ring, const Workspace& workspace,
                                          std::int64_t tile) {
  ring.wait_until_empty();
  mbarrier_arrive_expect_tx(ring.full(), OperandTile<Split>::BYTES + SCALING_BYTES);
  cp_async_bulk(ring.tile(), workspace.terms(tile), OperandTile<Split>::BYTES, ring.full());
  cp_async_bulk(ring.scaling(), workspace.scaling(tile), SCALING_BYTES, ring.full());
  ring.advance();
}

/// The producer thread: for each k-tile of each of the block's tiles of C it copies one of A, then those of B. Where
/// the order of k does not matter, every other round goes back along k: its first k-tiles are in the L2 still.
struct TilesProducer {
  template <class Policy, class Workspace>
  __device__ __forceinline__ static void produce(const typename Policy::Problem& p, const Schedule& schedule,
                                                 const Workspace& workspace,
                                                 Rings<typename Policy::Shape::Split> rings) {
    using Split = typename Policy::Shape::Split;
    Work work(schedule);
    ProgressWindow window(schedule, Policy::FEWEST_ROUNDS_IN_WINDOW, workspace.progress());
    while (!work.done(schedule)) {
      const Segment segment = work.next(schedule);
      const Tile tile = Policy::tile_at(p, segment.tile);
      griddepcontrol_wait();  // returns at once when the kernel before has ended
      const std::int64_t a_first = static_cast<std::int64_t>(tile.a) * workspace.k_tiles();
      const std::int64_t b_first = static_cast<std::int64_t>(workspace.a_tiles() + tile.b) * workspace.k_tiles();
      const bool whole = segment.tile < schedule.whole;
      const bool back = Split::EXACT_SUMS && whole && segment.tile / static_cast<int>(gridDim.x) % 2 == 1;
      for (int i = 0; i < segment.count; ++i) {
        const int k_tile = segment.first + (back ? segment.count - 1 - i : i);
        if (whole) {
          window.advance();
        }
        copy_tile<Split>(rings.a, workspace, a_first + k_tile);
        for (int b_tile = 0; b_tile < tile.b_tiles; ++b_tile) {
          copy_tile<Split>(rings.b, workspace, b_first + b_tile * workspace.k_tiles() + k_tile);
        }
      }
    }
  }
};

/// The scaling at a shared address.
__device__ __forceinline__ const Scaling& scaling_at(unsigned address) {
  return *static_cast<const Scaling*>(from_shared_address(address));
}

/// The accumulators of a warpgroup for 64 rows of C and the columns of each of B_TILES tiles of B. Those of a tile of B
/// are divided by a power of two, which most of its k-tiles share.
template <int B_TILES>
struct Accumulators {
  static constexpr int VALUES = 64;

  float values[B_TILES][VALUES] = {};  ///< as wgmma holds D
  int exponents[B_TILES];

  __device__ __forceinline__ Accumulators() {
#pragma unroll
    for (int& exponent : exponents) {
      exponent = ALL_ZERO;
    }
  }

  /// Whether products of two operand tiles have the exponent of the accumulators, so that they may simply be
  /// added.
  __device__ __forceinline__ bool same_exponent(int b_tile, const Scaling& a, const Scaling& b) const {
    return a.uniform + b.uniform == exponents[b_tile];
  }

  /// Brings accumulators to the larger of their exponent and that of products, so that no number grows, and products of
  /// tiles with factors by row to one exponent. Returns what products are multiplied by where they are added. If the
  /// exponents are too far apart, the accumulators become NaN. `row` and `column` are the places of the thread's first
  /// elements in their operand tiles.
  template <class Split>
  __device__ __forceinline__ float rescale(int b_tile, float (&products)[VALUES], const Scaling& a, const Scaling& b,
                                           int row, int column) {
    const int own = a.exponent + b.exponent;
    if (own < ALL_ZERO / 2) {
      return 1.0F;
    }
    if (own > exponents[b_tile]) {
      const float shrink = shrinking(own - exponents[b_tile]);
#pragma unroll
      for (float& value : values[b_tile]) {
        value *= shrink;
      }
      exponents[b_tile] = own;
    }
    if (a.uniform + b.uniform != own) {
      const float row_factors[2] = {power_of_2(-Split::ROW_STEP * a.rows[row]),
                                    power_of_2(-Split::ROW_STEP * a.rows[row + 8])};
#pragma unroll
      for (int i = 0; i < VALUES; ++i) {
        const int own_column = column + i / 4 * 8 + i % 2;
        products[i] *= row_factors[i / 2 % 2] * power_of_2(-Split::ROW_STEP * b.rows[own_column]);
      }
    }
    return shrinking(exponents[b_tile] - own);
  }

  /// Leaves the sums themselves, without a power of two, in `values`.
  __device__ __forceinline__ void undo_scaling() {
#pragma unroll
    for (int b_tile = 0; b_tile < B_TILES; ++b_tile) {
      const int exponent = exponents[b_tile] == ALL_ZERO ? 0 : exponents[b_tile];
#pragma unroll
      for (float& value : values[b_tile]) {
        value = scaled(value, exponent);
      }
    }
  }

 private:
  /// 2^-binades, or NaN. Accumulators that are still 0 have no exponent, and shrink to 0.
  __device__ __forceinline__ static float shrinking(int binades) {
    return binades <= LARGEST_SPREAD ? power_of_2(-binades) : binades < -ALL_ZERO / 2 ? NAN : 0.0F;
  }
};

/// A thread's first row in its tile of A; the other one is 8 further down.
__device__ __forceinline__ int first_row(unsigned thread) { return thread / WARP * 16 + thread % WARP / 4; }
/// A thread's first column in a tile of B, of pairs that lie 8 apart.
__device__ __forceinline__ int first_column(unsigned thread) { return thread % 4 * 2; }

/// The place of a tile of C: the numbers of its operand tiles along M and N, of B the first one.
struct TilePlace {
  int a;
  int b;
};

/// Partial sums have no scaling. If they are too large for a float then, C is computed again.
template <class Shape>
using PartialSumsOf = PartialSums<Shape::CONSUMER_WARPS, Shape::B_TILES, 64>;

/// Partial sums that other blocks have of a tile are added to those of the segment at its beginning. Any other segment
/// becomes partial sums for the block that has the beginning. Returns whether `sums` are a tile's now. `Partial` is a
/// PartialSums.
template <class Partial, class Sums>
__device__ __forceinline__ bool collect(const Schedule& schedule, const Segment& segment, Sums& sums) {
  if (segment.first > 0) {
    Partial(schedule, Work::share()).publish(sums);
    return false;
  }
  if (segment.count < schedule.k_tiles) {
    const int end_of_tile = (segment.tile - schedule.whole + 1) * schedule.k_tiles;
#pragma unroll 1
    for (int share = Work::share() + 1; schedule.begin_of_share(share) < end_of_tile; ++share) {
      const Partial other(schedule, share);
      other.wait_together();
      other.add_to(sums);
    }
  }
  return true;
}

/// The sums of a segment, of 64 rows of C and the columns of each tile of B, become C or partial sums.
template <class Policy>
__device__ __forceinline__ void finish(const typename Policy::Problem& p, const Schedule& schedule,
                                       const Segment& segment, const TilePlace& tile,
                                       float (&sums)[Policy::Shape::B_TILES][64]) {
  if (!collect<PartialSumsOf<typename Policy::Shape>>(schedule, segment, sums)) {
    return;
  }
  if constexpr (Policy::STORES_ALL_TILES) {
    Policy::store(p, static_cast<std::int64_t>(tile.a) * TILE_ROWS + first_row(threadIdx.x),
                  static_cast<std::int64_t>(tile.b) * TILE_ROWS + first_column(threadIdx.x), sums);
  } else {
#pragma unroll
    for (int b_tile = 0; b_tile < Policy::Shape::B_TILES; ++b_tile) {
      Policy::store(p, static_cast<std::int64_t>(tile.a) * TILE_ROWS + first_row(threadIdx.x),
                    static_cast<std::int64_t>(tile.b + b_tile) * TILE_ROWS + first_column(threadIdx.x), sums[b_tile]);
    }
  }
}

/// A block: one thread fills the rings with what the schedule deals out to the block, and consumer threads call
/// `consume` with the rings.
template <class Policy, class Producer = TilesProducer, class Workspace, class Consume>
__device__ __forceinline__ void produce_and_consume(const typename Policy::Problem& p, const Workspace& workspace,
                                                    const Schedule& schedule, const Consume& consume) {
  using Shape = typename Policy::Shape;
  const Rings<typename Shape::Split> rings(shared_address(dynamic_smem()));
  if (threadIdx.x == 0) {
    rings.a.init(Shape::CONSUMER_WARPS);
    rings.b.init(Shape::CONSUMER_WARPS);
    fence_mbarrier_init();
  }
  __syncthreads();
  if (threadIdx.x >= Shape::CONSUMER_THREADS) {
    setmaxnreg_dec<Shape::PRODUCER_REGISTERS>();
    if (threadIdx.x == Shape::CONSUMER_THREADS) {
      Producer::template produce<Policy>(p, schedule, workspace, rings);
    }
  } else {
    setmaxnreg_inc<Shape::CONSUMER_REGISTERS>();
    consume(rings);
  }
}

}  // namespace sgemm::SGEMM_TARGET::split_product
