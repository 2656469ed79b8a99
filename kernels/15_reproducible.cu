// Chapter 15: an element of C has the same bits wherever it is computed
//
// Against 13: digits, operand tiles and the main loop are the same, and sums of digits are exact in 13 already. But 13
// makes floats of them by two roundings, and adds up the pieces of a long sum as floats. Here sums stay integers until
// all of k is there. Then one number is rounded once:
//
//   sums[0], sums[1], sums[2]     INT32, exact: T0, T1, T2 of up to 43648 k
//        |
//   S = T0 2^16 + T1 2^8 + T2     INT64, exact for any k; parts add up in any order
//        |
//   alpha * S 2^(row + column)    FP64, one rounding; both exponents are those of 13's scales
//        |
//   fma(beta, C, ...)             FP64
//        |
//   C                             FP32
//
// So an element is a function of its row of A, its column of B, alpha, beta, its old value and k. The size of C, the
// place in it, the leading dimensions, the number of SMs and who adds up what have no part in it. Every other way to
// compute the same integers gives the same bits: mma.sync, dot products of four bytes, a CPU. docs/15_reproducible.md
// has the definition, and reproducible/reference.cpp has it as plain C++.
//
// Rows and columns with Inf, NaN, numbers near FLT_MAX, or denormal numbers alone have no integers, as in 13. Their
// elements are sums in FP64, in the order of k.
//
// Traffic: that of 13.
// Limit: that of 13, and the arithmetic in FP64 at the end of each tile.

#include "common/int8_tiles.cuh"
#include "common/problem.hpp"
#include "common/split_lines.cuh"
#include "common/store_accumulators.cuh"
#include "host/launch.cuh"
#include "ptx/cp_async_bulk.cuh"
#include "ptx/setmaxnreg.cuh"
#include "ptx/shared_memory.cuh"
#include "ptx/wgmma.cuh"

#include <cmath>
#include <cstdint>

