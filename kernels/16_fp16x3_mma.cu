// Chapter 16: each FP32 product becomes three FP16 products, by mma.sync on every GPU since Ampere
//
// Against 10: operands are split once, by a kernel of their own, into the scaled FP16 terms of 12. The loop copies
// terms, loads them as mma.sync wants them, and multiplies:
//
//   global memory    operand tiles of 128 rows or columns by 64 k, two terms of 16 KB each, split and scaled as in 12
//        |           cp.async, half a k-tile at a time
//   shared memory    a ring of slots, each with the same 32 k of all operand tiles of the block, and two barriers
//        |           ldmatrix: four matrices of 8 x 8 terms in one instruction
//   registers        the terms of 64 rows of A and of 16 columns of B
//        |           mma.sync: a2 b1, a1 b2 and a1 b1 for 32 k, from 0 on
//   products         FP32 units add them to the sums over all k
//
//   block 128 x 256           warp 64 x 64: 4 x 8 tiles of 16 x 8      mma 16 x 8 x 16, lane = 4 r + q
//   +----+----+----+----+     128 sums a thread                        A  rows r, r + 8   k 2q, 2q + 1, and 8 more
//   | w0 | w1 | w2 | w3 |     for 16 of 32 k: 96 mma,                  B  columns r       k 2q, 2q + 1, and 8 more
//   +----+----+----+----+     8 ldmatrix of A, 8 of B                  C  rows r, r + 8   columns 2q, 2q + 1
//   | w4 | w5 | w6 | w7 |
//   +----+----+----+----+     or two blocks of 128 x 128 on an SM, by four such warps each
//
//   order      the kernel that splits writes terms as they will lie in shared memory. ldmatrix reads the same 16 bytes
//              of eight rows at a time, which lie in distinct banks, because groups of 16 bytes change places in a row.
//   scales     mostly the sums have the power of two of the next products. Otherwise they are multiplied before a
//              k-tile and after it, so that the loop itself knows nothing of scales.
//   Inf, NaN   and what else has no terms: as in 12, these elements of C are computed again without tensor cores.
//
// Traffic per element of C: k / 256 numbers of A and k / 128 of B from global memory, two terms of 2 bytes each; k / 64
// of each from shared memory.
// Limit: tensor cores, three products for each one in FP32, at the rate of mma.sync.

#include "common/ceil_div.hpp"
#include "common/problem.hpp"
#include "common/vector_access.cuh"
#include "engine/mma_operands.cuh"
#include "engine/product_policy.cuh"
#include "engine/split_operands.cuh"
#include "engine/split_product.cuh"
#include "engine/split_schemes.cuh"
#include "engine/sums_scale.cuh"
#include "host/alignment.hpp"
#include "host/chapter.cuh"
#include "host/cost_model.cuh"
#include "host/launch.cuh"
#include "ptx/ldmatrix.cuh"
#include "ptx/mma.cuh"
#include "ptx/shared_memory.cuh"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace sgemm {
namespace {

using namespace split_product;
using Scheme = Fp16x3;  // two FP16 terms
using Half = HalfTile<Scheme>;

constexpr int WM = 64;  // rows of a warp tile
constexpr int TILES_M = WM / MMA_M;

/// A block's tile: an operand tile of A by B_TILES of B, warp tiles of 64 x WN, and a ring of SLOTS slots, each for
/// half a k-tile.
template <int B_TILES_, int WN_, int SLOTS, int BLOCKS_PER_SM_>
struct MmaTile {
  static constexpr int B_TILES = B_TILES_;
  static constexpr int WN = WN_;
  static constexpr int BLOCKS_PER_SM = BLOCKS_PER_SM_;
  static constexpr int BM = TILE_ROWS;
  static constexpr int BN = TILE_ROWS * B_TILES;
  static constexpr int WARPS_N = BN / WN;
  static constexpr int TILES_N = WN / MMA_N;
  static constexpr int WARPS = BM / WM * WARPS_N;
  static constexpr int THREADS = WARPS * WARP;
  using Copies = HalfTileCopies<Scheme, 1 + B_TILES, SLOTS, THREADS>;
};

/// A thread's sums of a warp tile, in TILES_M x TILES_N tiles as mma.sync holds D.
template <int TILES_N>
using Sums = float[TILES_M][4 * TILES_N];

/// sums += A * B for a warp and half a k-tile. `a` and `b` are this lane's rows of the half.
template <int TILES_N>
__device__ __forceinline__ void multiply(unsigned a, unsigned b, Sums<TILES_N>& sums) {
  constexpr TermsOfProduct PRODUCTS[Scheme::PRODUCTS] = {{1, 0}, {0, 1}, {0, 0}};  // the smallest first
  unsigned a_terms[MMAS_OF_HALF][Scheme::TERMS][TILES_M][4];
#pragma unroll
  for (int k = 0; k < MMAS_OF_HALF; ++k) {
#pragma unroll
    for (int term = 0; term < Scheme::TERMS; ++term) {
#pragma unroll
      for (int i = 0; i < TILES_M; ++i) {
        ldmatrix_x4(a_terms[k][term][i], (a ^ k * MMA_BYTES) + term * Half::TERM_BYTES + i * MMA_M * HALF_ROW_BYTES);
      }
    }
  }
#pragma unroll
  for (int pair = 0; pair < TILES_N / 2; ++pair) {
    unsigned b_terms[MMAS_OF_HALF][Scheme::TERMS][4];
#pragma unroll
    for (int k = 0; k < MMAS_OF_HALF; ++k) {
#pragma unroll
      for (int term = 0; term < Scheme::TERMS; ++term) {
        ldmatrix_x4(b_terms[k][term],
                    (b ^ k * MMA_BYTES) + term * Half::TERM_BYTES + pair * 2 * MMA_N * HALF_ROW_BYTES);
      }
    }
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      float products[TILES_M][4] = {};
#pragma unroll
      for (int k = 0; k < MMAS_OF_HALF; ++k) {
#pragma unroll
        for (const TermsOfProduct terms : PRODUCTS) {
          const unsigned(&b_term)[4] = b_terms[k][terms.b];
#pragma unroll
          for (int i = 0; i < TILES_M; ++i) {
            mma_m16n8k16_fp16(products[i], a_terms[k][terms.a][i], b_term[2 * j], b_term[2 * j + 1], products[i]);
          }
        }
      }
#pragma unroll
      for (int i = 0; i < TILES_M; ++i) {
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          sums[i][(2 * pair + j) * 4 + e] += products[i][e];
        }
      }
    }
  }
}

