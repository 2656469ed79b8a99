// Chapter 08: warps that only copy, and FMAs that alternate between register banks
//
// Against 07: copying moves into four warps of its own. The warps that multiply have little left besides FMAs and the
// loads of their operands. The order of the FMAs is chosen so that the register file keeps up with them.
//
//   warps      8 consumers multiply, 64 x 64 elements of C each, 16 x 8 per thread
//              4 producers copy (cp.async), with fewer registers per thread; consumers get the registers that are
//              left (setmaxnreg)
//   ring       four stages, each for a k-tile of 32. Two mbarriers per stage: `full` says that the copies have arrived,
//              `empty` that all eight consumers have read it. Producers run ahead as far as stages are empty. No warp
//              waits for the whole block.
//
//   rows of A  |0 1 2 3|4 5 6 7|8 9 10 11|12 13 14 15|      a thread's accumulators: 16 rows of 8 registers, each row
//   columns    |0 1 2 3|4 5 6 7|                            in two aligned groups of four: column j is in bank j % 2
//
//   order      two FMAs in a row that write to one bank cost a cycle, and so do three operands read from one bank.
//              Along a row the banks alternate. They alternate from row to row, too, if a row starts in another bank
//              than the one in which the last row ended. Three operands never share a bank if a row starts in another
//              bank than its element of A. Both hold as long as rows of one parity follow each other:
//              0 2 | 1 3 5 7 | 4 6 8 10 | 9 11 13 15 | 12 14.
//
// Traffic per element of C: k / 256 loads of A and k / 128 of B from global memory; k / 8 of A and k / 16 of B from
// shared memory.
// Limit: issue stages, and the last wave of tiles, which occupies few SMs.
//
// Variants: `serpentine` has the FMAs in the order of 07. `tile256x192` computes 16 x 12 per thread, so that 7 LDS.128
// feed 192 FMAs instead of 6 for 128, in tiles that suit large matrices alone.
// If rows of B or C do not split into aligned groups of four, B is copied and C stored float by float.

#include "common/ceil_div.hpp"
#include "common/epilogue.cuh"
#include "common/hilbert.hpp"
#include "common/keep_in_register.cuh"
#include "common/problem.hpp"
#include "common/vector_access.cuh"
#include "host/launch.cuh"
#include "ptx/cp_async.cuh"
#include "ptx/mbarrier.cuh"
#include "ptx/setmaxnreg.cuh"
#include "ptx/shared_memory.cuh"

#include <cstdint>
#include <type_traits>

