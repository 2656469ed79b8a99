// Chapter 17: each FP32 product becomes six INT8 products, by mma.sync on every GPU since Ampere
//
// Against 16: the numbers are the digits of 13, three of 8 bits, and sums of their products are exact integers. So the
// loop has no scales, and no FP32 unit adds. But there are three sums for each element of C, one for each power of 256,
// and a warp has room for half as many elements:
//
//   block 128 x 128           warp 64 x 32: 4 x 4 tiles of 16 x 8      mma 16 x 8 x 32, lane = 4 r + q
//   +----+----+----+----+     192 sums a thread                        A  rows r, r + 8   k 4q to 4q + 3, and 16 more
//   | w0 | w1 | w2 | w3 |     for 32 of 64 k: 96 mma,                  B  columns r       k 4q to 4q + 3, and 16 more
//   +----+----+----+----+     12 ldmatrix of A, 6 of B                 C  rows r, r + 8   columns 2q, 2q + 1
//   | w4 | w5 | w6 | w7 |
//   +----+----+----+----+
//
//   digits     by the kernels of 13, in the order of 16. A row of a slot has 64 bytes in both chapters.
//   registers  hold the digits of a warp's 32 columns, 24 of them. The rows of A come 16 at a time.
//   bits       are those of 13's whole tiles: integers add up to the same in any order, and 13's code makes floats of
//              them. INT32 has room for 43648 k. More take several launches, which add up in memory.
//
// Traffic per element of C: k / 128 numbers of A and of B from global memory, three digits of a byte each; k / 32 of A
// and k / 64 of B from shared memory.
// Limit: tensor cores, six products for each one in FP32, at the rate of mma.sync.

