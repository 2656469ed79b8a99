// Chapter 15 for other GPUs than Hopper's: the same bits by mma.sync, which every GPU since Ampere has
//
// Against 15: what multiplies. Digits come from the kernels of 13, in the order and through the half slots of 17, of
// which two fit into 99 KB. Each warp has 16 rows of a block's 128 and all of its columns. Then a thread's
// sums are those that wgmma leaves to it, and all that follows them is 15's.
//
//   block 128 x 128     warp 16 x 128: 16 tiles of 16 x 8     for 32 of 64 k: 96 mma, 3 ldmatrix of A, 24 of B
//
// 17's warps of 64 x 32 take 18 ldmatrix in place of 27. But 27 of all warps take 864 cycles of shared memory, where
// the products of an A100 take 1536.

#include "common/problem.hpp"
#include "common/target.hpp"
#include "common/vector_access.cuh"
#include "engine/int8_operands.cuh"
#include "engine/int8_product.cuh"
#include "engine/mma_operands.cuh"
#include "engine/reproducible.cuh"
#include "engine/reproducible_tile.cuh"
#include "engine/split_product.cuh"
#include "engine/split_schemes.cuh"
#include "engine/stream_k.cuh"
#include "host/alignment.hpp"
#include "host/chapter.cuh"
#include "host/cost_model.cuh"
#include "host/int8_launch.cuh"
#include "host/launch.cuh"
#include "ptx/ldmatrix.cuh"
#include "ptx/mma.cuh"
#include "ptx/shared_memory.cuh"

#include <cstddef>
#include <cstdint>

