// Chapter 16: each FP32 product becomes three FP16 products, by mma.sync on every GPU since Ampere
//
// Against 10: operands are split once, by a kernel of their own, into the scaled FP16 terms of 12. The loop copies
// terms, loads them as mma.sync wants them, and multiplies:
//
//   global memory    operand tiles of 128 rows or columns by 64 k, two terms of 16 KB each, split and scaled as in 12
//        |           cp.async, half a k-tile at a time
//   shared memory    a ring of two slots, each with the same 32 k of all operand tiles of the block
//        |           ldmatrix: four matrices of 8 x 8 terms in one instruction
//   registers        the terms of 64 rows of A and of 16 columns of B
//        |           mma.sync: a1 b2, a2 b1 and a1 b1 for 32 k, from 0 on
//   products         FP32 units add them to the sums over all k
//
//   block 128 x 256                warp 64 x 64: 4 x 8 tiles of 16 x 8       mma 16 x 8 x 16, lane = 4 r + q
//   +----+----+----+----+          for 16 of 32 k: 96 mma,                   A  rows r, r + 8   k 2q, 2q + 1, 8 further
//   | w0 | w1 | w2 | w3 |          8 ldmatrix of A, 8 of B                   B  columns r       k 2q, 2q + 1, 8 further
//   +----+----+----+----+                                                    C  rows r, r + 8   columns 2q, 2q + 1
//   | w4 | w5 | w6 | w7 |
//   +----+----+----+----+
//
//   order      the kernel that splits writes terms as they will lie in shared memory. ldmatrix reads the same 16 bytes
//   of
//              eight rows at a time. They lie in distinct banks, because the 16-byte groups of a row change places.
//   scales     a k-tile has a power of two in common with the sums, mostly. Otherwise sums are multiplied by powers of
//              two before it and after it, so that the loop itself knows nothing of scales.
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
#include "engine/split_terms.cuh"
#include "host/alignment.hpp"
#include "host/chapter.cuh"
#include "host/cost_model.cuh"
#include "host/launch.cuh"
#include "ptx/cp_async.cuh"
#include "ptx/ldmatrix.cuh"
#include "ptx/mma.cuh"
#include "ptx/shared_memory.cuh"

#include <cmath>
#include <cstddef>
#include <cstdint>
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
template <int B_TILES_, int WN_, int SLOTS_, int BLOCKS_PER_SM_>
struct MmaTile {
  static constexpr int B_TILES = B_TILES_;
  static constexpr int WN = WN_;
  static constexpr int SLOTS = SLOTS_;
  static constexpr int BLOCKS_PER_SM = BLOCKS_PER_SM_;
  static constexpr int BM = TILE_ROWS;
  static constexpr int BN = TILE_ROWS * B_TILES;
  static constexpr int WARPS_N = BN / WN;
  static constexpr int TILES_N = WN / MMA_N;
  static constexpr int THREADS = BM / WM * WARPS_N * WARP;
  static constexpr int SLOT_BYTES = (1 + B_TILES) * Half::BYTES;
  static constexpr int SMEM_BYTES = SLOTS * SLOT_BYTES;
};

/// A thread's sums of a warp tile, in TILES_M x TILES_N tiles as mma.sync holds D.
template <int TILES_N>
using Sums = float[TILES_M][4 * TILES_N];

