// Chapter 16: each FP32 product becomes three FP16 products, by mma.sync on every GPU since Ampere
//
// Against 10: operands are split once, by a kernel of their own, into two FP16 terms as in 12. The loop copies terms,
// loads them as mma.sync wants them, and multiplies:
//
//   global memory    operand tiles of 128 rows or columns by 32 k, two terms of 8 KB each
//        |           cp.async
//   shared memory    a ring of stages, each with the same k of all operand tiles of the block, and two barriers
//        |           ldmatrix: four matrices of 8 x 8 terms in one instruction
//   registers        the terms of 64 rows of A and of 16 columns of B
//        |           mma.sync: a2 b1, a1 b2 and a1 b1 for 32 k, from 0 on
//   products         FP32 units add them to the sums over all k
//
//   block 128 x 128           warp 64 x 64: 4 x 8 tiles of 16 x 8      mma 16 x 8 x 16, lane = 4 r + q
//   +----+----+               128 sums a thread                        A  rows r, r + 8   k 2q, 2q + 1, and 8 more
//   | w0 | w1 |               for 16 of 32 k: 96 mma,                  B  columns r       k 2q, 2q + 1, and 8 more
//   +----+----+               8 ldmatrix of A, 8 of B                  C  rows r, r + 8   columns 2q, 2q + 1
//   | w2 | w3 |
//   +----+----+               two blocks on an SM, or one of 128 x 256 where it has no room for two
//
//   scales     as in 13: one power of two for a whole line, a row of A or a column of B, brings its largest number to
//              between 2^14 and 2^15. So the loop knows nothing of scales. Two terms are off by 2^-22 of a number, or
//              by 2^-25, whichever is more: 2^-39 of the line's largest.
//   order      the kernel that splits writes terms as they will lie in shared memory. ldmatrix reads the same 16 bytes
//              of eight rows at a time, which lie in distinct banks, because groups of 16 bytes change places in a row.
//   Inf, NaN   and lines of numbers below 2^-112 alone have no terms: their elements of C are computed again by FMAs.
//   decades    in a line leave no promise: elements of C that are made of small numbers of their lines alone lose bits.
//
// Traffic per element of C: k / 128 numbers of A and of B from global memory, two terms of 2 bytes each; k / 64 of each
// from shared memory.
// Limit: tensor cores, three products for each one in FP32, at the rate of mma.sync.

#include "common/ceil_div.hpp"
#include "common/hilbert.hpp"
#include "common/mma_operands.cuh"
#include "common/problem.hpp"
#include "common/split_lines.cuh"
#include "common/store_accumulators.cuh"
#include "host/launch.cuh"
#include "ptx/cp_async.cuh"
#include "ptx/cvt.cuh"
#include "ptx/mbarrier.cuh"
#include "ptx/mma.cuh"
#include "ptx/shared_memory.cuh"

#include <cstdint>
#include <utility>

namespace sgemm {
namespace {

constexpr int WARP = 32;

// ---- The kernel that splits ----

/// Two FP16 terms. A line is multiplied by 2^(127 - code), which brings its largest number to between 2^14 and 2^15.
struct Fp16Terms {
  static constexpr int BK = 64;  // two k-tiles together
  static constexpr int GROUP = 8;
  static constexpr int TERMS = 2;
  static constexpr unsigned UNSCALABLE = 255;

  /// The exponent's bits less 14. Sums are in units of the product of both scales then.
  __device__ __forceinline__ static unsigned scale_code(unsigned largest) {
    const unsigned exponent = largest >> 23U;
    return largest == 0 ? 127 : exponent > 14 && exponent < 255 ? exponent - 14 : UNSCALABLE;
  }

