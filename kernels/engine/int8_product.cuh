#pragma once

// FP32 products on 8-bit tensor cores (sm_90a), second half: the kernel that multiplies operand tiles of digits.
// Chapter 13 explains this code.

#include "common/problem.hpp"
#include "engine/int8_operands.cuh"
#include "engine/split_product.cuh"
#include "engine/split_schemes.cuh"
#include "engine/split_terms.cuh"
#include "engine/stream_k.cuh"
#include "ptx/griddepcontrol.cuh"
#include "ptx/mbarrier.cuh"
#include "ptx/wgmma.cuh"

#include <cmath>
#include <cstdint>
#include <limits>

namespace sgemm {
inline namespace SGEMM_TARGET {
namespace split_product {
namespace int8 {

using Shape = Tile128x128<Int8x6>;

/// A thread's sums of products of digits, exact in INT32: one for each power of 256, the largest power first. Products
/// of digits i and j go to sum i + j. The sums of a thread lie as wgmma holds D.
constexpr int SUMS = 3;
using DigitSums = int[SUMS][64];

/// How many k-tiles can be summed before a sum might leave INT32's range. A digit is at least -128, so that a product
/// is at most 2^14, and the last sum takes three of them for each k. The other sums take two and one, which leaves room
/// for the carries of add_up().
constexpr int MOST_K_TILES = 341;
constexpr std::int64_t LARGEST_SUM = std::int64_t{MOST_K_TILES} * Int8x6::BK * 3 * (128 * 128);
static_assert(LARGEST_SUM <= std::numeric_limits<int>::max());

/// Starts the products of the digits of two operand tiles, which are added to `sums`.
__device__ __forceinline__ void start_products(DigitSums& sums, unsigned a_tile, unsigned b_tile) {
  const std::uint64_t a = wgmma_descriptor(a_tile);
  const std::uint64_t b = wgmma_descriptor(b_tile);
  wgmma_fence();
#pragma unroll
  for (int product = 0; product < Int8x6::PRODUCTS; ++product) {
    const TermsOfProduct digits = Int8x6::product(product);
#pragma unroll
    for (int k_block = 0; k_block < Int8x6::BK / WGMMA_INTEGER_K; ++k_block) {
      wgmma_m64n128k32(sums[digits.a + digits.b],
                       wgmma_descriptor_at(a, digits.a * OperandTile<Int8x6>::TERM_BYTES + k_block * WGMMA_INTEGER_K),
                       wgmma_descriptor_at(b, digits.b * OperandTile<Int8x6>::TERM_BYTES + k_block * WGMMA_INTEGER_K),
                       true);
    }
  }
  wgmma_commit_group();
}

/// sums += A * B for `k_tiles` k-tiles of a tile of C. Returns the place of that tile, which the operand tiles tell.
__device__ __forceinline__ Panels add_products(int k_tiles, Rings<Int8x6>& rings, DigitSums& sums) {
  constexpr int BYTES_OF_GROUP = WGMMA_M * WGMMA_ROW_BYTES;  // of a digit of A
  const unsigned group = threadIdx.x / WARPGROUP;
  Panels tile{};
#pragma unroll 1
  for (; k_tiles > 0; --k_tiles) {
    rings.a.wait_until_full();
    rings.b.wait_until_full();
    start_products(sums, rings.a.tile() + group * BYTES_OF_GROUP, rings.b.tile());
    tile = {scaling_at(rings.a.scaling()).panel, scaling_at(rings.b.scaling()).panel};
    wgmma_wait_group<0>(sums);
    __syncwarp();
    if (threadIdx.x % WARP == 0) {
      mbarrier_arrive(rings.a.empty());
      mbarrier_arrive(rings.b.empty());
    }
    rings.a.advance();
    rings.b.advance();
  }
  return tile;
}

/// A thread's sums of each power of 256 added up, in units of UNIT: sums[0] * 2^16 + sums[1] * 2^8 + sums[2]. Carries
/// leave a byte of each of the two smaller sums, so that floats hold all that may have to be exact: a total of 24 bits
/// or fewer is not rounded, and any other total is rounded twice.
constexpr float UNIT = 0x1p-28F;
__device__ __forceinline__ void add_up(const DigitSums& sums, float (&totals)[64]) {
#pragma unroll
  for (int i = 0; i < 64; ++i) {
    const int middle = sums[1][i] + (sums[2][i] >> 8);
    const int high = sums[0][i] + (middle >> 8);
    const int low = (middle & 0xFF) << 8 | (sums[2][i] & 0xFF);
    totals[i] = fmaf(static_cast<float>(high), 0x1p16F * UNIT, static_cast<float>(low) * UNIT);
  }
}

/// The factor of a line that, multiplied by another one's, undoes their scaling in totals. A number of a line is an
/// integer times 2^(code - LARGEST_EXPONENT), and totals are in units of the product of two second digits, 2^16. That
/// leaves 2^(code - 127), whose exponent bits are the code. The factor is Inf if the line has no scale.
__device__ __forceinline__ float undoing(int code) {
  static_assert(2 * (LARGEST_EXPONENT - EXPONENT_BIAS) - 2 * 8 == 28);  // as in UNIT
  return __uint_as_float(static_cast<unsigned>(code) << MANTISSA_BITS);
}

/// Undoes the scaling of totals. They become Inf or NaN, so that their elements of C are computed again, if their row
/// or column has no scale, or if the product of both factors is no normal float. All other results are right: with
/// factors of a larger product they would be near Inf, and with one of a smaller product denormal.
__device__ __forceinline__ void undo_scaling(const Workspace<Int8x6>& workspace, const Panels& tile,
                                             float (&totals)[64]) {
  const std::int64_t a_tile = std::int64_t{tile.a} * workspace.k_tiles();
  const std::int64_t b_tile = (std::int64_t{workspace.a_panels()} + tile.b) * workspace.k_tiles();
  const unsigned char* const rows = workspace.scaling(a_tile)->rows + first_row(threadIdx.x);
  const unsigned char* const columns = workspace.scaling(b_tile)->rows + first_column(threadIdx.x);
  constexpr float SMALLEST_NORMAL = 0x1p-126F;
  const float of_rows[2] = {undoing(rows[0]), undoing(rows[8])};
#pragma unroll
  for (int pair = 0; pair < 16; ++pair) {
    const uchar2 codes = *reinterpret_cast<const uchar2*>(columns + pair * 8);
    const float of_columns[2] = {undoing(codes.x), undoing(codes.y)};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float factor = of_rows[i / 2] * of_columns[i % 2];
      totals[pair * 4 + i] *= factor >= SMALLEST_NORMAL ? factor : NAN;
    }
  }
}

/// A segment's share of C. Sums of many k are cut into pieces, whose totals add up in the workspace.
__device__ __forceinline__ Panels consume_segment(const Workspace<Int8x6>& workspace, const Schedule& schedule,
                                                  const Segment& segment, Rings<Int8x6>& rings,
                                                  float (&totals)[1][64]) {
  const PartialSumsOf<Shape> pieces(schedule, static_cast<int>(gridDim.x) + Work::share());
  Panels tile{};
#pragma unroll 1
  for (int done = 0; done < segment.count; done += MOST_K_TILES) {
    const int left = segment.count - done;
    DigitSums sums = {};
    tile = add_products(left < MOST_K_TILES ? left : MOST_K_TILES, rings, sums);
    add_up(sums, totals[0]);
    undo_scaling(workspace, tile, totals[0]);
    if (done > 0) {
      pieces.add_to(totals);
    }
    if (left > MOST_K_TILES) {
      pieces.put(totals);
    }
  }
  return tile;
}

/// A consumer warpgroup: it multiplies and stores segment after segment.
template <bool PAIRS, class P>
__device__ __forceinline__ void consume(const P& p, const Workspace<Int8x6>& workspace, const Schedule& schedule,
                                        Rings<Int8x6> rings) {
  Work work(schedule);
#pragma unroll 1
  while (!work.done(schedule)) {
    const Segment segment = work.next(schedule);
    float totals[1][64];
    const Panels tile = consume_segment(workspace, schedule, segment, rings, totals);
    finish<Shape, PAIRS>(p, schedule, segment, tile, totals);
  }
}

/// Puts the maxima back to 0, each consumer a part of them.
__device__ __forceinline__ void reset(const Maxima& maxima) {
  griddepcontrol_wait();  // until the kernel that reads them has ended
#pragma unroll 1
  for (std::int64_t line = std::int64_t{blockIdx.x} * Shape::CONSUMER_THREADS + threadIdx.x; line < maxima.count();
       line += std::int64_t{gridDim.x} * Shape::CONSUMER_THREADS) {
    maxima.of_a()[line] = 0;
  }
}

/// The tiles of C, dealt out to blocks by the schedule. PAIRS: rows of C split into aligned pairs.
template <bool PAIRS>
__device__ __forceinline__ void multiply(const Problem& p, void* maxima_memory, void* memory,
                                         const Schedule& schedule) {
  const Workspace<Int8x6> workspace(p, memory);
  produce_and_consume<Shape>(p, workspace, schedule, [&](const Rings<Int8x6>& rings) {
    const Maxima maxima(p, maxima_memory);
    consume<PAIRS>(p, workspace, schedule, rings);
    reset(maxima);
  });
}

}  // namespace int8
}  // namespace split_product
}  // namespace SGEMM_TARGET
}  // namespace sgemm