#ifndef SGEMM_MAIN_LOOP_ONLY

template <Access ACCESS>
__global__ void __launch_bounds__(SPLIT_THREADS, SPLIT_BLOCKS_PER_SM) fp16x3_mma_split_kernel(Problem p, void* memory) {
  split<Scheme, ACCESS, HalvesOrder>(p, memory);
}

template <class BlockTile, Access ACCESS>
__global__ void __launch_bounds__(BlockTile::THREADS, BlockTile::BLOCKS_PER_SM)
    fp16x3_mma_kernel(Problem p, void* memory) {
  using Policy = OneProduct<BlockTile, ACCESS>;
  const Workspace<Scheme> workspace(p, memory);
  const Tile tile = Policy::tile_at(p, static_cast<int>(blockIdx.x));
  const int lane = threadIdx.x % WARP;
  const int warp_row = static_cast<int>(threadIdx.x) / WARP / BlockTile::WARPS_N * WM;
  const int warp_column = static_cast<int>(threadIdx.x) / WARP % BlockTile::WARPS_N * BlockTile::WN;

  // The block's operand tiles along k. At the right edge of C there may be one of B only, which is taken twice.
  const int k_tiles = workspace.k_tiles();
  const int halves = k_tiles * HALVES;
  const auto a_tile = std::int64_t{tile.a} * k_tiles;
  const auto b_tile = [&](int i) {
    return (std::int64_t{workspace.a_tiles()} + tile.b + (i < tile.b_tiles ? i : 0)) * k_tiles;
  };
  const unsigned char* first[1 + BlockTile::B_TILES];
  first[0] = workspace.terms(a_tile);
#pragma unroll
  for (int i = 0; i < BlockTile::B_TILES; ++i) {
    first[1 + i] = workspace.terms(b_tile(i));
  }
  typename BlockTile::Copies copies(shared_address(dynamic_smem()), first, halves);

  const Scaling* a_scaling = workspace.scaling(a_tile);
  const Scaling* b_scaling = workspace.scaling(b_tile(warp_column / TILE_ROWS));
  const unsigned a_lane = lane_in_a(warp_row, lane);
  const unsigned b_lane = (1 + warp_column / TILE_ROWS) * Half::BYTES + lane_in_b(warp_column % TILE_ROWS, lane);
  Sums<BlockTile::TILES_N> sums = {};
  SumsScale<Scheme, TILES_M, BlockTile::TILES_N> scale(warp_row + lane / 4, warp_column % TILE_ROWS + 2 * (lane % 4));
  int uniform = a_scaling->uniform + b_scaling->uniform;
#pragma unroll 1
  for (int k_tile = 0; k_tile < k_tiles; ++k_tile) {
    scale.change(sums, uniform, a_scaling[k_tile], b_scaling[k_tile]);
    const int next = k_tile + 1 < k_tiles ? k_tile + 1 : k_tile;
    uniform = a_scaling[next].uniform + b_scaling[next].uniform;
#pragma unroll 1
    for (int half = 0; half < HALVES; ++half) {
      copies.start_next();
      const unsigned slot = copies.wait();
      multiply<BlockTile::TILES_N>(slot + a_lane, slot + b_lane, sums);
      copies.release();
    }
    scale.restore(sums, a_scaling[k_tile], b_scaling[k_tile]);
  }
  scale.undo(sums);

  const std::int64_t row = std::int64_t{tile.a} * TILE_ROWS + warp_row + lane / 4;
  const std::int64_t col = std::int64_t{tile.b} * TILE_ROWS + warp_column + 2 * (lane % 4);
#pragma unroll
  for (int i = 0; i < TILES_M; ++i) {
    store_sums<Policy, ACCESS>(p, row + i * MMA_M, col, sums[i]);
  }
}