#include "common/problem.hpp"
#include "common/vector_access.cuh"
#include "engine/int8_operands.cuh"
#include "engine/int8_product.cuh"
#include "engine/mma_operands.cuh"
#include "engine/product_policy.cuh"
#include "engine/split_operands.cuh"
#include "engine/split_product.cuh"
#include "engine/split_schemes.cuh"
#include "engine/stream_k.cuh"
#include "host/alignment.hpp"
#include "host/chapter.cuh"
#include "host/int8_launch.cuh"
#include "host/launch.cuh"
#include "ptx/cp_async.cuh"
#include "ptx/ldmatrix.cuh"
#include "ptx/mma.cuh"
#include "ptx/shared_memory.cuh"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace sgemm {
namespace {

using namespace split_product;
using int8::SUMS;
using Scheme = Int8x6;  // three digits
using Half = HalfTile<Scheme>;
using BlockTile = int8::Shape;  // 128x128

constexpr int WM = 64;  // warp tile
constexpr int WN = 32;
constexpr int WARPS_N = BlockTile::BN / WN;
constexpr int WARPS = BlockTile::BM / WM * WARPS_N;
constexpr int THREADS = WARPS * WARP;
static_assert(THREADS == BlockTile::CONSUMER_THREADS);  // as int8::reset() expects
constexpr int TILES_M = WM / MMA_M;
constexpr int TILES_N = WN / MMA_N;
/// Of an operand tile of A and one of B.
template <int SLOTS>
using Copies = HalfTileCopies<Scheme, 2, SLOTS, THREADS>;

/// A thread's sums of 64 x 32 elements of C, in 4 x 4 tiles as mma.sync holds D: of each 16 rows one for each power of
/// 256, the largest power first.
using Sums = int[TILES_M][SUMS][4 * TILES_N];

/// sums += A * B for a warp and number `k` of the instructions along k of half a k-tile. `a` and `b` are this lane's
/// rows of the half.
__device__ __forceinline__ void multiply(unsigned a, unsigned b, int k, Sums& sums) {
  // Digits i and j of numbers from 0 on, the largest first. Neighbours go to different sums.
  constexpr TermsOfProduct PRODUCTS[Scheme::PRODUCTS] = {{0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 1}, {2, 0}};
  unsigned b_digits[Scheme::TERMS][TILES_N / 2][4];
#pragma unroll
  for (int digit = 0; digit < Scheme::TERMS; ++digit) {
#pragma unroll
    for (int pair = 0; pair < TILES_N / 2; ++pair) {
      ldmatrix_x4(b_digits[digit][pair],
                  (b ^ k * MMA_BYTES) + digit * Half::TERM_BYTES + pair * 2 * MMA_N * HALF_ROW_BYTES);
    }
  }
#pragma unroll
  for (int i = 0; i < TILES_M; ++i) {
    unsigned a_digits[Scheme::TERMS][4];
#pragma unroll
    for (int digit = 0; digit < Scheme::TERMS; ++digit) {
      ldmatrix_x4(a_digits[digit], (a ^ k * MMA_BYTES) + digit * Half::TERM_BYTES + i * MMA_M * HALF_ROW_BYTES);
    }
#pragma unroll
    for (const TermsOfProduct digits : PRODUCTS) {
#pragma unroll
      for (int j = 0; j < TILES_N; ++j) {
        const unsigned* const b_digit = &b_digits[digits.b][j / 2][j % 2 * 2];
        mma_m16n8k32_s8(&sums[i][digits.a + digits.b][4 * j], a_digits[digits.a], b_digit[0], b_digit[1]);
      }
    }
  }
}

#ifndef SGEMM_MAIN_LOOP_ONLY

/// Makes elements of C of the sums of `piece` k-tiles...
template <Access ACCESS>
__global__ void __launch_bounds__(SPLIT_THREADS) int8x6_mma_maxima_kernel(Problem p, void* maxima) {
  int8::find_maxima<ACCESS>(p, maxima);
}

template <Access ACCESS>
__global__ void __launch_bounds__(SPLIT_THREADS, SPLIT_BLOCKS_PER_SM)
    int8x6_mma_split_kernel(Problem p, void* maxima, void* workspace) {
  int8::split<ACCESS, HalvesOrder>(p, maxima, workspace);
}

template <Access ACCESS>
__global__ void __launch_bounds__(SPLIT_THREADS, int8::LINES_BLOCKS_PER_SM)
    int8x6_mma_split_lines_kernel(Problem p, void* workspace, int8::LinesOfCluster share) {
  int8::split_lines<ACCESS, HalvesOrder>(p, workspace, share);
}

/// The k-tiles that one launch multiplies. Where K is so long that a sum might leave INT32's range, there are several
/// launches, which add up in memory.
struct Piece {
  int first;
  int end;
  Schedule memory;
};

template <int SLOTS, Access ACCESS>
__global__ void __launch_bounds__(THREADS, 1)
    int8x6_mma_kernel(Problem p, void* maxima_memory, void* memory, Piece piece) {
  using Policy = OneProduct<BlockTile, ACCESS>;
  const Workspace<Scheme> workspace(p, memory);
  const Tile tile = Policy::tile_at(p, static_cast<int>(blockIdx.x));
  const int lane = threadIdx.x % WARP;
  const int warp_row = static_cast<int>(threadIdx.x) / WARP / WARPS_N * WM;
  const int warp_column = static_cast<int>(threadIdx.x) / WARP % WARPS_N * WN;

  const int halves = (piece.end - piece.first) * HALVES;
  const std::int64_t a_tile = std::int64_t{tile.a} * workspace.k_tiles() + piece.first;
  const std::int64_t b_tile = (std::int64_t{workspace.a_tiles()} + tile.b) * workspace.k_tiles() + piece.first;
  Copies<SLOTS> copies(shared_address(dynamic_smem()), {workspace.terms(a_tile), workspace.terms(b_tile)}, halves);

  const unsigned a_lane = lane_in_a(warp_row, lane);
  const unsigned b_lane = Half::BYTES + lane_in_b(warp_column, lane);
  const int row = warp_row + lane / 4;  // of this thread's first sum
  const int column = warp_column + 2 * (lane % 4);
  Sums sums = {};
#pragma unroll 1
  for (int half = 0; half < halves; ++half) {
    copies.start_next();
    const unsigned slot = copies.wait();
#pragma unroll
    for (int k = 0; k < MMAS_OF_HALF; ++k) {
      multiply(slot + a_lane, slot + b_lane, k, sums);
    }
    copies.release();
  }

  const unsigned char* const rows = workspace.scaling(a_tile)->rows + row;
  const unsigned char* const columns = workspace.scaling(b_tile)->rows + column;
  float totals[TILES_M][4 * TILES_N];
#pragma unroll
  for (int i = 0; i < TILES_M; ++i) {
    int8::add_up(sums[i], totals[i]);
    int8::undo_scaling(int8::LineCodes<4 * TILES_N>(rows + i * MMA_M, columns), totals[i]);
  }
  const PartialSums<THREADS / WARP, TILES_M, 4 * TILES_N> other_pieces(piece.memory, static_cast<int>(blockIdx.x));
  if (piece.first > 0) {
    other_pieces.add_to(totals);
  }
  if (piece.end < workspace.k_tiles()) {
    other_pieces.put(totals);
    return;
  }
#pragma unroll
  for (int i = 0; i < TILES_M; ++i) {
    store_sums<Policy, ACCESS>(p, std::int64_t{tile.a} * TILE_ROWS + row + i * MMA_M,
                               std::int64_t{tile.b} * TILE_ROWS + column, totals[i]);
  }
  int8::reset(int8::Maxima(p, maxima_memory));
}

constexpr int8::SplitKernels SPLIT{
    int8x6_mma_maxima_kernel<Access::float4>,      int8x6_mma_maxima_kernel<Access::float1>,
    int8x6_mma_split_kernel<Access::float4>,       int8x6_mma_split_kernel<Access::float1>,
    int8x6_mma_split_lines_kernel<Access::float4>, int8x6_mma_split_lines_kernel<Access::float1>};

template <int SLOTS>
Configuration configuration_with(const Problem& p) {
  using Memory = SharesMemory<THREADS / WARP, TILES_M, 4 * TILES_N>;
  const bool cut = k_tiles_of<Scheme>(p) > int8::MOST_K_TILES;
  const int tiles = static_cast<int>(tile_count<BlockTile>(p));
  const std::size_t maxima_at = cut ? Memory::bytes(tiles) : 0;
  const std::size_t operands_at = maxima_at + int8::Maxima(p, nullptr).bytes();
  const auto run = [=](const Problem& problem, void* workspace, cudaStream_t stream) {
    void* const maxima = static_cast<char*>(workspace) + maxima_at;
    void* const operands = static_cast<char*>(workspace) + operands_at;
    int8::launch_split(SPLIT, problem, maxima, operands, stream, [](auto... arguments) { launch(arguments...); });
    const bool pairs = rows_split_into_float2(problem.c, problem.n, problem.ldc);
    const auto k_tiles = static_cast<int>(k_tiles_of<Scheme>(problem));
    Piece piece{};
    Memory::place(piece.memory, workspace, tiles);
    for (; piece.first < k_tiles; piece.first = piece.end) {
      piece.end = std::min(piece.first + int8::MOST_K_TILES, k_tiles);
      launch(pairs ? int8x6_mma_kernel<SLOTS, Access::float2> : int8x6_mma_kernel<SLOTS, Access::float1>, tiles,
             dim3(THREADS), Copies<SLOTS>::SMEM_BYTES, stream, problem, maxima, operands, piece);
    }
  };
  return {"", operands_at + Workspace<Scheme>(p, nullptr).bytes(), run, operands_at};
}

/// Three slots let warps drift apart by half a k-tile. Where an SM has no room for them, there are two.
bool fits_three_slots() { return Copies<3>::SMEM_BYTES <= current_device().smem_bytes; }

Configuration configuration(const Problem& p) {
  return fits_three_slots() ? configuration_with<3>(p) : configuration_with<2>(p);
}

template <int SLOTS>
Resources resources() {
  return resources_of(int8x6_mma_kernel<SLOTS, Access::float2>, THREADS, Copies<SLOTS>::SMEM_BYTES);
}

const Registration registered =
    Chapter(17, "int8x6_mma")
        .summary("six INT8 products by mma.sync for each FP32 product, the digits and results of 13")
        .source("Ootomo, Ozaki and Yokota")
        .min_compute_capability(80)
        .accuracy(AccuracyClass::int8_split)
        .configuration(configuration)
        .blocks_per_sm(1)
        .resources([] { return fits_three_slots() ? resources<3>() : resources<2>(); })
        .registration();

#endif

}  // namespace
}  // namespace sgemm