namespace sgemm {
namespace {

using namespace split_product;
using int8::DigitSums;
using int8::MOST_K_TILES;
using int8::Shape;
using Half = HalfTile<Int8x6>;

constexpr int THREADS = Shape::CONSUMER_THREADS;
static_assert(THREADS / WARP * MMA_M == TILE_ROWS);
/// Of an operand tile of A and one of B.
template <int SLOTS>
using Copies = HalfTileCopies<Int8x6, 2, SLOTS, THREADS>;

/// sums += A * B for number `k` of the instructions along k of half a k-tile. `a` and `b` are this lane's rows of it.
__device__ __forceinline__ void multiply_step(unsigned a, unsigned b, int k, DigitSums& sums) {
  constexpr TermsOfProduct PRODUCTS[Int8x6::PRODUCTS] = {{0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 1}, {2, 0}};
  unsigned a_digits[Int8x6::TERMS][4];
#pragma unroll
  for (int digit = 0; digit < Int8x6::TERMS; ++digit) {
    ldmatrix_x4(a_digits[digit], (a ^ k * MMA_BYTES) + digit * Half::TERM_BYTES);
  }
#pragma unroll
  for (int pair = 0; pair < TILE_ROWS / (2 * MMA_N); ++pair) {
    unsigned b_digits[Int8x6::TERMS][4];
#pragma unroll
    for (int digit = 0; digit < Int8x6::TERMS; ++digit) {
      ldmatrix_x4(b_digits[digit], (b ^ k * MMA_BYTES) + digit * Half::TERM_BYTES + pair * 2 * MMA_N * HALF_ROW_BYTES);
    }
#pragma unroll
    for (const TermsOfProduct digits : PRODUCTS) {
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        mma_m16n8k32_s8(&sums[digits.a + digits.b][(2 * pair + j) * 4], a_digits[digits.a], b_digits[digits.b][2 * j],
                        b_digits[digits.b][2 * j + 1]);
      }
    }
  }
}

/// sums += A * B for the next `halves` of k-tiles.
template <int SLOTS>
__device__ __forceinline__ void multiply(Copies<SLOTS>& copies, int halves, DigitSums& sums) {
  const int lane = threadIdx.x % WARP;
  const unsigned a = lane_in_a(threadIdx.x / WARP * MMA_M, lane);
  const unsigned b = Half::BYTES + lane_in_b(0, lane);
#pragma unroll 1
  for (; halves > 0; --halves) {
    copies.start_next();
    const unsigned slot = copies.wait();
#pragma unroll
    for (int k = 0; k < MMAS_OF_HALF; ++k) {
      multiply_step(slot + a, slot + b, k, sums);
    }
    copies.release();
  }
}

template <Access ACCESS>
__global__ void __launch_bounds__(SPLIT_THREADS) reproducible_mma_maxima_kernel(Problem p, void* maxima) {
  int8::find_maxima<ACCESS>(p, maxima);
}

template <Access ACCESS>
__global__ void __launch_bounds__(SPLIT_THREADS, SPLIT_BLOCKS_PER_SM)
    reproducible_mma_split_kernel(Problem p, void* maxima, void* workspace) {
  int8::split<ACCESS, HalvesOrder>(p, maxima, workspace);
}

template <Access ACCESS>
__global__ void __launch_bounds__(SPLIT_THREADS, int8::LINES_BLOCKS_PER_SM)
    reproducible_mma_split_lines_kernel(Problem p, void* workspace, int8::LinesOfCluster share) {
  int8::split_lines<ACCESS, HalvesOrder>(p, workspace, share);
}

/// A block for each tile of C. INT32 has room for MOST_K_TILES. Sums of more are cut into pieces, which add up in
/// `pieces`.
template <int SLOTS, Access ACCESS>
__global__ void __launch_bounds__(THREADS, 1)
    reproducible_mma_kernel(Problem p, void* maxima_memory, void* memory, Schedule pieces) {
  using Policy = reproducible::OneProduct<Shape, ACCESS>;
  const reproducible::Workspace workspace(p, memory);
  const Tile tile = Policy::tile_at(p, static_cast<int>(blockIdx.x));
  const std::int64_t a_tile = std::int64_t{tile.a} * workspace.k_tiles();
  const std::int64_t b_tile = (std::int64_t{workspace.a_tiles()} + tile.b) * workspace.k_tiles();
  Copies<SLOTS> copies(shared_address(dynamic_smem()), {workspace.terms(a_tile), workspace.terms(b_tile)},
                       workspace.k_tiles() * HALVES);
  const reproducible::Partial others(pieces, static_cast<int>(blockIdx.x));
  reproducible::CodesOfWarp codes;
  reproducible::Sums sums;
#pragma unroll 1
  for (int done = 0; done < workspace.k_tiles(); done += MOST_K_TILES) {
    const int left = workspace.k_tiles() - done;
    DigitSums digits = {};
    multiply(copies, (left < MOST_K_TILES ? left : MOST_K_TILES) * HALVES, digits);
    codes = reproducible::CodesOfWarp(workspace, {tile.a, tile.b});
    reproducible::add_up(digits, sums);
    if (done > 0) {
      reproducible::add_part(sums, others);
    }
    if (left > MOST_K_TILES) {
      reproducible::put_part(sums, others);
    }
  }
  Policy::store(p, workspace, codes, sums);
  int8::reset(int8::Maxima(p, maxima_memory));
}

constexpr int8::SplitKernels SPLIT{
    reproducible_mma_maxima_kernel<Access::float4>,      reproducible_mma_maxima_kernel<Access::float1>,
    reproducible_mma_split_kernel<Access::float4>,       reproducible_mma_split_kernel<Access::float1>,
    reproducible_mma_split_lines_kernel<Access::float4>, reproducible_mma_split_lines_kernel<Access::float1>};

template <int SLOTS>
Configuration configuration_with(const Problem& p) {
  using Memory = SharesMemory<Shape::CONSUMER_WARPS, 1, 64, reproducible::Sum>;
  const int tiles = static_cast<int>(tile_count<Shape>(p));
  const std::size_t maxima_at = k_tiles_of<Int8x6>(p) > MOST_K_TILES ? Memory::bytes(tiles) : 0;
  const std::size_t operands_at = maxima_at + int8::Maxima(p, nullptr).bytes();
  const auto run = [=](const Problem& problem, void* workspace, cudaStream_t stream) {
    void* const maxima = static_cast<char*>(workspace) + maxima_at;
    void* const operands = static_cast<char*>(workspace) + operands_at;
    int8::launch_split(SPLIT, problem, maxima, operands, stream, [](auto... arguments) { launch(arguments...); });
    Schedule pieces{};
    Memory::place(pieces, workspace, tiles);
    const bool pairs = rows_split_into_float2(problem.c, problem.n, problem.ldc);
    launch(pairs ? reproducible_mma_kernel<SLOTS, Access::float2> : reproducible_mma_kernel<SLOTS, Access::float1>,
           tiles, dim3(THREADS), Copies<SLOTS>::SMEM_BYTES, stream, problem, maxima, operands, pieces);
  };
  return {"", operands_at + Workspace<Int8x6>(p, nullptr).bytes(), run, operands_at};
}

/// Three slots where an SM has room for them, as in 17.
Configuration configuration(const Problem& p) {
  const bool three = Copies<3>::SMEM_BYTES <= current_device().smem_bytes;
  return three ? configuration_with<3>(p) : configuration_with<2>(p);
}

const Registration registered =
    Chapter(15, "reproducible")
        .variant("mma")
        .summary("the same bits by mma.sync, for every GPU since Ampere")
        .source("Ootomo, Ozaki and Yokota")
        .min_compute_capability(80)
        .accuracy(AccuracyClass::int8_split)
        .configuration(configuration)
        .blocks_per_sm(1)
        .resources(
            [] { return resources_of(reproducible_mma_kernel<2, Access::float2>, THREADS, Copies<2>::SMEM_BYTES); })
        .registration();

}  // namespace
}  // namespace sgemm
