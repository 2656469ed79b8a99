// Chapter 17: each FP32 product becomes six INT8 products, by mma.sync on every GPU since Ampere
//
// Against 16: the numbers are the digits of 13, three of 8 bits, and sums of their products are exact integers. So no
// FP32 unit adds. But there are three sums for each element of C, one for each power of 256, and a warp has room for
// half as many elements:
//
//   block 128 x 128           warp 64 x 32: 4 x 4 tiles of 16 x 8      mma 16 x 8 x 32, lane = 4 r + q
//   +----+----+----+----+     192 sums a thread                        A  rows r, r + 8   k 4q to 4q + 3, and 16 more
//   | w0 | w1 | w2 | w3 |     for 32 of 64 k: 96 mma,                  B  columns r       k 4q to 4q + 3, and 16 more
//   +----+----+----+----+     12 ldmatrix of A, 6 of B                 C  rows r, r + 8   columns 2q, 2q + 1
//   | w4 | w5 | w6 | w7 |
//   +----+----+----+----+
//
//   split      as in 13, but for the order: an operand tile has 128 lines by 64 k here, rows of 64 bytes as in 16.
//   registers  hold the digits of a warp's 32 columns, 24 of them. The rows of A come 16 at a time.
//   bits       are those of 13: integers add up to the same in any order, and the same steps make floats of them.
//
// Traffic per element of C: k / 128 numbers of A and of B from global memory, three digits of a byte each; k / 32 of A
// and k / 64 of B from shared memory.
// Limit: tensor cores, six products for each one in FP32, at the rate of mma.sync.

#include "common/hilbert.hpp"
#include "common/mma_operands.cuh"
#include "common/problem.hpp"
#include "common/split_lines.cuh"
#include "common/store_accumulators.cuh"
#include "host/launch.cuh"
#include "ptx/cp_async.cuh"
#include "ptx/mbarrier.cuh"
#include "ptx/mma.cuh"
#include "ptx/shared_memory.cuh"

#include <algorithm>
#include <cstdint>

