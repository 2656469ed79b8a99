#pragma once

// What 13 and 15 have in common: digits in operand tiles, and products of these tiles by wgmma. The chapters differ in
// what they make of the sums.

#include "common/ceil_div.hpp"
#include "common/hilbert.hpp"
#include "common/problem.hpp"
#include "common/split_lines.cuh"
#include "common/target.hpp"
#include "ptx/cp_async_bulk.cuh"
#include "ptx/griddepcontrol.cuh"
#include "ptx/mbarrier.cuh"
#include "ptx/shared_memory.cuh"
#include "ptx/wgmma.cuh"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace sgemm::SGEMM_TARGET::int8_tiles {

constexpr int WARP = 32;
constexpr int TILE = TILE_LINES;    // rows of A, or columns of B, of an operand tile
constexpr int BK = Int8Digits::BK;  // its k: a byte of each digit
constexpr int DIGITS = Int8Digits::TERMS;
constexpr int DIGIT_BYTES = TILE * WGMMA_ROW_BYTES;

/// What follows an operand tile's digits: the codes of its lines' scales, and its number along M or N.
struct alignas(128) Scales {  // so that tiles begin with a line of the L2
  unsigned char codes[TILE];
  int tile;
};
constexpr int TILE_BYTES = DIGITS * DIGIT_BYTES + static_cast<int>(sizeof(Scales));

/// The operand tiles. Those of the same lines follow one another along k, and those of B come after those of A.
struct Operands {
  int a_tiles;
  int b_tiles;
  int k_tiles;  ///< at least one, of zeros where K is 0
  unsigned char* memory;

  static Operands of(const Problem& p, void* memory) {
    const auto tiles = [](std::int64_t lines) { return static_cast<int>(ceil_div<std::int64_t>(lines, TILE)); };
    return {tiles(p.m), tiles(p.n), std::max(tiles(p.k), 1), static_cast<unsigned char*>(memory)};
  }
  /// In front of them is how many k-tiles all blocks together have begun to copy.
  __device__ unsigned* progress() const { return reinterpret_cast<unsigned*>(memory); }
  __device__ unsigned char* tile(std::int64_t number) const { return memory + 128 + number * TILE_BYTES; }
  __host__ __device__ std::int64_t count() const { return (std::int64_t{a_tiles} + b_tiles) * k_tiles; }
  std::size_t bytes() const { return 128 + static_cast<std::size_t>(count()) * TILE_BYTES; }
};

/// How many k-tiles can be summed before a sum might leave INT32's range. A product of digits is at most 2^14, and the
/// last sum takes three of them for each k. The others take two and one, which leaves room for carries.
constexpr int MOST_K_TILES = 341;
static_assert(std::int64_t{MOST_K_TILES} * BK * 3 * 128 * 128 <= INT32_MAX);

/// Writes the digits of eight lines in each block.
__device__ __forceinline__ void split_into_tiles(const Problem& p, const Operands& operands) {
  griddepcontrol_launch_dependents();
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    *operands.progress() = 0;
  }
  split_lines<Int8Digits>(
      p, operands.a_tiles, operands.k_tiles, dynamic_smem(),
      [&](const Group& at, unsigned code, const uint4(&digits)[DIGITS]) {
        unsigned char* const to = operands.tile(std::int64_t{at.tile} * operands.k_tiles + at.k_tile);
#pragma unroll
        for (int digit = 0; digit < DIGITS; ++digit) {
          *reinterpret_cast<uint4*>(to + digit * DIGIT_BYTES + swizzled(at.row * WGMMA_ROW_BYTES + at.number * 16)) =
              digits[digit];
        }
        Scales& scales = *reinterpret_cast<Scales*>(to + DIGITS * DIGIT_BYTES);
        if (at.number == 0) {
          scales.codes[at.row] = static_cast<unsigned char>(code);
          if (at.row == 0) {
            scales.tile = at.of_a ? at.tile : at.tile - operands.a_tiles;
          }
        }
      });
}