  /// The second term is what the first one leaves, rounded. The lower half of a word has the first of two numbers.
  __device__ __forceinline__ static void split(const float (&x)[GROUP], unsigned code, unsigned (&words)[TERMS][4]) {
    const float scale = power_of_2(127 - static_cast<int>(code));
#pragma unroll
    for (int i = 0; i < GROUP; i += 2) {
      const float low = code == UNSCALABLE ? 0.0F : x[i] * scale;
      const float high = code == UNSCALABLE ? 0.0F : x[i + 1] * scale;
      words[0][i / 2] = Fp16::pack(low, high);
      const float2 first = Fp16::unpack(words[0][i / 2]);
      words[1][i / 2] = Fp16::pack(low - first.x, high - first.y);
    }
  }
};

using Operands = MmaOperands<Fp16Terms>;
constexpr int TILE = TILE_LINES;  // rows of A, or columns of B, of an operand tile
constexpr int ROW_BYTES = Operands::ROW_BYTES;
constexpr int TERMS = Fp16Terms::TERMS;
constexpr int TERM_BYTES = Operands::TERM_BYTES;
constexpr int TILE_BYTES = Operands::TILE_BYTES;

/// A block for each eight lines.
__global__ void __launch_bounds__(SPLIT_THREADS, 1) fp16x3_mma_split_kernel(Problem p, Operands operands, bool keeps) {
  operands.split(p, keeps);
}

// ---- The kernel that multiplies ----

constexpr int WM = 64;  // warp tile
constexpr int WN = 64;
constexpr int MMA_M = 16;
constexpr int MMA_N = 8;
constexpr int MMA_BYTES = 32;  // of a row
constexpr int MMAS = ROW_BYTES / MMA_BYTES;
constexpr int TILES_M = WM / MMA_M;
constexpr int TILES_N = WN / MMA_N;
template <int B_TILES>
constexpr int WARPS_N = B_TILES* TILE / WN;
template <int B_TILES>
constexpr int THREADS = TILE / WM* WARPS_N<B_TILES>* WARP;

/// A thread's sums of 64 x 64 elements of C, in 4 x 8 tiles as mma.sync holds D.
using Sums = float[TILES_M][4 * TILES_N];

/// sums += A * B for a warp and a stage. `a` and `b` are this lane's rows.
__device__ __forceinline__ void multiply(unsigned a, unsigned b, Sums& sums) {
  constexpr int PRODUCTS[3][2] = {{1, 0}, {0, 1}, {0, 0}};  // terms of A and B, the smallest first
  unsigned a_terms[MMAS][TERMS][TILES_M][4];
#pragma unroll
  for (int k = 0; k < MMAS; ++k) {
#pragma unroll
    for (int term = 0; term < TERMS; ++term) {
#pragma unroll
      for (int i = 0; i < TILES_M; ++i) {
        ldmatrix_x4(a_terms[k][term][i], (a ^ k * MMA_BYTES) + term * TERM_BYTES + i * MMA_M * ROW_BYTES);
      }
    }
  }
#pragma unroll
  for (int pair = 0; pair < TILES_N / 2; ++pair) {
    unsigned b_terms[MMAS][TERMS][4];
#pragma unroll
    for (int k = 0; k < MMAS; ++k) {
#pragma unroll
      for (int term = 0; term < TERMS; ++term) {
        ldmatrix_x4(b_terms[k][term], (b ^ k * MMA_BYTES) + term * TERM_BYTES + pair * 2 * MMA_N * ROW_BYTES);
      }
    }
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      float products[TILES_M][4] = {};
#pragma unroll
      for (int k = 0; k < MMAS; ++k) {
#pragma unroll
        for (const auto& [a_term, b_term] : PRODUCTS) {
          const unsigned(&of_b)[4] = b_terms[k][b_term];
#pragma unroll
          for (int i = 0; i < TILES_M; ++i) {
            mma_m16n8k16_fp16(products[i], a_terms[k][a_term][i], of_b[2 * j], of_b[2 * j + 1], products[i]);
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

template <int B_TILES, int STAGES>
using Ring = StageRing<STAGES, (1 + B_TILES) * TILE_BYTES>;  // of a tile of A, and those of B

/// Starts a thread's copies of an operand tile. Their distances are constants of the instructions and need no
/// registers.
template <int THREADS, int... NUMBER>
__device__ __forceinline__ void copy_tile(unsigned to, const unsigned char* from,
                                          std::integer_sequence<int, NUMBER...>) {
  (cp_async<16, NUMBER * THREADS * 16>(to, from), ...);
}

/// A block for each tile of C, of an operand tile of A by B_TILES of B.
template <int B_TILES, int STAGES>
__global__ void __launch_bounds__(THREADS<B_TILES>, 2 / B_TILES) fp16x3_mma_kernel(Problem p, Operands operands) {
  const unsigned smem = shared_address(dynamic_smem());
  Ring<B_TILES, STAGES>::init(smem, THREADS<B_TILES> / WARP, THREADS<B_TILES>);
  Ring<B_TILES, STAGES> reading(smem);
  Ring<B_TILES, STAGES> writing(smem);
  __syncthreads();
  const TileIndex tile = hilbert_tile(blockIdx.x, operands.a_tiles, ceil_div(operands.b_tiles, B_TILES));
  // At the right edge of C there may be one tile of B only, which is taken twice.
  const auto b_tile = [&](int i) { return operands.a_tiles + min(tile.col * B_TILES + i, operands.b_tiles - 1); };
  const unsigned char* source[1 + B_TILES];
  source[0] = operands.tile(tile.row) + threadIdx.x * 16;
#pragma unroll
  for (int i = 0; i < B_TILES; ++i) {
    source[1 + i] = operands.tile(b_tile(i)) + threadIdx.x * 16;
  }
  int left = operands.k_tiles;  // without copies
  // This thread's part of the copies of the next operand tiles, when all warps have read what is in their stage.
  const auto start_copies = [&] {
    if (left > 0) {
      writing.wait_until_empty();
#pragma unroll
      for (int i = 0; i < 1 + B_TILES; ++i) {
        constexpr int COPIES = TILE_BYTES / (THREADS<B_TILES> * 16);
        copy_tile<THREADS<B_TILES>>(writing.data() + i * TILE_BYTES + threadIdx.x * 16, source[i],
                                    std::make_integer_sequence<int, COPIES>());
        source[i] += TILE_BYTES;
      }
      cp_async_mbarrier_arrive_noinc(writing.full());
      writing.advance();
      --left;
    }
  };
  start_copies();  // of one: a third stage lets warps drift apart

  const unsigned lane = threadIdx.x % WARP;
  const int warp_row = static_cast<int>(threadIdx.x) / WARP / WARPS_N<B_TILES> * WM;
  const int warp_col = static_cast<int>(threadIdx.x) / WARP % WARPS_N<B_TILES> * WN;
  const unsigned a =
      Operands::place_in_tile(warp_row + lane % 16, lane / 16);  // of 16 rows, as ldmatrix_x4() wants them
  const unsigned b = (1 + warp_col / TILE) * TILE_BYTES +
                     Operands::place_in_tile(warp_col % TILE + lane / 16 * 8 + lane % 8, lane / 8 % 2);
  Sums sums = {};
#pragma unroll 1
  for (int to_multiply = operands.k_tiles; to_multiply > 0; --to_multiply) {
    start_copies();
    reading.wait_until_full();
    multiply(reading.data() + a, reading.data() + b, sums);
    reading.release();
  }

  const int row = warp_row + static_cast<int>(lane) / 4;
  const int col = warp_col + static_cast<int>(lane) % 4 * 2;
  const unsigned char* const rows = operands.codes(tile.row) + row;
  const unsigned char* const columns = operands.codes(b_tile(warp_col / TILE)) + col % TILE;
#pragma unroll
  for (int i = 0; i < TILES_M; ++i) {
    undo_scaling(rows + i * MMA_M, columns, sums[i]);
    store_or_recompute(p, std::int64_t{tile.row} * TILE + row + i * MMA_M,
                       std::int64_t{tile.col} * B_TILES * TILE + col, sums[i]);
  }
}

// ---- The launch ----

/// `use` gets a kernel, its threads, its shared memory and its B_TILES. Two blocks, and three stages, where they fit.
template <class Use>
auto with_kernel(const Use& use) {
  const int room = current_device().smem_bytes;
  if (2 * Ring<1, 3>::BYTES <= room) {
    return use(fp16x3_mma_kernel<1, 3>, THREADS<1>, Ring<1, 3>::BYTES, 1);
  }
  if (2 * Ring<1, 2>::BYTES <= room) {
    return use(fp16x3_mma_kernel<1, 2>, THREADS<1>, Ring<1, 2>::BYTES, 1);
  }
  return use(fp16x3_mma_kernel<2, 2>, THREADS<2>, Ring<2, 2>::BYTES, 2);
}

void launch_both(const Problem& p, void* memory, cudaStream_t stream) {
  const Operands operands = Operands::of(p, memory);
  const bool keeps = operands.keeps(current_device().smem_bytes);
  launch(fp16x3_mma_split_kernel, (operands.a_tiles + operands.b_tiles) * SPLIT_BLOCKS, dim3(SPLIT_THREADS),
         keeps ? KEPT_BYTES : 0, stream, p, operands, keeps);
  with_kernel([&](auto kernel, int threads, int smem_bytes, int b_tiles) {
    launch(kernel, std::int64_t{operands.a_tiles} * ceil_div(operands.b_tiles, b_tiles), dim3(threads), smem_bytes,
           stream, p, operands);
  });
}

KernelBlock block() {
  return with_kernel([](auto kernel, int threads, int smem, int) { return block_of(kernel, threads, smem); });
}

Configuration configuration(const Problem& p) { return {"", Operands::of(p, nullptr).bytes(), launch_both}; }

const Registration registered =
    Chapter(16, "fp16x3_mma", "Ootomo and Yokota; Markidis et al.")
        .summary("three FP16 products by mma.sync for each FP32 product, two terms with one scale per row")
        .min_capability(80)
        .accuracy(AccuracyClass::fp16_split)
        .block(block, 2)
        .configuration(configuration);

}  // namespace
}  // namespace sgemm