namespace sgemm {
namespace {

using namespace int8_tiles;

/// A block for each eight lines.
__global__ void __launch_bounds__(SPLIT_THREADS, 1) reproducible_split_kernel(Problem p, Operands operands) {
  split_into_tiles(p, operands);
}

// ---- The end of a tile ----

/// The sums of each power of 256 become one. Nothing is rounded.
__device__ __forceinline__ void add_up(const int (&digits)[3][64], std::int64_t (&sums)[64]) {
#pragma unroll
  for (int i = 0; i < 64; ++i) {
    sums[i] = std::int64_t{digits[0][i]} * 65536 + std::int64_t{digits[1][i]} * 256 + digits[2][i];
  }
}

/// A sum as a double, rounded to the nearest. A conversion instruction gives the same at a quarter of the speed. Here
/// both halves become doubles by their place in a mantissa, and only the last addition rounds.
__device__ __forceinline__ double to_double(std::int64_t sum) {
  const double upper = __hiloint2double(0x45300000, static_cast<int>(sum >> 32) ^ INT32_MIN);  // 2^84 + 2^63 more
  const double units = __hiloint2double(0x43300000, static_cast<int>(sum));                    // 2^52 more
  return (upper - (0x1p84 + 0x1p63 + 0x1p52)) + units;
}

/// A line's part in undoing its scale, which is 2^(149 - code), in sums, which are in units of 2^16. Inf stands for the
/// part of a line without a scale.
__device__ __forceinline__ double factor(unsigned code) {
  return __hiloint2double(static_cast<int>(code == Int8Digits::UNSCALABLE ? 0x7FFU : 1023 - 141 + code) << 20, 0);
}

__global__ void __launch_bounds__(THREADS, 1) reproducible_kernel(Problem p, Operands operands) {
  const unsigned smem = shared_address(dynamic_smem());
  Ring::init(smem, CONSUMERS / WARP, 1);
  fence_mbarrier_init();
  __syncthreads();
  const auto thread = static_cast<int>(threadIdx.x);
  if (thread >= CONSUMERS) {
    setmaxnreg_dec<PRODUCER_REGISTERS>();
    if (thread == CONSUMERS) {
      produce(operands, Ring(smem));
    }
    return;  // the consumers wait for every copy, and the block lasts as long as they do
  }

  setmaxnreg_inc<CONSUMER_REGISTERS>();
  Ring stage(smem);
  const unsigned rows_of_group = thread / WARPGROUP * (WGMMA_M * WGMMA_ROW_BYTES);
  const int row = thread / WARP * 16 + thread % WARP / 4;  // of the thread's first element in a tile of C
  const int col = thread % 4 * 2;
#pragma unroll 1
  for (int i = blockIdx.x; i < operands.a_tiles * operands.b_tiles; i += gridDim.x) {
    std::int64_t sums[64];
#pragma unroll 1
    for (int done = 0;; stage.release()) {
      int digits[3][64] = {};
      const int end = min(done + MOST_K_TILES, operands.k_tiles);
#pragma unroll 1
      for (int k_tile = done;; stage.release()) {
        stage.wait_until_full();
        start_products(digits, stage.data() + rows_of_group, stage.data() + B_AT);
        wgmma_wait_group<0>(digits);
        if (++k_tile == end) {
          break;
        }
      }
      add_up(digits, sums);
      if (operands.k_tiles > MOST_K_TILES) {  // sums so far are behind the operand tiles, 64 for each consumer
        auto* const parts = reinterpret_cast<std::int64_t*>(operands.tile(operands.count()));
#pragma unroll
        for (int j = 0; j < 64; ++j) {
          std::int64_t& part = parts[(std::int64_t{blockIdx.x} * 64 + j) * CONSUMERS + threadIdx.x];
          part = sums[j] += done > 0 ? part : 0;
        }
      }
      done = end;
      if (done == operands.k_tiles) {
        break;
      }
    }
    // The last stage is kept until its scales have been read.
    const Scales& of_a = scales_behind(stage.data());
    const Scales& of_b = scales_behind(stage.data() + B_AT);
    const std::int64_t to_row = std::int64_t{of_a.tile} * TILE + row;
    const std::int64_t to_col = std::int64_t{of_b.tile} * TILE + col;
    const unsigned rows[2] = {of_a.codes[row], of_a.codes[row + 8]};
    unsigned columns[32];
    unsigned largest = max(rows[0], rows[1]);
#pragma unroll
    for (int j = 0; j < 32; ++j) {
      columns[j] = of_b.codes[col + j / 2 * 8 + j % 2];
      largest = max(largest, columns[j]);
    }
    stage.release();
    const double of_rows[2] = {factor(rows[0]), factor(rows[1])};
    const auto product = [&](int i) {  // only the sum is rounded, because the factors are powers of two
      return to_double(sums[i]) * factor(columns[i / 4 * 2 + i % 2]) * of_rows[i / 2 % 2];
    };
    store_or_recompute<64>(p, to_row, to_col, product,
                           largest < Int8Digits::UNSCALABLE && std::fabs(p.alpha) < INFINITY);
  }
}

// ---- The launch ----

void launch_both(const Problem& p, void* memory, cudaStream_t stream) {
  const Operands operands = Operands::of(p, memory);
  launch(reproducible_split_kernel, (operands.a_tiles + operands.b_tiles) * SPLIT_BLOCKS, dim3(SPLIT_THREADS),
         operands.k_tiles > SPLIT_CHUNK<Int8Digits> ? KEPT_BYTES : 0, stream, p, operands);
  launch_dependent(reproducible_kernel, persistent_blocks(operands.a_tiles * operands.b_tiles), dim3(THREADS),
                   Ring::BYTES, stream, p, operands);
}

Configuration configuration(const Problem& p) {
  const Operands operands = Operands::of(p, nullptr);
  const int parts = operands.k_tiles > MOST_K_TILES ? persistent_blocks(operands.a_tiles * operands.b_tiles) : 0;
  return {"", operands.bytes() + std::size_t{64} * CONSUMERS * parts * sizeof(std::int64_t), launch_both};
}

const Registration registered =
    Chapter(15, "reproducible", "Ootomo, Ozaki and Yokota")
        .summary("13 with sums that stay exact integers to the end: the same bits for every size, split and GPU")
        .needs_code_for_sm_90a()
        .accuracy(AccuracyClass::int8_split)
        .block(reproducible_kernel, THREADS, Ring::BYTES, 1)
        .configuration(configuration);

}  // namespace
}  // namespace sgemm