constexpr int CONSUMERS = 2 * WARPGROUP;
constexpr int THREADS = CONSUMERS + WARPGROUP;
// 64 Ki registers make 168 for each of 384 threads. Producers leave all but 40 of theirs over for the consumers.
constexpr int PRODUCER_REGISTERS = 40;
constexpr int CONSUMER_REGISTERS = 232;
// In a stage, the tile of B lies behind that of A.
constexpr int B_AT = ceil_div(TILE_BYTES, WGMMA_ALIGNMENT) * WGMMA_ALIGNMENT;
using Ring = StageRing<2, 2 * B_AT>;

/// The producer thread. Every other round of tiles goes back along k: its first k-tiles are in the L2 still.
__device__ __forceinline__ void produce(const Operands& operands, Ring stage) {
  const int tiles = operands.a_tiles * operands.b_tiles;
  const int blocks = static_cast<int>(gridDim.x);
  // Blocks of a round share operand tiles. They wait while they are more than two k-tiles ahead of the average, or else
  // the L2 has lost a tile when the last of them asks for it. Few rounds end before blocks are far apart. The
  // executor's blocks take turns.
  const int rounds = TARGET == Target::for_gpu ? tiles / blocks : 0;
  int in_window = rounds < 8 ? 0 : rounds * operands.k_tiles;
  unsigned even = 0;  // what all blocks together have begun when all are where this one is
  bool back = false;
  griddepcontrol_wait();
  for (int i = static_cast<int>(blockIdx.x); i < tiles; i += blocks, back = !back) {
    const TileIndex tile = hilbert_tile(i, operands.a_tiles, operands.b_tiles);
    const unsigned char* const a = operands.tile(std::int64_t{tile.row} * operands.k_tiles);
    const unsigned char* const b = operands.tile((std::int64_t{operands.a_tiles} + tile.col) * operands.k_tiles);
    for (int step = 0; step < operands.k_tiles; ++step) {
      if (in_window > 0) {
        even += gridDim.x;
        int looks = 128;  // a block gives up at last: another kernel may have the SM of the one that it waits for
        for (unsigned all = atomicAdd(operands.progress(), 1U); looks > 0 && all + 2 * gridDim.x < even; --looks) {
          all = atomicAdd(operands.progress(), 0U);
        }
        in_window = looks > 0 ? in_window - 1 : 0;
      }
      const std::int64_t at = std::int64_t{back ? operands.k_tiles - 1 - step : step} * TILE_BYTES;
      stage.wait_until_empty();
      mbarrier_arrive_expect_tx(stage.full(), 2 * TILE_BYTES);
      cp_async_bulk(stage.data(), a + at, TILE_BYTES, stage.full());
      cp_async_bulk(stage.data() + B_AT, b + at, TILE_BYTES, stage.full());
      stage.advance();
    }
  }
}

/// Starts the products of 64 rows of a tile of A by a tile of B. Those of digits i and j are added to sums[i + j].
__device__ __forceinline__ void start_products(int (&sums)[3][64], unsigned a_tile, unsigned b_tile) {
  constexpr int PRODUCTS[6][2] = {{2, 0}, {1, 1}, {0, 2}, {1, 0}, {0, 1}, {0, 0}};  // digits of A and B, from 0 on
  const std::uint64_t a = wgmma_descriptor(a_tile);
  const std::uint64_t b = wgmma_descriptor(b_tile);
  wgmma_fence();
#pragma unroll
  for (int i = 0; i < 6; ++i) {
#pragma unroll
    for (int k = 0; k < BK; k += WGMMA_INTEGER_K) {
      wgmma_m64n128k32(sums[PRODUCTS[i][0] + PRODUCTS[i][1]], wgmma_descriptor_at(a, PRODUCTS[i][0] * DIGIT_BYTES + k),
                       wgmma_descriptor_at(b, PRODUCTS[i][1] * DIGIT_BYTES + k), true);
    }
  }
  wgmma_commit_group();
}

/// The codes of the lines of a tile of A, or of B, that lies at this shared address, and its number.
__device__ __forceinline__ const Scales& scales_behind(unsigned tile) {
  return *static_cast<const Scales*>(from_shared_address(tile + DIGITS * DIGIT_BYTES));
}

}  // namespace sgemm::SGEMM_TARGET::int8_tiles
