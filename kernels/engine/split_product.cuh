#pragma once

// FP32 products on 16-bit tensor cores (sm_90a), second half: the kernel that multiplies operand tiles. Chapters 11 and
// 12 differ by their scheme: the number and format of the terms, and the products of terms that count. Chapter 11
// explains this code.

#include "common/ceil_div.hpp"
#include "common/epilogue.cuh"
#include "common/hilbert.hpp"
#include "common/problem.hpp"
#include "engine/dot_product.cuh"
#include "engine/pace.cuh"
#include "engine/ring.cuh"
#include "engine/split_operands.cuh"
#include "engine/split_terms.cuh"
#include "engine/stream_k.cuh"
#include "ptx/cp_async.cuh"
#include "ptx/cp_async_bulk.cuh"
#include "ptx/griddepcontrol.cuh"
#include "ptx/mbarrier.cuh"
#include "ptx/setmaxnreg.cuh"
#include "ptx/shared_memory.cuh"
#include "ptx/wgmma.cuh"

#include <cmath>
#include <cstdint>

namespace sgemm {
inline namespace SGEMM_TARGET {
namespace split_product {

constexpr int K_BLOCK_BYTES = 32;  // of a row, for the 16 elements along k of one instruction

/// A block computes tiles of one panel of A by PANELS of B. Two consumer warpgroups multiply, half of A's panel each;
/// one thread of a producer warpgroup keeps two rings of operand tiles full, one for A and one for B.
template <class Scheme_, int PANELS_>
struct TileShape {
  using Scheme = Scheme_;
  static constexpr int PANELS = PANELS_;
  static constexpr int BM = PANEL;
  static constexpr int BN = PANEL * PANELS;
  static constexpr int CONSUMER_THREADS = 2 * WARPGROUP;
  static constexpr int CONSUMER_WARPS = CONSUMER_THREADS / WARP;
  static constexpr int THREADS = CONSUMER_THREADS + WARPGROUP;
  // 64 Ki registers make 168 for each of 384 threads. Producers leave most of theirs over for the consumers.
  static constexpr int PRODUCER_REGISTERS = 40;
  static constexpr int CONSUMER_REGISTERS = 168 + (168 - PRODUCER_REGISTERS) / 2;
};
template <class Scheme>
using Tile128x256 = TileShape<Scheme, 2>;
template <class Scheme>
using Tile128x128 = TileShape<Scheme, 1>;

/// A ring of operand tiles.
template <class Tile, int SLOTS>
using TileRing = Ring<Tile::BYTES, SLOTS, SCALING_BYTES>;

/// Two rings in a block's dynamic shared memory. Those of A take a multiple of what wgmma's operands are aligned to.
template <class A_, class B_>
struct RingPair {
  using A = A_;
  using B = B_;
  static constexpr int B_TILES = A::TILES_BYTES;
  static constexpr int A_SCALINGS = B_TILES + B::TILES_BYTES;
  static constexpr int B_SCALINGS = A_SCALINGS + A::SCALINGS_BYTES;
  static constexpr int A_BARRIERS = B_SCALINGS + B::SCALINGS_BYTES;
  static constexpr int B_BARRIERS = A_BARRIERS + A::BARRIERS_BYTES;
  static constexpr int SMEM_BYTES = B_BARRIERS + B::BARRIERS_BYTES;
  static_assert(B_TILES % WGMMA_ALIGNMENT == 0);

  A a;
  B b;
  __device__ __forceinline__ explicit RingPair(unsigned smem)
      : a(smem, smem + A_SCALINGS, smem + A_BARRIERS), b(smem + B_TILES, smem + B_SCALINGS, smem + B_BARRIERS) {}
};
template <class Scheme>
using Rings = RingPair<TileRing<OperandTile<Scheme>, Scheme::A_SLOTS>, TileRing<OperandTile<Scheme>, Scheme::B_SLOTS>>;

/// A tile of C.
struct Tile {
  int a_panel;
  int b_panel;   ///< the first
  int b_panels;  ///< fewer than the shape's PANELS at the right edge of C
};

// Other types of problems than Problem have overloads of the functions that follow here, of scalars_of(),
// compute_again() and after_last_tile().

/// The tile at a position of the Hilbert curve.
template <class Shape>
__device__ __forceinline__ Tile tile_at(const Problem& p, int position) {
  const auto b_all = static_cast<int>(panels_of(p.n));
  const TileIndex index = hilbert_tile(position, static_cast<int>(panels_of(p.m)), ceil_div(b_all, Shape::PANELS));
  const int b_panel = index.col * Shape::PANELS;
  return {index.row, b_panel, b_all - b_panel < Shape::PANELS ? b_all - b_panel : Shape::PANELS};
}

/// From how many rounds of whole tiles on blocks keep a pace.
template <class Shape>
__device__ constexpr int fewest_paced_rounds(const Problem&) {
  return 8 / Shape::PANELS;  // measured: rounds of wider tiles are longer
}

template <class Shape>
SGEMM_HOST_DEVICE inline std::int64_t tile_count(const Problem& p) {
  return panels_of(p.m) * ceil_div<std::int64_t>(panels_of(p.n), Shape::PANELS);
}

/// Fills the next slot of a ring with the operand tile of number `tile`.
template <class Scheme, int SLOTS>
__device__ __forceinline__ void copy_tile(TileRing<OperandTile<Scheme>, SLOTS>& ring,
                                          const Workspace<Scheme>& workspace, std::int64_t tile) {
  ring.wait_until_empty();
  mbarrier_arrive_expect_tx(ring.full(), OperandTile<Scheme>::BYTES + SCALING_BYTES);
  cp_async_bulk(ring.tile(), workspace.terms(tile), OperandTile<Scheme>::BYTES, ring.full());
  cp_async_bulk(ring.scaling(), workspace.scaling(tile), SCALING_BYTES, ring.full());
  ring.advance();
}

/// The producer thread: for each k-tile of each of the block's tiles of C it copies one of A, then those of B.
template <class Shape, class P>
__device__ __forceinline__ void produce(const P& p, const Schedule& schedule,
                                        const Workspace<typename Shape::Scheme>& workspace,
                                        Rings<typename Shape::Scheme> rings) {
  Work work(schedule);
  Pace pace(schedule, fewest_paced_rounds<Shape>(p), workspace.progress());
  while (!work.done(schedule)) {
    const Segment segment = work.next(schedule);
    const Tile tile = tile_at<Shape>(p, segment.tile);
    griddepcontrol_wait();  // returns at once when the kernel before has ended
    const std::int64_t a_first = static_cast<std::int64_t>(tile.a_panel) * workspace.k_tiles();
    const std::int64_t b_first = static_cast<std::int64_t>(workspace.a_panels() + tile.b_panel) * workspace.k_tiles();
    for (int k_tile = segment.first; k_tile < segment.first + segment.count; ++k_tile) {
      if (segment.tile < schedule.whole) {
        pace.step();
      }
      copy_tile(rings.a, workspace, a_first + k_tile);
      for (int panel = 0; panel < tile.b_panels; ++panel) {
        copy_tile(rings.b, workspace, b_first + panel * workspace.k_tiles() + k_tile);
      }
    }
  }
}

/// Starts all products of the terms of two operand tiles. They replace the content of `products`. The smallest come
/// first: tensor cores cut off less while a sum is small.
template <class Scheme>
__device__ __forceinline__ void start_products(float (&products)[64], unsigned a_tile, unsigned b_tile) {
  const std::uint64_t a = wgmma_descriptor(a_tile);
  const std::uint64_t b = wgmma_descriptor(b_tile);
  wgmma_fence();
#pragma unroll
  for (int product = 0; product < Scheme::PRODUCTS; ++product) {
    const TermsOfProduct terms = Scheme::product(product);
#pragma unroll
    for (int k_block = 0; k_block < BK / WGMMA_K; ++k_block) {
      wgmma_m64n128k16<typename Scheme::Format>(
          products, wgmma_descriptor_at(a, terms.a * OperandTile<Scheme>::TERM_BYTES + k_block * K_BLOCK_BYTES),
          wgmma_descriptor_at(b, terms.b * OperandTile<Scheme>::TERM_BYTES + k_block * K_BLOCK_BYTES),
          product + k_block > 0);
    }
  }
  wgmma_commit_group();
}

/// The scaling at a shared address.
__device__ __forceinline__ const Scaling& scaling_at(unsigned address) {
  return *static_cast<const Scaling*>(from_shared_address(address));
}

/// The accumulators of a warpgroup for 64 rows of C and the columns of each of PANELS panels, 128 or fewer. The
/// accumulators of a panel are divided by a power of two, which most of its k-tiles share.
template <int PANELS, int VALUES = 64>
struct Accumulators {
  float values[PANELS][VALUES] = {};  ///< as wgmma holds D
  int exponents[PANELS];

  __device__ __forceinline__ Accumulators() {
#pragma unroll
    for (int& exponent : exponents) {
      exponent = ALL_ZERO;
    }
  }

  /// Whether products of two operand tiles have the exponent of a panel's accumulators, so that they may simply be
  /// added.
  __device__ __forceinline__ bool match(int panel, const Scaling& a, const Scaling& b) const {
    return a.plain + b.plain == exponents[panel];
  }

  /// Brings products and accumulators to the larger of their two exponents, so that no number grows. If the exponents
  /// are too far apart, the accumulators become NaN. `row` and `column` are the places of the thread's first elements
  /// in their panels.
  template <class Scheme>
  __device__ __forceinline__ void bring_together(int panel, float (&products)[VALUES], const Scaling& a,
                                                 const Scaling& b, int row, int column) {
    const int own = a.exponent + b.exponent;
    if (own < ALL_ZERO / 2) {
      return;
    }
    if (own > exponents[panel]) {
      const float shrink = shrinking(own - exponents[panel]);
#pragma unroll
      for (float& value : values[panel]) {
        value *= shrink;
      }
      exponents[panel] = own;
    }
    const float factor = shrinking(exponents[panel] - own);
    const float row_factors[2] = {factor * power_of_2(-Scheme::ROW_STEP * a.rows[row]),
                                  factor * power_of_2(-Scheme::ROW_STEP * a.rows[row + 8])};
#pragma unroll
    for (int i = 0; i < VALUES; ++i) {
      const int own_column = column + i / 4 * 8 + i % 2;
      products[i] *= row_factors[i / 2 % 2] * power_of_2(-Scheme::ROW_STEP * b.rows[own_column]);
    }
  }

  /// Leaves the sums themselves, without a power of two, in `values`.
  __device__ __forceinline__ void undo_scaling() {
#pragma unroll
    for (int panel = 0; panel < PANELS; ++panel) {
      const int exponent = exponents[panel] == ALL_ZERO ? 0 : exponents[panel];
#pragma unroll
      for (float& value : values[panel]) {
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

/// A thread's first row in its panel of A; the other one is 8 further down.
__device__ __forceinline__ int first_row(unsigned thread) { return thread / WARP * 16 + thread % WARP / 4; }
/// A thread's first column in a panel of B, of pairs that lie 8 apart.
__device__ __forceinline__ int first_column(unsigned thread) { return thread % 4 * 2; }

/// A tile by its panels, the first one of B's.
struct Panels {
  int a;
  int b;
};

/// accumulators += A * B for `k_tiles` k-tiles of a tile of C. Returns the place of that tile, which the scalings tell.
/// Computing the place on the Hilbert curve takes longer than multiplying a k-tile, and the producer has computed it
/// already.
template <class Shape>
__device__ __forceinline__ Panels consume_segment(int k_tiles, Rings<typename Shape::Scheme>& rings,
                                                  Accumulators<Shape::PANELS>& accumulators) {
  constexpr int BYTES_OF_GROUP = WGMMA_M * WGMMA_ROW_BYTES;  // of A
  const unsigned group = threadIdx.x / WARPGROUP;
  Panels tile{};
  for (; k_tiles > 0; --k_tiles) {
    rings.a.wait_until_full();
    bool last = Shape::PANELS == 1;
#pragma unroll
    for (int panel = 0; panel < Shape::PANELS; ++panel) {
      if (panel > 0 && last) {
        break;
      }
      float products[64];
      rings.b.wait_until_full();
      start_products<typename Shape::Scheme>(products, rings.a.tile() + group * BYTES_OF_GROUP, rings.b.tile());
      const Scaling& a = scaling_at(rings.a.scaling());
      const Scaling& b = scaling_at(rings.b.scaling());
      const bool match = accumulators.match(panel, a, b);
      if (panel == 0) {
        tile = {a.panel, b.panel};
        last = last || __shfl_sync(~0U, b.followed, 0) == 0;  // at the right edge of C
      } else {
        last = true;
      }
      wgmma_wait_group<0>(products);
      if (!match) {
        accumulators.template bring_together<typename Shape::Scheme>(panel, products, a, b, first_row(threadIdx.x),
                                                                     first_column(threadIdx.x));
      }
      __syncwarp();
      if (threadIdx.x % WARP == 0) {
        mbarrier_arrive(rings.b.empty());
        if (last) {
          mbarrier_arrive(rings.a.empty());
        }
      }
      rings.b.advance();
#pragma unroll
      for (int i = 0; i < 64; ++i) {
        accumulators.values[panel][i] += products[i];
      }
    }
    rings.a.advance();
  }
  return tile;
}

struct Scalars {
  float alpha;
  float beta;
};

/// The scalars of a problem.
__device__ __forceinline__ Scalars scalars_of(const Problem& p) { return {p.alpha, p.beta}; }

/// Computes those of a thread's elements again that no terms add up to: the pairs that `not_finite` has a bit for, as
/// store() counts them.
__device__ __forceinline__ void compute_again(const Problem& p, std::int64_t first_row, std::int64_t first_col,
                                              unsigned not_finite, const Scalars& scalars) {
#pragma unroll 1
  for (int pair = 0; not_finite != 0; ++pair, not_finite >>= 1U) {
    const std::int64_t row = first_row + pair % 2 * 8;
    const std::int64_t col = first_col + pair / 2 * 8;
#pragma unroll 1
    for (int j = 0; j < 2; ++j) {
      if (not_finite % 2 == 1 && row < p.m && col + j < p.n) {
        update(p.c[row * p.ldc + col + j], dot_product(p, row, col + j), scalars.alpha, scalars.beta);
      }
    }
  }
}

/// What consumers still have to do when they have stored their last tile.
template <class Shape>
__device__ __forceinline__ void after_last_tile(const Problem&, const Schedule&) {}

/// Stores a thread's pairs whose sums are finite, and returns a bit for each of the others. `rows` are the addresses of
/// its first elements in two rows of C, and `columns` how many columns C has from there on.
template <bool PAIRS, int VALUES>
__device__ __forceinline__ unsigned store_pairs(float* const (&rows)[2], const int (&columns)[2],
                                                const float (&sums)[VALUES], const Scalars& scalars) {
  unsigned not_finite = 0;
#pragma unroll
  for (int pair = 0; pair < VALUES / 2; ++pair) {
    const int column = pair / 2 * 8;
    const float values[2] = {sums[2 * pair], sums[2 * pair + 1]};
    if (!(std::fabs(values[0] + values[1]) < INFINITY)) {
      not_finite |= 1U << static_cast<unsigned>(pair);
    } else if (column < columns[pair % 2]) {
      float* const c = rows[pair % 2] + column;
      if (PAIRS) {
        update2(c, values, scalars.alpha, scalars.beta);
      } else {
        update(c[0], values[0], scalars.alpha, scalars.beta);
        if (column + 1 < columns[pair % 2]) {
          update(c[1], values[1], scalars.alpha, scalars.beta);
        }
      }
    }
  }
  return not_finite;
}

/// C = alpha * sums + beta * C for a thread's elements of one panel of B, the first at `first_row` and `first_col`.
/// They come in pairs of neighbours. PAIRS: a pair may be stored in one access. If the sum of a pair is not finite,
/// both elements are computed again, because no terms add up to Inf or NaN.
template <bool PAIRS, class P, int VALUES>
__device__ __forceinline__ void store(const P& p, std::int64_t first_row, std::int64_t first_col,
                                      const float (&sums)[VALUES]) {
  const Scalars scalars = scalars_of(p);
  float* const c = p.c + first_row * p.ldc + first_col;
  float* const rows[2] = {c, c + 8 * p.ldc};
  const int width = static_cast<int>(p.n - first_col < PANEL ? p.n - first_col : PANEL);
  const int columns[2] = {first_row < p.m ? width : 0, first_row + 8 < p.m ? width : 0};
  // Once for a beta of 0, so that not every pair asks for it.
  const unsigned not_finite = scalars.beta == 0.0F ? store_pairs<PAIRS>(rows, columns, sums, {scalars.alpha, 0.0F})
                                                   : store_pairs<PAIRS>(rows, columns, sums, scalars);
  compute_again(p, first_row, first_col, not_finite, scalars);
}

/// Partial sums have no scaling. If they are too large for a float then, C is computed again.
template <class Shape>
using PartialSumsOf = PartialSums<Shape::CONSUMER_WARPS, Shape::PANELS, 64>;

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

/// The sums of a segment, of 64 rows of C and the columns of each panel, become C or partial sums.
template <class Shape, bool PAIRS, class P>
__device__ __forceinline__ void finish(const P& p, const Schedule& schedule, const Segment& segment, const Panels& tile,
                                       float (&sums)[Shape::PANELS][64]) {
  if (!collect<PartialSumsOf<Shape>>(schedule, segment, sums)) {
    return;
  }
#pragma unroll
  for (int panel = 0; panel < Shape::PANELS; ++panel) {
    store<PAIRS>(p, static_cast<std::int64_t>(tile.a) * PANEL + first_row(threadIdx.x),
                 static_cast<std::int64_t>(tile.b + panel) * PANEL + first_column(threadIdx.x), sums[panel]);
  }
}

/// A consumer warpgroup: it multiplies and stores segment after segment.
template <class Shape, bool PAIRS, class P>
__device__ __forceinline__ void consume(const P& p, const Schedule& schedule, Rings<typename Shape::Scheme> rings) {
  Work work(schedule);
#pragma unroll 1
  while (!work.done(schedule)) {
    const Segment segment = work.next(schedule);
    Accumulators<Shape::PANELS> accumulators;
    const Panels tile = consume_segment<Shape>(segment.count, rings, accumulators);
    accumulators.undo_scaling();
    finish<Shape, PAIRS>(p, schedule, segment, tile, accumulators.values);
  }
}

/// A block: one thread fills the rings with what the schedule deals out to the block, and consumer threads call
/// `consume` with the rings.
template <class Shape, class P, class Consume>
__device__ __forceinline__ void produce_and_consume(const P& p, const Workspace<typename Shape::Scheme>& workspace,
                                                    const Schedule& schedule, const Consume& consume) {
  const Rings<typename Shape::Scheme> rings(shared_address(dynamic_smem()));
  if (threadIdx.x == 0) {
    rings.a.init(Shape::CONSUMER_WARPS);
    rings.b.init(Shape::CONSUMER_WARPS);
    fence_mbarrier_init();
  }
  __syncthreads();
  if (threadIdx.x >= Shape::CONSUMER_THREADS) {
    setmaxnreg_dec<Shape::PRODUCER_REGISTERS>();
    if (threadIdx.x == Shape::CONSUMER_THREADS) {
      produce<Shape>(p, schedule, workspace, rings);
    }
  } else {
    setmaxnreg_inc<Shape::CONSUMER_REGISTERS>();
    consume(rings);
  }
}

/// The tiles of C, dealt out to blocks by the schedule. PAIRS: rows of C split into aligned pairs. P is a Problem, or
/// something derived from it.
template <class Shape, bool PAIRS, class P>
__device__ __forceinline__ void multiply(const P& p, void* memory, const Schedule& schedule) {
  using Scheme = typename Shape::Scheme;
  produce_and_consume<Shape>(p, Workspace<Scheme>(p, memory), schedule, [&](const Rings<Scheme>& rings) {
    consume<Shape, PAIRS>(p, schedule, rings);
    after_last_tile<Shape>(p, schedule);
  });
}

}  // namespace split_product
}  // namespace SGEMM_TARGET
}  // namespace sgemm
