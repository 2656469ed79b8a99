// Chapter 08: warps that only copy, and FMAs that alternate between register banks
//
// Against 07: copying moves into four warps of its own. What multiplies is left with little else than FMAs and the
// loads of their operands, and the order of those FMAs is chosen so that the register file keeps up with them.
//
//   warps      8 multiply, 64 x 64 elements of C each, 16 x 8 per thread
//              4 copy (cp.async), with fewer registers per thread; the others get what they leave over (setmaxnreg)
//   ring       four stages of 32 k. Two mbarriers per stage: `full` says that the copies have arrived, `empty` that all
//              eight warps have read it. Copiers run ahead as far as stages are empty; nobody waits for the whole
//              block.
//
//   rows of A  |0 1 2 3|4 5 6 7|8 9 10 11|12 13 14 15|      a thread's sums: 16 rows of 8 registers, each row in two
//   columns    |0 1 2 3|4 5 6 7|                            aligned groups of four: column j lies in register bank j %
//   2
//
//   order      two FMAs in a row that write to one bank cost a cycle, and so do three operands read from one bank.
//              Along a row the banks alternate. From row to row they do where a row starts in the bank that the last
//              one did not end in; three operands never share a bank where it starts in the bank that its element of A
//              is not in. Both go together as long as rows of one parity follow each other: 0 2 | 1 3 5 7 | 4 6 8 10 |
//              9 11 13 15 | 12 14.
//
// Traffic per element of C: k / 256 loads of A and k / 128 of B from global memory; k / 8 of A and k / 16 of B from
// shared memory.
// Limit: issue slots; and whole waves of tiles: what is left of C after the last full one occupies few SMs.
//
// Variants: `serpentine` has the FMAs in the order of 07; `tile256x192` computes 16 x 12 per thread, so that 7 LDS.128
// feed 192 FMAs instead of 6 for 128, in tiles that suit large matrices alone.
// Where rows of B or C do not split into aligned groups of four, B is copied and C stored float by float.

#include "async_copy.cuh"
#include "ceil_div.hpp"
#include "chapter.cuh"
#include "dynamic_smem.cuh"
#include "epilogue.cuh"
#include "hilbert.hpp"
#include "mbarrier.cuh"
#include "problem.hpp"
#include "registers.cuh"
#include "tiling.cuh"
#include "vector_access.cuh"

#include <type_traits>