namespace sgemm {
namespace {

constexpr int WARP = 32;

using Operands = MmaOperands<Int8Digits>;
constexpr int TILE = TILE_LINES;  // rows of A, or columns of B, of an operand tile
constexpr int ROW_BYTES = Operands::ROW_BYTES;
constexpr int DIGITS = Int8Digits::TERMS;
constexpr int DIGIT_BYTES = Operands::TERM_BYTES;
constexpr int TILE_BYTES = Operands::TILE_BYTES;

/// A block for each eight lines.
__global__ void __launch_bounds__(SPLIT_THREADS, 1) int8x6_mma_split_kernel(Problem p, Operands operands, bool keeps) {
  operands.split(p, keeps);
}

// ---- The kernel that multiplies ----

constexpr int WM = 64;  // warp tile
constexpr int WN = 32;
constexpr int WARPS_N = TILE / WN;
constexpr int THREADS = TILE / WM * WARPS_N * WARP;
constexpr int MMA_M = 16;
constexpr int MMA_N = 8;
constexpr int MMA_BYTES = 32;  // of a row
constexpr int TILES_M = WM / MMA_M;
constexpr int TILES_N = WN / MMA_N;

/// A thread's sums of 64 x 32 elements of C: of each 16 rows one for each power of 256, the largest power first.
using Sums = int[TILES_M][3][4 * TILES_N];

/// sums += A * B for a warp and 32 of the k of a stage. `a` and `b` are this lane's rows.
__device__ __forceinline__ void multiply(unsigned a, unsigned b, Sums& sums) {
  // Digits of A and B from 0 on, the largest first. Neighbours go to different sums.
  constexpr int PRODUCTS[6][2] = {{0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 1}, {2, 0}};
  unsigned b_digits[DIGITS][TILES_N / 2][4];
#pragma unroll
  for (int digit = 0; digit < DIGITS; ++digit) {
#pragma unroll
    for (int pair = 0; pair < TILES_N / 2; ++pair) {
      ldmatrix_x4(b_digits[digit][pair], b + digit * DIGIT_BYTES + pair * 2 * MMA_N * ROW_BYTES);
    }
  }
#pragma unroll
  for (int i = 0; i < TILES_M; ++i) {
    unsigned a_digits[DIGITS][4];
#pragma unroll
    for (int digit = 0; digit < DIGITS; ++digit) {
      ldmatrix_x4(a_digits[digit], a + digit * DIGIT_BYTES + i * MMA_M * ROW_BYTES);
    }
#pragma unroll
    for (const auto& [a_digit, b_digit] : PRODUCTS) {
#pragma unroll
      for (int j = 0; j < TILES_N; ++j) {
        const unsigned* const of_b = &b_digits[b_digit][j / 2][j % 2 * 2];
        mma_m16n8k32_s8(&sums[i][a_digit + b_digit][4 * j], a_digits[a_digit], of_b[0], of_b[1]);
      }
    }
  }
}

template <int STAGES>
using Ring = StageRing<STAGES, 2 * TILE_BYTES>;  // of a tile of A and one of B

/// A block for each tile of C.
template <int STAGES>
__global__ void __launch_bounds__(THREADS, 1) int8x6_mma_kernel(Problem p, Operands operands) {
  const unsigned smem = shared_address(dynamic_smem());
  Ring<STAGES>::init(smem, THREADS / WARP, THREADS);
  Ring<STAGES> reading(smem);
  Ring<STAGES> writing(smem);
  __syncthreads();
  const TileIndex tile = hilbert_tile(blockIdx.x, operands.a_tiles, operands.b_tiles);
  const unsigned char* a_source = operands.tile(tile.row) + threadIdx.x * 16;
  const unsigned char* b_source = operands.tile(operands.a_tiles + tile.col) + threadIdx.x * 16;
  int left = operands.k_tiles;  // without copies
  // This thread's part of the copies of the next operand tiles, when all warps have read what is in their stage.
  const auto start_copies = [&] {
    if (left > 0) {
      writing.wait_until_empty();
      const unsigned to = writing.data() + threadIdx.x * 16;
#pragma unroll
      for (int at = 0; at < TILE_BYTES; at += THREADS * 16) {
        cp_async<16>(to + at, a_source + at);
        cp_async<16>(to + TILE_BYTES + at, b_source + at);
      }
      cp_async_mbarrier_arrive_noinc(writing.full());
      writing.advance();
      a_source += TILE_BYTES;
      b_source += TILE_BYTES;
      --left;
    }
  };
  start_copies();  // of one: a third stage lets warps drift apart

  const unsigned lane = threadIdx.x % WARP;
  const int warp_row = static_cast<int>(threadIdx.x) / WARP / WARPS_N * WM;
  const int warp_col = static_cast<int>(threadIdx.x) / WARP % WARPS_N * WN;
  const unsigned a =
      Operands::place_in_tile(warp_row + lane % 16, lane / 16);  // of 16 rows, as ldmatrix_x4() wants them
  const unsigned b = TILE_BYTES + Operands::place_in_tile(warp_col + lane / 16 * 8 + lane % 8, lane / 8 % 2);
  Sums sums = {};
#pragma unroll 1
  for (int to_multiply = operands.k_tiles; to_multiply > 0; --to_multiply) {
    start_copies();
    reading.wait_until_full();
#pragma unroll
    for (int k = 0; k < ROW_BYTES; k += MMA_BYTES) {
      multiply((reading.data() + a) ^ k, (reading.data() + b) ^ k, sums);
    }
    reading.release();
  }

  const int row = warp_row + static_cast<int>(lane) / 4;
  const int col = warp_col + static_cast<int>(lane) % 4 * 2;
  const unsigned char* const rows = operands.codes(tile.row) + row;
  const unsigned char* const columns = operands.codes(operands.a_tiles + tile.col) + col;
#pragma unroll
  for (int i = 0; i < TILES_M; ++i) {
    float totals[4 * TILES_N];
    add_up(sums[i], totals);
    undo_scaling(rows + i * MMA_M, columns, totals);
    store_or_recompute(p, std::int64_t{tile.row} * TILE + row + i * MMA_M, std::int64_t{tile.col} * TILE + col, totals);
  }
}

// ---- The launch ----

constexpr std::int64_t MOST_K = 341 * 128;  // that INT32 has room for: see 13
static_assert(MOST_K * 3 * 128 * 128 <= INT32_MAX);

/// Three stages where an SM has room for them.
bool has_three_stages() { return Ring<3>::BYTES <= current_device().smem_bytes; }

/// Longer sums are sums of pieces, which C adds up.
void launch_pieces(Problem p, void* memory, cudaStream_t stream) {
  const bool three = has_three_stages();
  std::int64_t left = p.k;
  do {
    p.k = std::min(left, MOST_K);
    const Operands operands = Operands::of(p, memory);
    const bool keeps = operands.keeps(current_device().smem_bytes);
    launch(int8x6_mma_split_kernel, (operands.a_tiles + operands.b_tiles) * SPLIT_BLOCKS, dim3(SPLIT_THREADS),
           keeps ? KEPT_BYTES : 0, stream, p, operands, keeps);
    launch(three ? int8x6_mma_kernel<3> : int8x6_mma_kernel<2>, std::int64_t{operands.a_tiles} * operands.b_tiles,
           dim3(THREADS), three ? Ring<3>::BYTES : Ring<2>::BYTES, stream, p, operands);
    left -= p.k;
    p.a += p.k;
    p.b += p.k * p.ldb;
    p.beta = 1.0F;
  } while (left > 0);
}

KernelBlock block() {
  return has_three_stages() ? block_of(int8x6_mma_kernel<3>, THREADS, Ring<3>::BYTES)
                            : block_of(int8x6_mma_kernel<2>, THREADS, Ring<2>::BYTES);
}

Configuration configuration(Problem p) {
  p.k = std::min(p.k, MOST_K);
  return {"", Operands::of(p, nullptr).bytes(), launch_pieces};
}

const Registration registered =
    Chapter(17, "int8x6_mma", "Ootomo, Ozaki and Yokota")
        .summary("six INT8 products by mma.sync for each FP32 product, the digits and results of 13")
        .min_capability(80)
        .accuracy(AccuracyClass::int8_split)
        .block(block, 1)
        .configuration(configuration);

}  // namespace
}  // namespace sgemm