namespace sgemm {
namespace {

constexpr int WARP = 32;
constexpr int PRODUCER_WARPS = 4;  // a warpgroup, as setmaxnreg wants
constexpr int PRODUCER_THREADS = PRODUCER_WARPS * WARP;
constexpr int BK = 32;  // a k-tile
constexpr int TM = 16;  // rows of C per thread
constexpr int LANES_M = 4;
constexpr int LANES_N = WARP / LANES_M;
constexpr int WM = LANES_M * TM;
constexpr int FLOAT_BYTES = sizeof(float);

/// The default block tile, and the constants that are chosen with it.
struct Tile128x256 {
  static constexpr int WARPS_M = 2;
  static constexpr int WARPS_N = 4;
  static constexpr int TN = 8;       // columns of C per thread
  static constexpr int STAGES = 4;   // of the ring
  static constexpr int UNROLL = 16;  // steps of k in an iteration, whose code has to fit into a cache
  static constexpr int PRODUCER_REGISTERS = 72;
};

struct Tile256x192 {
  static constexpr int WARPS_M = 4, WARPS_N = 2, TN = 12, STAGES = 3, UNROLL = 8, PRODUCER_REGISTERS = 24;
};

/// The constants that follow from the choice.
template <class Tile>
struct TileShape : Tile {
  static constexpr int WN = LANES_N * Tile::TN;
  static constexpr int BM = Tile::WARPS_M * WM;
  static constexpr int BN = Tile::WARPS_N * WN;
  static constexpr int CONSUMER_WARPS = Tile::WARPS_M * Tile::WARPS_N;
  static constexpr int CONSUMER_THREADS = CONSUMER_WARPS * WARP;
  static constexpr int THREADS = CONSUMER_THREADS + PRODUCER_THREADS;
  // For one k, a stage holds the tile's column of A and then its row of B, in floats. Four floats of padding spread a
  // warp's copy over all banks: it takes 4 rows of A and 8 elements along k at a time.
  static constexpr int B_OFFSET = BM + 4;
  static constexpr int K_BYTES = (B_OFFSET + BN) * FLOAT_BYTES;
  static_assert((B_OFFSET + BN) % WARP == 4);
  static constexpr int STAGE_BYTES = BK * K_BYTES;
  using Ring = StageRing<Tile::STAGES, STAGE_BYTES>;
  static constexpr int SMEM_BYTES = Ring::BYTES;
  // 64 Ki registers make 168 for each of 384 threads. Producers leave some of theirs over for the consumers.
  static constexpr int CONSUMER_REGISTERS =
      168 + (168 - Tile::PRODUCER_REGISTERS) * PRODUCER_THREADS / CONSUMER_THREADS;
  static_assert(THREADS == 384 && Tile::PRODUCER_REGISTERS % 16 == 8);
};

/// The number of k-tiles of a product. It is 1 if K is 0: a k-tile of zeros.
__device__ __forceinline__ int k_tiles_of(const Problem& p) {
  return p.k == 0 ? 1 : static_cast<int>(ceil_div<std::int64_t>(p.k, BK));
}

/// The place of a consumer's first row and column in the tile. The next groups of four follow at distances of 4 *
/// LANES_M rows and 4 * LANES_N columns.
template <class Shape>
__device__ __forceinline__ unsigned row_in_tile(unsigned thread) {
  return thread / WARP / Shape::WARPS_N * WM + thread % WARP / LANES_N * 4;
}
template <class Shape>
__device__ __forceinline__ unsigned column_in_tile(unsigned thread) {
  return thread / WARP % Shape::WARPS_N * Shape::WN + thread % LANES_N * 4;
}

// ---- The order of the FMAs ----

enum class FmaOrder { alternating_banks, serpentine };

/// The row that is multiplied as number `i` in one step of k.
template <FmaOrder ORDER>
__device__ constexpr int row_in_order(int i) {
  constexpr int BY_PARITY[TM] = {0, 2, 1, 3, 5, 7, 4, 6, 8, 10, 9, 11, 13, 15, 12, 14};
  return ORDER == FmaOrder::alternating_banks ? BY_PARITY[i] : i;
}

/// The column that is number `j` in that row. Every other row runs backwards. With alternating banks the odd column of
/// each pair comes first in even rows that run forwards and in odd rows that run backwards.
template <FmaOrder ORDER, int TN>
__device__ constexpr int column_in_order(int i, int j) {
  const int column = i % 2 == 0 ? j : TN - 1 - j;
  return ORDER == FmaOrder::alternating_banks ? column ^ ((i + row_in_order<ORDER>(i) + 1) % 2) : column;
}

/// The place in the order behind the last row of group `g` (rows 4 g to 4 g + 3).
template <FmaOrder ORDER>
__device__ constexpr int end_of_group(int g) {
  int last = 0;
  for (int i = 0; i < TM; ++i) {
    last = row_in_order<ORDER>(i) / 4 == g ? i : last;
  }
  return last;
}

// ---- Producers: the warps that copy ----

/// Fills stage after stage with the k-tiles of the block's rows of A and columns of B. Elements outside the matrices
/// become zeros. If K is no multiple of BK, the first k-tile is the short one.
template <class Shape, Access ACCESS>
__device__ __forceinline__ void produce(const Problem& p, unsigned smem) {
  // A: 16 rows by 8 elements along k at a time, 32 bits each, because A is transposed on the way.
  constexpr int A_K = 8;
  constexpr int A_ROWS = PRODUCER_THREADS / A_K;
  // B: each warp copies one row at a time.
  constexpr int B_WIDTH = static_cast<int>(ACCESS);  // floats per copy
  constexpr int B_SPAN = WARP * B_WIDTH;             // columns at a time
  constexpr int B_ROWS = PRODUCER_WARPS;

  const TileOrigin tile = tile_on_curve<Shape::BM, Shape::BN>(p, static_cast<int>(blockIdx.x));
  const int thread = static_cast<int>(threadIdx.x) - Shape::CONSUMER_THREADS;
  const int a_k = thread % A_K;
  const int a_row = thread / A_K;
  const int b_k = thread / WARP;
  const int b_col = thread % WARP * B_WIDTH;
  const float* a_source = p.a + (tile.row + a_row) * p.lda + a_k;
  const float* b_source = p.b + b_k * p.ldb + tile.col + b_col;
  const int rows_left = static_cast<int>(min(p.m - tile.row, std::int64_t{Shape::BM})) - a_row;
  const int cols_left = static_cast<int>(min(p.n - tile.col, std::int64_t{Shape::BN})) - b_col;
  typename Shape::Ring ring(smem);
  unsigned stage = smem;

  // Copies only the elements at k below `depth`, unless the k-tile is whole.
  const auto copy_k_tile = [&](auto whole, int depth) {
    constexpr bool WHOLE = decltype(whole)::value;
    ring.wait_until_empty();
    const unsigned a_destination = stage + a_k * Shape::K_BYTES + a_row * FLOAT_BYTES;
    const unsigned b_destination = stage + b_k * Shape::K_BYTES + (Shape::B_OFFSET + b_col) * FLOAT_BYTES;
    const float* a_rows = a_source;
#pragma unroll
    for (int row = 0; row < Shape::BM; row += A_ROWS) {
#pragma unroll
      for (int k = 0; k < BK; k += A_K) {
        const unsigned to = a_destination + k * Shape::K_BYTES + row * FLOAT_BYTES;
        cp_async_zfill<FLOAT_BYTES>(to, a_rows + k, row < rows_left && (WHOLE || a_k + k < depth));
      }
      a_rows += A_ROWS * p.lda;
      if constexpr (Shape::PRODUCER_REGISTERS >= 72) {  // with fewer registers the compiler does better by itself
        a_rows = keep_in_register(a_rows);
      }
    }
    a_source += depth;
#pragma unroll
    for (int k = 0; k < BK; k += B_ROWS) {
#pragma unroll
      for (int col = 0; col < Shape::BN; col += B_SPAN) {
        const unsigned to = b_destination + k * Shape::K_BYTES + col * FLOAT_BYTES;
        if (col + B_SPAN <= Shape::BN || col + b_col < Shape::BN) {
          cp_async_zfill<FLOAT_BYTES * B_WIDTH>(to, b_source + col, col < cols_left && (WHOLE || b_k + k < depth));
        }
      }
      b_source = keep_in_register(b_source + B_ROWS * p.ldb);  // so that not all rows' addresses stay in registers
    }
    cp_async_mbarrier_arrive_noinc(ring.full());
    stage = ring.advance() ? smem : stage + Shape::STAGE_BYTES;
  };

  int left = k_tiles_of(p);
  const int first_depth = static_cast<int>(p.k) - (left - 1) * BK;
  copy_k_tile(std::false_type{}, first_depth);
  b_source -= (BK - first_depth) * p.ldb;
  for (--left; left > 0; --left) {
    copy_k_tile(std::true_type{}, BK);
  }
}

// ---- Consumers: the warps that multiply ----

/// Four of a fragment's elements, for one k; groups lie 4 * LANES floats apart.
template <int LANES, int COUNT>
__device__ __forceinline__ void load_group(float (&fragment)[COUNT], int group, unsigned from) {
  unpack(ld_shared_v4_f32(from + group * 4 * LANES * FLOAT_BYTES), fragment + 4 * group);
}

template <int TN>
__device__ __forceinline__ void load_b(float (&b)[TN], unsigned from) {
#pragma unroll
  for (int group = 0; group < TN / 4; ++group) {
    load_group<LANES_N>(b, group, from);
  }
}

/// accumulators += A * B over all k-tiles.
template <class Shape, FmaOrder ORDER>
__device__ __forceinline__ void consume(int k_tiles, unsigned smem, float (&accumulators)[TM][Shape::TN]) {
  constexpr int TN = Shape::TN;
  // The addresses of this thread's fragments in the first stage.
  const unsigned a_first = keep_in_register(smem + row_in_tile<Shape>(threadIdx.x) * FLOAT_BYTES);
  const unsigned b_first =
      keep_in_register(smem + (Shape::B_OFFSET + column_in_tile<Shape>(threadIdx.x)) * FLOAT_BYTES);
  typename Shape::Ring ring(smem);
  unsigned b_here = b_first;
  unsigned a_here = a_first;
  float a[TM];
  float b[TN];
  ring.wait_until_full();
#pragma unroll
  for (int group = 0; group < TM / 4; ++group) {
    load_group<LANES_M>(a, group, a_here);
  }
  load_b(b, b_here);

  constexpr unsigned ITERATIONS = BK / Shape::UNROLL;  // per k-tile
#pragma unroll 1
  for (unsigned left = k_tiles * ITERATIONS; left > 0; --left) {
    unsigned a_next = a_here + Shape::UNROLL * Shape::K_BYTES;
    unsigned b_next = b_here + Shape::UNROLL * Shape::K_BYTES;
#pragma unroll
    for (int k = 0; k < Shape::UNROLL; ++k) {
      if (k == Shape::UNROLL - 1 && left % ITERATIONS == 1) {  // the last fragments of the k-tile are in registers
        if (left > 1) {
          const unsigned read = ring.empty();
          ring.advance();
          a_next = a_first + ring.stage() * Shape::STAGE_BYTES;
          b_next = b_first + ring.stage() * Shape::STAGE_BYTES;
          mbarrier_arrive_as_warp(read);  // the producers may fill it again
          ring.wait_until_full();
        } else {  // the last load is not used, but its address has to be valid
          a_next = a_here;
          b_next = b_here;
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
          accumulators[row][col] += a[row] * b[col];
        }
        // Registers are loaded for the next k as soon as this k does not need them any more.
        if (i == end_of_group<ORDER>(row / 4)) {
          load_group<LANES_M>(a, row / 4, a_from);
        }
      }
      load_b(b, b_from);
    }
    a_here = a_next;
    b_here = b_next;
  }
  mbarrier_arrive_as_warp(ring.empty());
}

/// Stores a thread's elements of C. `row` and `col` are the place of the first one.
template <class Shape, Access ACCESS, Epilogue EPILOGUE>
__device__ __forceinline__ void store(const Problem& p, std::int64_t row, std::int64_t col,
                                      const float (&accumulators)[TM][Shape::TN]) {
#pragma unroll
  for (int i = 0; i < TM; ++i) {
    const std::int64_t c_row = row + i / 4 * (4 * LANES_M) + i % 4;
    if (c_row < p.m) {
#pragma unroll
      for (int j = 0; j < Shape::TN; j += 4) {
        const std::int64_t c_col = col + j / 4 * (4 * LANES_N);
        const float* const sums = &accumulators[i][j];
        float* const c = p.c + c_row * p.ldc + c_col;
        if constexpr (ACCESS == Access::float4) {
          if (c_col < p.n) {
            update4<EPILOGUE>(c, sums, p.alpha, p.beta);
          }
        } else {
#pragma unroll
          for (int jj = 0; jj < 4; ++jj) {
            if (c_col + jj < p.n) {
              update(c[jj], sums[jj], p.alpha, p.beta);
            }
          }
        }
      }
    }
  }
}

/// ACCESS: how B is copied and C stored.
template <class Shape, Access ACCESS, FmaOrder ORDER>
__global__ void __launch_bounds__(Shape::THREADS, 1) warp_specialized_kernel(Problem p) {
  const unsigned smem = shared_address(dynamic_smem());
  Shape::Ring::init(smem, Shape::CONSUMER_WARPS, PRODUCER_THREADS);
  __syncthreads();

  if (threadIdx.x >= Shape::CONSUMER_THREADS) {
    setmaxnreg_dec<Shape::PRODUCER_REGISTERS>();
    produce<Shape, ACCESS>(p, smem);
    return;  // consumers wait for every k-tile, and the block lasts as long as they do
  }
  setmaxnreg_inc<Shape::CONSUMER_REGISTERS>();
  float accumulators[TM][Shape::TN] = {};
  consume<Shape, ORDER>(k_tiles_of(p), smem, accumulators);
  const TileOrigin tile = tile_on_curve<Shape::BM, Shape::BN>(p, static_cast<int>(blockIdx.x));
  const unsigned thread = keep_in_register(threadIdx.x);  // computed again, not kept through the loop
  const std::int64_t row = tile.row + row_in_tile<Shape>(thread);
  const std::int64_t col = tile.col + column_in_tile<Shape>(thread);
  // The compiler keeps groups of four accumulators in neighbouring registers, the first of them even, if they are
  // stored as they are. The order of the FMAs relies on this.
  if (ACCESS == Access::float4 && p.alpha == 1.0F && p.beta == 0.0F) {
    store<Shape, ACCESS, Epilogue::sums>(p, row, col, accumulators);
  } else {
    store<Shape, ACCESS, Epilogue::scaled>(p, row, col, accumulators);
  }
}

template <class Shape, FmaOrder ORDER>
void launch_tiles(const Problem& p, cudaStream_t stream) {
  const bool vector_access = rows_split_into_float4(p.b, p.n, p.ldb) && rows_split_into_float4(p.c, p.n, p.ldc);
  launch(vector_access ? warp_specialized_kernel<Shape, Access::float4, ORDER>
                       : warp_specialized_kernel<Shape, Access::float1, ORDER>,
         ceil_div<std::int64_t>(p.m, Shape::BM) * ceil_div<std::int64_t>(p.n, Shape::BN), dim3(Shape::THREADS),
         Shape::SMEM_BYTES, stream, p);
}

template <class Shape, FmaOrder ORDER>
Chapter warp_specialized() {
  return Chapter(8, "warp_specialized", "CUTLASS, warp specialization; the order of the FMAs is our own")
      .min_capability(90)
      .block(warp_specialized_kernel<Shape, Access::float4, ORDER>, Shape::THREADS, Shape::SMEM_BYTES, 1)
      .launcher(launch_tiles<Shape, ORDER>);
}

const Registration tile128x256 = warp_specialized<TileShape<Tile128x256>, FmaOrder::alternating_banks>().summary(
    "128x256 tiles, four warps copy and eight multiply, FMAs alternate between register banks");
const Registration serpentine = warp_specialized<TileShape<Tile128x256>, FmaOrder::serpentine>()
                                    .variant("serpentine")
                                    .summary("FMAs in serpentine order instead of alternating between register banks");
const Registration tile256x192 = warp_specialized<TileShape<Tile256x192>, FmaOrder::alternating_banks>()
                                     .variant("tile256x192")
                                     .summary("256x192 tiles, 16x12 per thread, for large matrices");

}  // namespace
}  // namespace sgemm