namespace sgemm {
namespace {

constexpr int WARP = 32;
constexpr int COPY_WARPS = 4;  // a warpgroup, as setmaxnreg wants
constexpr int COPY_THREADS = COPY_WARPS * WARP;
constexpr int TM = 16;  // rows of C per thread
constexpr int LANES_M = 4;
constexpr int LANES_N = WARP / LANES_M;
constexpr int WM = LANES_M * TM;
constexpr int BK = 32;
constexpr int FLOAT_BYTES = sizeof(float);

enum class FmaOrder { alternating_banks, serpentine };

/// A block tile of WARPS_M x WARPS_N warps, which compute WM x (LANES_N * TN) each.
template <int WARPS_M, int WARPS_N, int TN_, int STAGES_, int UNROLL_, int COPY_REGISTERS_>
struct TileShape {
  static constexpr int TN = TN_;  // columns of C per thread
  static constexpr int STAGES = STAGES_;
  static constexpr int UNROLL = UNROLL_;  // k per iteration of the main loop: its code has to fit into a cache
  static_assert(BK % UNROLL == 0 && BK > UNROLL);
  static constexpr int WN = LANES_N * TN;
  static constexpr int BM = WARPS_M * WM;
  static constexpr int BN = WARPS_N * WN;
  static constexpr int WARPS_ACROSS = WARPS_N;
  static constexpr int MATH_WARPS = WARPS_M * WARPS_N;
  static constexpr int MATH_THREADS = MATH_WARPS * WARP;
  static constexpr int THREADS = MATH_THREADS + COPY_THREADS;
  // For one k, shared memory holds the tile's column of A and then its row of B, in floats. Four floats of padding
  // spread the 8 k by 4 rows of A that a warp copies at a time over all banks.
  static constexpr int B_OFFSET = BM + 4;
  static constexpr int K_STRIDE = B_OFFSET + BN;
  static_assert(K_STRIDE % WARP == 4);
  static constexpr int K_BYTES = K_STRIDE * FLOAT_BYTES;
  static constexpr int STAGE_BYTES = BK * K_BYTES;
  static constexpr int RING_BYTES = STAGES * STAGE_BYTES;
  static constexpr int SMEM_BYTES = RING_BYTES + STAGES * 2 * MBARRIER_BYTES;
  // 64 Ki registers make 168 for each of 384 threads. What the copying warps leave over is for the others.
  static constexpr int COPY_REGISTERS = COPY_REGISTERS_;
  static constexpr int MATH_REGISTERS = 168 + (168 - COPY_REGISTERS) * COPY_THREADS / MATH_THREADS;
  static_assert(THREADS == 384 && COPY_REGISTERS % 16 == 8);
};

template <class Shape>
__device__ __forceinline__ TileOrigin tile_of_block(const Problem& p, unsigned block) {
  const TileIndex index =
      hilbert_tile(static_cast<int>(block), static_cast<int>(ceil_div<std::int64_t>(p.m, Shape::BM)),
                   static_cast<int>(ceil_div<std::int64_t>(p.n, Shape::BN)));
  return {static_cast<std::int64_t>(index.row) * Shape::BM, static_cast<std::int64_t>(index.col) * Shape::BN};
}

/// Where in the tile the first of a thread's rows and columns are; each further group of four lies 4 * LANES_M rows or
/// 4 * LANES_N columns on.
template <class Shape>
__device__ __forceinline__ unsigned row_in_tile(unsigned thread) {
  return thread / WARP / Shape::WARPS_ACROSS * WM + thread % WARP / LANES_N * 4;
}
template <class Shape>
__device__ __forceinline__ unsigned column_in_tile(unsigned thread) {
  return thread / WARP % Shape::WARPS_ACROSS * Shape::WN + thread % LANES_N * 4;
}

/// The row that is multiplied as number `i` of a step of k.
template <FmaOrder ORDER>
__device__ constexpr int row_in_order(int i) {
  constexpr int BY_PARITY[TM] = {0, 2, 1, 3, 5, 7, 4, 6, 8, 10, 9, 11, 13, 15, 12, 14};
  return ORDER == FmaOrder::alternating_banks ? BY_PARITY[i] : i;
}

/// The column that is number `j` in it: to and fro, and with alternating banks first the odd one of each pair in even
/// rows that go forth and odd rows that go back.
template <FmaOrder ORDER, int TN>
__device__ constexpr int column_in_order(int i, int j) {
  const int column = i % 2 == 0 ? j : TN - 1 - j;
  return ORDER == FmaOrder::alternating_banks ? column ^ ((i + row_in_order<ORDER>(i) + 1) % 2) : column;
}

/// The place in the order after which no row of group `g` (rows 4 g to 4 g + 3) is left.
template <FmaOrder ORDER>
__device__ constexpr int end_of_group(int g) {
  int last = 0;
  for (int i = 0; i < TM; ++i) {
    last = row_in_order<ORDER>(i) / 4 == g ? i : last;
  }
  return last;
}

/// How many stages a product takes: one of zeros where there is no k.
__device__ __forceinline__ int stages_of(const Problem& p) {
  return p.k == 0 ? 1 : static_cast<int>(ceil_div<std::int64_t>(p.k, BK));
}

/// A stage's barriers, by their shared addresses: first those that tell of full stages, then those of empty ones. Each
/// use of a stage is one phase of its two barriers.
template <class Shape>
struct RingPosition {
  unsigned full;    ///< of the stage at this position
  unsigned parity;  ///< of the number of times that the ring has been passed