/// sums += A * B for a warp and CHAIN instructions' k of half a k-tile, from number `first` on. `a` and `b` are this
/// lane's rows of the half. `meanwhile(i)` is called for each of the TILES_N / 2 parts of the work.
template <int CHAIN, int TILES_N, class Meanwhile>
__device__ __forceinline__ void multiply(unsigned a, unsigned b, int first, Sums<TILES_N>& sums,
                                         const Meanwhile& meanwhile) {
  constexpr TermsOfProduct PRODUCTS[Scheme::PRODUCTS] = {{1, 0}, {0, 1}, {0, 0}};  // the smallest first
  unsigned a_terms[CHAIN][Scheme::TERMS][TILES_M][4];
#pragma unroll
  for (int k = 0; k < CHAIN; ++k) {
#pragma unroll
    for (int term = 0; term < Scheme::TERMS; ++term) {
#pragma unroll
      for (int i = 0; i < TILES_M; ++i) {
        ldmatrix_x4(a_terms[k][term][i],
                    (a ^ (first + k) * MMA_BYTES) + term * Half::TERM_BYTES + i * MMA_M * HALF_ROW_BYTES);
      }
    }
  }
#pragma unroll
  for (int pair = 0; pair < TILES_N / 2; ++pair) {
    unsigned b_terms[CHAIN][Scheme::TERMS][4];
#pragma unroll
    for (int k = 0; k < CHAIN; ++k) {
#pragma unroll
      for (int term = 0; term < Scheme::TERMS; ++term) {
        ldmatrix_x4(b_terms[k][term],
                    (b ^ (first + k) * MMA_BYTES) + term * Half::TERM_BYTES + pair * 2 * MMA_N * HALF_ROW_BYTES);
      }
    }
    meanwhile(pair);
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      float products[TILES_M][4] = {};
#pragma unroll
      for (int k = 0; k < CHAIN; ++k) {
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

/// The power of two that sums are divided by, and the change to that of a k-tile's products and back.
template <int TILES_N>
class SumsScale {
 public:
  /// `row` and `column`: the places of the thread's first elements in their operand tiles.
  __device__ __forceinline__ SumsScale(int row, int column) : row_(row), column_(column) {}

  /// Scales sums as the products of two operand tiles are. If these are too far apart, sums become NaN. `uniform` is
  /// the sum of that of a and b.
  __device__ __forceinline__ void change(Sums<TILES_N>& sums, int uniform, const Scaling& a, const Scaling& b) {
    changed_ = uniform != exponent_;
    if (changed_) {
      const int own = a.exponent + b.exponent;
      changed_ = own > ALL_ZERO / 2;
      if (changed_) {
        const int binades = exponent_ == ALL_ZERO ? 0 : exponent_ - own;
        exponent_ = own > exponent_ ? own : exponent_;
        multiply(sums, binades, 1, a, b);
        below_ = exponent_ - own;
        changed_ = below_ > 0 || uniform != own;
      }
    }
  }

  /// Scales sums as before, or with the larger of both powers of two, and without factors of rows and columns.
  __device__ __forceinline__ void restore(Sums<TILES_N>& sums, const Scaling& a, const Scaling& b) const {
    if (changed_) {
      multiply(sums, -below_, -1, a, b);
    }
  }

  __device__ __forceinline__ void undo(Sums<TILES_N>& sums) const {
    const int exponent = exponent_ == ALL_ZERO ? 0 : exponent_;
#pragma unroll
    for (int i = 0; i < TILES_M; ++i) {
#pragma unroll
      for (float& sum : sums[i]) {
        sum = scaled(sum, exponent);
      }
    }
  }

 private:
  /// Multiplies sums by 2^binades, and by 2^(sign * ROW_STEP) for each step of their row and of their column.
  __device__ __forceinline__ void multiply(Sums<TILES_N>& sums, int binades, int sign, const Scaling& a,
                                           const Scaling& b) const {
    const float of_all = binades < -LARGEST_SPREAD || binades > LARGEST_SPREAD ? NAN : power_of_2(binades);
    const auto factor = [&](int steps) { return power_of_2(sign * Scheme::ROW_STEP * steps); };
#pragma unroll
    for (int i = 0; i < TILES_M; ++i) {
      const float of_rows[2] = {of_all * factor(a.rows[row_ + i * MMA_M]),
                                of_all * factor(a.rows[row_ + i * MMA_M + 8])};
#pragma unroll
      for (int e = 0; e < 4 * TILES_N; ++e) {
        sums[i][e] *= of_rows[e / 2 % 2] * factor(b.rows[column_ + e / 4 * MMA_N + e % 2]);
      }
    }
  }

  int row_;
  int column_;
  int exponent_ = ALL_ZERO;
  bool changed_ = false;
  int below_ = 0;  ///< how many binades the last products are below the sums
};

#ifndef SGEMM_MAIN_LOOP_ONLY

template <Access ACCESS>
__global__ void __launch_bounds__(SPLIT_THREADS, SPLIT_BLOCKS_PER_SM) fp16x3_mma_split_kernel(Problem p, void* memory) {
  split<Scheme, ACCESS, HalvesOrder>(p, memory);
}

template <class BlockTile, Access ACCESS, int CHAIN>
__global__ void __launch_bounds__(BlockTile::THREADS, BlockTile::BLOCKS_PER_SM)
    fp16x3_mma_kernel(Problem p, void* memory) {
  using Policy = OneProduct<BlockTile, ACCESS>;
  constexpr int PAIRS = BlockTile::TILES_N / 2;
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
  const unsigned ring = shared_address(dynamic_smem());
  HalfTileCopies<Scheme, 1 + BlockTile::B_TILES, BlockTile::THREADS> copies(ring, first);
#pragma unroll
  for (int slot = 0; slot < BlockTile::SLOTS - 1; ++slot) {
    if (slot < halves) {
      copies.start(slot * BlockTile::SLOT_BYTES, slot % HALVES);
    }
    cp_async_commit_group();
  }

  const Scaling* a_scaling = workspace.scaling(a_tile);
  const Scaling* b_scaling = workspace.scaling(b_tile(warp_column / TILE_ROWS));
  const unsigned a_lane = lane_in_a(warp_row, lane);
  const unsigned b_lane = (1 + warp_column / TILE_ROWS) * Half::BYTES + lane_in_b(warp_column % TILE_ROWS, lane);
  Sums<BlockTile::TILES_N> sums = {};
  SumsScale<BlockTile::TILES_N> scale(warp_row + lane / 4, warp_column % TILE_ROWS + 2 * (lane % 4));
  unsigned read_slot = 0;
  unsigned write_slot = (BlockTile::SLOTS - 1) * BlockTile::SLOT_BYTES;
  const auto advance = [](unsigned& slot) {
    slot = slot == (BlockTile::SLOTS - 1) * BlockTile::SLOT_BYTES ? 0 : slot + BlockTile::SLOT_BYTES;
  };
  int uniform = a_scaling->uniform + b_scaling->uniform;
#pragma unroll 1
  for (int k_tile = 0; k_tile < k_tiles; ++k_tile) {
    scale.change(sums, uniform, a_scaling[k_tile], b_scaling[k_tile]);
    const int next = k_tile + 1 < k_tiles ? k_tile + 1 : k_tile;
    uniform = a_scaling[next].uniform + b_scaling[next].uniform;
#pragma unroll
    for (int half = 0; half < HALVES; ++half) {
      cp_async_wait_group<BlockTile::SLOTS - 2>();
      __syncthreads();
      const bool copying = k_tile * HALVES + half + BlockTile::SLOTS - 1 < halves;  // into the slot that all have read
#pragma unroll
      for (int mma = 0; mma < MMAS_OF_HALF; mma += CHAIN) {
        // Copies are spread over the products: in one go, they would hold up the loads behind them.
        multiply<CHAIN, BlockTile::TILES_N>(ring + read_slot + a_lane, ring + read_slot + b_lane, mma, sums,
                                            [&](int i) {
                                              if (copying) {
                                                copies.start(write_slot, (half + BlockTile::SLOTS - 1) % HALVES,
                                                             mma / CHAIN * PAIRS + i, MMAS_OF_HALF / CHAIN * PAIRS);
                                              }
                                            });
      }
      cp_async_commit_group();  // empty groups at the end keep the count that the wait relies on
      advance(read_slot);
      advance(write_slot);
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

template <class BlockTile, int CHAIN>
Candidate candidate(const Problem& p, const Device& device) {
  const auto run = [](const Problem& problem, void* workspace, cudaStream_t stream) {
    const Workspace<Scheme> operands(problem, workspace);
    const bool vector_access = rows_split_into_float4(problem.a, problem.k, problem.lda);
    launch(vector_access ? fp16x3_mma_split_kernel<Access::float4> : fp16x3_mma_split_kernel<Access::float1>,
           operands.count(), dim3(SPLIT_THREADS), 0, stream, problem, workspace);
    const bool pairs = rows_split_into_float2(problem.c, problem.n, problem.ldc);
    launch(pairs ? fp16x3_mma_kernel<BlockTile, Access::float2, CHAIN>
                 : fp16x3_mma_kernel<BlockTile, Access::float1, CHAIN>,
           tile_count<BlockTile>(problem), dim3(BlockTile::THREADS), BlockTile::SMEM_BYTES, stream, problem, workspace);
  };
  const std::int64_t rounds = ceil_div<std::int64_t>(tile_count<BlockTile>(p), device.multiprocessors);
  return {{tile_name(BlockTile::BM, BlockTile::BN) + " warps " + std::to_string(BlockTile::THREADS / WARP) + " slots " +
               std::to_string(BlockTile::SLOTS) + " blocks " + std::to_string(BlockTile::BLOCKS_PER_SM),
           Workspace<Scheme>(p, nullptr).bytes(), run, 0},
          static_cast<double>(rounds * BlockTile::B_TILES)};
}

std::vector<Configuration> configurations(const Problem& p) {
  const Device device = current_device();
  return fastest_first(
      {
          candidate<MmaTile<1, 64, 2, 2>, 2>(p, device),
          candidate<MmaTile<1, 32, 2, 1>, 2>(p, device),
          candidate<MmaTile<2, 64, 2, 1>, 2>(p, device),
#ifdef __CUDACC__
          candidate<MmaTile<1, 64, 3, 2>, 2>(p, device),
          candidate<MmaTile<1, 32, 3, 1>, 2>(p, device),
          candidate<MmaTile<2, 64, 4, 1>, 2>(p, device),
#endif
      },
      100.0);
}

const Registration registered =
    Chapter(16, "fp16x3_mma")
        .summary("three FP16 products by mma.sync for each FP32 product, operands scaled and split into two terms")
        .source("Ootomo and Yokota; Markidis et al.")
        .min_compute_capability(80)
        .accuracy(AccuracyClass::fp16_split)
        .configurations([](const Problem& p) { return configurations(p); })
        .blocks_per_sm(2)
        .resources([] {
          return resources_of(fp16x3_mma_kernel<MmaTile<1, 64, 2, 2>, Access::float2, 2>, MmaTile<1, 64, 2, 2>::THREADS,
                              MmaTile<1, 64, 2, 2>::SMEM_BYTES);
        })
        .registration();

#endif

}  // namespace
}  // namespace sgemm