// Tiles, the narrow ones for GPUs whose SMs have room for two of their blocks. One waits while the other multiplies.
using WideOfThreeSlots = MmaTile<2, 64, 3, 1>;
using Wide = MmaTile<2, 64, 2, 1>;
using Narrow = MmaTile<1, 64, 2, 2>;
using NarrowOfThreeSlots = MmaTile<1, 64, 3, 2>;
using ManyWarps = MmaTile<1, 32, 2, 1>;  // where C has few tiles

/// Whether an SM has room for as many of its blocks as it is made for. A block may have nearly all of the shared
/// memory.
template <class BlockTile>
bool fits() {
  return BlockTile::BLOCKS_PER_SM * BlockTile::Copies::SMEM_BYTES <= current_device().smem_bytes;
}

// Times relative to that of a narrow tile where two blocks share an SM, measured on an H100: docs/lab/16-mma.md.
constexpr double NARROW_ALONE = 1.7;
constexpr double MANY_WARPS = 1.4;
constexpr double WIDE = 2.3;

/// The time of all tiles, if an SM has one at a time.
template <class BlockTile>
double one_at_a_time(const Problem& p, int multiprocessors, double tile) {
  return tile * static_cast<double>(ceil_div<std::int64_t>(tile_count<BlockTile>(p), multiprocessors));
}

/// The same for narrow tiles, of which an SM may have two.
double narrow_time(const Problem& p, int multiprocessors, bool two) {
  if (!two) {
    return one_at_a_time<Narrow>(p, multiprocessors, NARROW_ALONE);
  }
  const std::int64_t rest = tile_count<Narrow>(p) % (2 * multiprocessors);
  const auto rounds = static_cast<double>(tile_count<Narrow>(p) / (2 * multiprocessors));
  return 2.0 * rounds + (rest == 0 ? 0.0 : rest <= multiprocessors ? NARROW_ALONE : 2.0);
}

template <class BlockTile>
Configuration configuration(const Problem& p, const std::string& name) {
  const auto run = [](const Problem& problem, void* workspace, cudaStream_t stream) {
    const bool vector_access = rows_split_into_float4(problem.a, problem.k, problem.lda);
    launch(vector_access ? fp16x3_mma_split_kernel<Access::float4> : fp16x3_mma_split_kernel<Access::float1>,
           Workspace<Scheme>(problem, workspace).count(), dim3(SPLIT_THREADS), 0, stream, problem, workspace);
    const bool pairs = rows_split_into_float2(problem.c, problem.n, problem.ldc);
    launch(pairs ? fp16x3_mma_kernel<BlockTile, Access::float2> : fp16x3_mma_kernel<BlockTile, Access::float1>,
           tile_count<BlockTile>(problem), dim3(BlockTile::THREADS), BlockTile::Copies::SMEM_BYTES, stream, problem,
           workspace);
  };
  return {name, Workspace<Scheme>(p, nullptr).bytes(), run, 0};
}

std::vector<Configuration> configurations(const Problem& p) {
  const int multiprocessors = current_device().multiprocessors;
  const bool two = fits<Narrow>();
  return fastest_first(
      {{fits<NarrowOfThreeSlots>() ? configuration<NarrowOfThreeSlots>(p, "128x128")
                                   : configuration<Narrow>(p, "128x128"),
        narrow_time(p, multiprocessors, two)},
       {configuration<ManyWarps>(p, "128x128 by 8 warps"), one_at_a_time<ManyWarps>(p, multiprocessors, MANY_WARPS)},
       {fits<WideOfThreeSlots>() ? configuration<WideOfThreeSlots>(p, "128x256") : configuration<Wide>(p, "128x256"),
        one_at_a_time<Wide>(p, multiprocessors, WIDE)}},
      std::numeric_limits<double>::infinity());
}

template <class BlockTile>
Resources resources() {
  return resources_of(fp16x3_mma_kernel<BlockTile, Access::float2>, BlockTile::THREADS, BlockTile::Copies::SMEM_BYTES);
}

const Registration registered =
    Chapter(16, "fp16x3_mma")
        .summary("three FP16 products by mma.sync for each FP32 product, the terms of 12")
        .source("Ootomo and Yokota; Markidis et al.")
        .min_compute_capability(80)
        .accuracy(AccuracyClass::fp16_split)
        .configurations(configurations)
        .blocks_per_sm(NarrowOfThreeSlots::BLOCKS_PER_SM)
        .resources([] { return fits<NarrowOfThreeSlots>() ? resources<NarrowOfThreeSlots>() : resources<Narrow>(); })
        .registration();

#endif

}  // namespace
}  // namespace sgemm