  __device__ unsigned empty() const { return full + Shape::STAGES * MBARRIER_BYTES; }
  __device__ void advance(unsigned first_full) {
    full += MBARRIER_BYTES;
    if (full == first_full + Shape::STAGES * MBARRIER_BYTES) {
      full = first_full;
      parity ^= 1U;
    }
  }
};

/// The smaller of both.
template <int LIMIT>
__device__ __forceinline__ int at_most(std::int64_t x) {
  return x < LIMIT ? static_cast<int>(x) : LIMIT;
}

/// What the copying warps do: they fill the ring, stage by stage, with the rows of A and the columns of B that belong
/// to the tile of C that begins at `tile`.
template <class Shape, bool VECTOR>
__device__ __forceinline__ void copy_operands(const Problem& p, TileOrigin tile, unsigned ring, unsigned barriers) {
  // A: 8 k by 16 rows at a time, 32 bits each, as it is transposed on the way.
  constexpr int A_K = 8;
  constexpr int A_ROWS = COPY_THREADS / A_K;
  const int thread = static_cast<int>(threadIdx.x) - Shape::MATH_THREADS;
  const int a_k = thread % A_K;
  const int a_row = thread / A_K;
  const float* a_source = p.a + (tile.row + a_row) * p.lda + a_k;
  const int rows_left = at_most<Shape::BM>(p.m - tile.row) - a_row;
  // B: each warp a row at a time.
  constexpr int B_WIDTH = VECTOR ? 4 : 1;  // floats per copy
  constexpr int B_SPAN = WARP * B_WIDTH;   // columns of B per copy of a warp
  const int b_k = thread / WARP;
  const int b_col = thread % WARP * B_WIDTH;
  const float* b_source = p.b + b_k * p.ldb + tile.col + b_col;
  const int cols_left = at_most<Shape::BN>(p.n - tile.col) - b_col;

  unsigned stage = ring;
  const unsigned a_destination = a_k * Shape::K_BYTES + a_row * FLOAT_BYTES;
  const unsigned b_destination = b_k * Shape::K_BYTES + (Shape::B_OFFSET + b_col) * FLOAT_BYTES;
  // One stage. What lies outside the matrices is filled with zeros, k from `depth` on among it unless the stage is
  // WHOLE.
  const auto copy_stage = [&](int depth, auto whole) {
    constexpr bool WHOLE = decltype(whole)::value;
    const float* a_from = a_source;
#pragma unroll
    for (int row = 0; row < Shape::BM; row += A_ROWS) {
#pragma unroll
      for (int k = 0; k < BK; k += A_K) {
        const unsigned to = stage + a_destination + k * Shape::K_BYTES + row * FLOAT_BYTES;
        cp_async_or_zero<FLOAT_BYTES>(to, a_from + k, row < rows_left && (WHOLE || a_k + k < depth));
      }
      a_from += A_ROWS * p.lda;
    }
#pragma unroll
    for (int k = 0; k < BK; k += COPY_WARPS) {
#pragma unroll
      for (int col = 0; col < Shape::BN; col += B_SPAN) {
        const unsigned to = stage + b_destination + k * Shape::K_BYTES + col * FLOAT_BYTES;
        if (col + B_SPAN <= Shape::BN || col + b_col < Shape::BN) {
          cp_async_or_zero<FLOAT_BYTES * B_WIDTH>(to, b_source + col, col < cols_left && (WHOLE || b_k + k < depth));
        }
      }
      b_source = keep_in_register(b_source + COPY_WARPS * p.ldb);  // and do not keep all rows' addresses
    }
  };

  // A k that is no multiple of BK leaves its short stage for the beginning.
  RingPosition<Shape> at{barriers, 0};
  int left = stages_of(p) - 1;
  const int first_depth = static_cast<int>(p.k) - left * BK;
  copy_stage(first_depth, std::false_type{});
  mbarrier_arrive_after_copies(at.full);
  a_source += first_depth;
  b_source -= (BK - first_depth) * p.ldb;
  for (; left > 0; --left) {
    at.advance(barriers);
    stage = at.full == barriers ? ring : stage + Shape::STAGE_BYTES;
    mbarrier_wait(at.empty(), at.parity ^ 1U);
    copy_stage(BK, std::true_type{});
    mbarrier_arrive_after_copies(at.full);
    a_source += BK;
  }
  // Nothing to wait for: the multiplying warps wait for every stage, and the block lasts as long as they do.
}

/// What the multiplying warps do: sums += A * B over all k, stage by stage. `a_first` and `b_first` are the shared
/// addresses at which the first stage holds this thread's fragments.
template <class Shape, FmaOrder ORDER>
__device__ __forceinline__ void multiply(const Problem& p, unsigned a_first, unsigned b_first, unsigned barriers,
                                         float (&sums)[TM][Shape::TN]) {
  constexpr int TN = Shape::TN;
  float a[TM];
  float b[TN];
  const auto load_a = [&](int group, unsigned from) {
    const float4 value = load_shared_float4(from + group * 4 * LANES_M * FLOAT_BYTES);
    a[4 * group] = value.x;
    a[4 * group + 1] = value.y;
    a[4 * group + 2] = value.z;
    a[4 * group + 3] = value.w;
  };
  const auto load_b = [&](int group, unsigned from) {
    const float4 value = load_shared_float4(from + group * 4 * LANES_N * FLOAT_BYTES);
    b[4 * group] = value.x;
    b[4 * group + 1] = value.y;
    b[4 * group + 2] = value.z;
    b[4 * group + 3] = value.w;
  };

  RingPosition<Shape> at{barriers, 0};
  mbarrier_wait(at.full, at.parity);
  unsigned a_here = a_first;
  unsigned b_here = b_first;
#pragma unroll
  for (int group = 0; group < TM / 4; ++group) {
    load_a(group, a_here);
  }
#pragma unroll
  for (int group = 0; group < TN / 4; ++group) {
    load_b(group, b_here);
  }
#pragma unroll 1
  for (int left = stages_of(p) * (BK / Shape::UNROLL); left > 0; --left) {
    unsigned a_next = a_here + Shape::UNROLL * Shape::K_BYTES;
    unsigned b_next = b_here + Shape::UNROLL * Shape::K_BYTES;
    // The fragments after the last ones are not used, but have to be there.
    if (a_next == a_first + Shape::RING_BYTES || left == 1) {
      a_next = a_first;
      b_next = b_first;
    }
#pragma unroll
    for (int k = 0; k < Shape::UNROLL; ++k) {
      if (k == Shape::UNROLL - 1 &&
          left % (BK / Shape::UNROLL) == 1) {  // the last fragments of a stage are in registers
        const unsigned read = at.empty();
        at.advance(barriers);
        if (left > 1) {
          mbarrier_wait(at.full, at.parity);
        }
        __syncwarp();
        if (threadIdx.x % WARP == 0) {
          mbarrier_arrive(read);
        }
      }
      const unsigned a_from = k == Shape::UNROLL - 1 ? a_next : a_here + (k + 1) * Shape::K_BYTES;
      const unsigned b_from = k == Shape::UNROLL - 1 ? b_next : b_here + (k + 1) * Shape::K_BYTES;
#pragma unroll
      for (int i = 0; i < TM; ++i) {
        const int row = row_in_order<ORDER>(i);
#pragma unroll
        for (int j = 0; j < TN; ++j) {
          const int col = column_in_order<ORDER, TN>(i, j);
          sums[row][col] += a[row] * b[col];
        }
        // Registers are loaded for the next k as soon as this one needs them no more.
        if (i == end_of_group<ORDER>(row / 4)) {
          load_a(row / 4, a_from);
        }
      }
#pragma unroll
      for (int group = 0; group < TN / 4; ++group) {
        load_b(group, b_from);
      }
    }
    a_here = a_next;
    b_here = b_next;
  }
}

/// C = alpha * sums + beta * C, for the elements of a thread, the first of which is at `first_row` and `first_col`.
/// PLAIN: alpha is 1 and beta 0.
template <class Shape, bool VECTOR, bool PLAIN>
__device__ __forceinline__ void store(const Problem& p, std::int64_t first_row, std::int64_t first_col,
                                      const float (&sums)[TM][Shape::TN]) {
#pragma unroll
  for (int i = 0; i < TM; ++i) {
    const std::int64_t row = first_row + i / 4 * (4 * LANES_M) + i % 4;
    if (row < p.m) {
#pragma unroll
      for (int j = 0; j < Shape::TN; j += 4) {
        const std::int64_t col = first_col + j / 4 * (4 * LANES_N);
        float* const c = p.c + row * p.ldc + col;
        if constexpr (VECTOR) {
          if (col < p.n) {
            if constexpr (PLAIN) {
              __stwt(reinterpret_cast<float4*>(c), float4{sums[i][j], sums[i][j + 1], sums[i][j + 2], sums[i][j + 3]});
            } else {
              update4(c, &sums[i][j], p.alpha, p.beta);
            }
          }
        } else {
#pragma unroll
          for (int jj = 0; jj < 4; ++jj) {
            if (col + jj < p.n) {
              update(c[jj], sums[i][j + jj], p.alpha, p.beta);
            }
          }
        }
      }
    }
  }
}

/// VECTOR: rows of B and C split into aligned groups of four.
template <class Shape, bool VECTOR, FmaOrder ORDER>
__global__ void __launch_bounds__(Shape::THREADS, 1) warp_specialized_kernel(Problem p) {
  const unsigned ring = shared_address(dynamic_smem());
  const unsigned barriers = ring + Shape::RING_BYTES;
  if (threadIdx.x < Shape::STAGES) {
    const RingPosition<Shape> at{barriers + threadIdx.x * MBARRIER_BYTES, 0};
    mbarrier_init(at.full, COPY_THREADS);
    mbarrier_init(at.empty(), Shape::MATH_WARPS);
  }
  __syncthreads();

  if (threadIdx.x >= Shape::MATH_THREADS) {
    lower_register_limit<Shape::COPY_REGISTERS>();
    copy_operands<Shape, VECTOR>(p, tile_of_block<Shape>(p, blockIdx.x), ring, barriers);
    return;
  }
  raise_register_limit<Shape::MATH_REGISTERS>();
  float sums[TM][Shape::TN] = {};
  multiply<Shape, ORDER>(p, ring + row_in_tile<Shape>(threadIdx.x) * FLOAT_BYTES,
                         ring + (Shape::B_OFFSET + column_in_tile<Shape>(threadIdx.x)) * FLOAT_BYTES, barriers, sums);
  const TileOrigin tile = tile_of_block<Shape>(p, blockIdx.x);
  const unsigned thread = keep_in_register(threadIdx.x);  // computed again rather than kept through the loop
  const std::int64_t row = tile.row + row_in_tile<Shape>(thread);
  const std::int64_t col = tile.col + column_in_tile<Shape>(thread);
  // Sums that are stored as they are make the compiler keep groups of four in neighbouring registers, the first of them
  // even, from the start: the order of the FMAs relies on it.
  if (VECTOR && p.alpha == 1.0F && p.beta == 0.0F) {
    store<Shape, VECTOR, true>(p, row, col, sums);
  } else {
    store<Shape, VECTOR, false>(p, row, col, sums);
  }
}

template <class Shape, FmaOrder ORDER>
Chapter chapter() {
  return Chapter(8, "warp_specialized")
      .source("CUTLASS, warp specialization; the order of the FMAs is our own")
      .min_compute_capability(90)
      .launcher([](const Problem& p, cudaStream_t stream) {
        const bool vector_access = rows_split_into_float4(p.b, p.n, p.ldb) && rows_split_into_float4(p.c, p.n, p.ldc);
        launch(
            vector_access ? warp_specialized_kernel<Shape, true, ORDER> : warp_specialized_kernel<Shape, false, ORDER>,
            tiles_of<Shape::BM, Shape::BN>(p), dim3(Shape::THREADS), Shape::SMEM_BYTES, stream, p);
      })
      .blocks_per_sm(1)
      .resources(
          [] { return resources_of(warp_specialized_kernel<Shape, true, ORDER>, Shape::THREADS, Shape::SMEM_BYTES); });
}

using Tile128x256 = TileShape<2, 4, 8, 4, 16, 72>;
using Tile256x192 = TileShape<4, 2, 12, 3, 8, 24>;

const Registration tile128x256 =
    chapter<Tile128x256, FmaOrder::alternating_banks>()
        .summary(
            "128x256 tiles, 16x8 per thread, four warps that only copy, FMAs that alternate between register banks")
        .registration();
const Registration serpentine = chapter<Tile128x256, FmaOrder::serpentine>()
                                    .variant("serpentine")
                                    .summary("the same with the FMAs in serpentine order")
                                    .registration();
const Registration tile256x192 = chapter<Tile256x192, FmaOrder::alternating_banks>()
                                     .variant("tile256x192")
                                     .summary("the same with 256x192 tiles, 16x12 per thread")
                                     .registration();

}  // namespace
}  // namespace sgemm
