// Chapter 07: warp tiles, an asynchronous pipeline, and blocks along a Hilbert curve
//
// Against 06: three changes that together reach cuBLAS, after L. Murray's kernel ("Murray, tiling"). His matrices are
// column-major with 256 x 128 block tiles; read as C^T = B^T A^T, this is its row-major mirror image.
//
//   grid       block 128 x 256        warp 64 x 64 (2 x 4 of them)     thread 16 x 8
//   +--+--+    +----+----+----+----+   8 lanes x 8 columns             rows    4 groups of 4, 16 rows apart
//   |0 |3 |    | w0 | w1 | w2 | w3 |  +----------------+               columns 2 groups of 4, 32 columns apart
//   +--+--+    +----+----+----+----+  |4 lanes         |               per k: 6 LDS.128 feed 128 FMAs
//   |1 |2 |    | w4 | w5 | w6 | w7 |  |x 16 rows       |
//   +--+--+    +----+----+----+----+  +----------------+
//
//   ring       four stages, each for a k-tile of 16: while one is multiplied, cp.async fills the next three, past the
//              registers. B is copied 128 bits at a time; A 32 bits at a time, because it is transposed on the way: a
//              thread's rows of A then lie side by side in shared memory.
//   barriers   a 64-row slice of A is copied and read by the same 4 warps, a 64-column slice of B by the same 2.
//              Two named barriers, of half and of a quarter of the block, replace the full one.
//   fragments  the operands of k + 1 are read from shared memory while those of k are multiplied.
//   order      blocks take tiles along a Hilbert curve, so that those at work at one time cover a compact part of C
//              and share rows of A and columns of B in the L2, whatever the number of SMs.
//
// Traffic per element of C: k / 256 loads of A and k / 128 of B from global memory; k / 8 of A and k / 16 of B from
// shared memory.
// Limit: issue slots. 9 of 10 instructions in the main loop are FMAs and 7 of 8 slots are used. The others are
// shared-memory loads and addresses, stalls at dispatch and on instruction fetch, and an idle last wave of blocks.
//
// Variants: `row_order` takes the tiles row by row; `block_barrier` synchronises the whole block once per k-tile.
// Where rows of B or C do not split into aligned groups of four, B is copied and C stored float by float.

#include "common/ceil_div.hpp"
#include "common/epilogue.cuh"
#include "common/hilbert.hpp"
#include "common/keep_in_register.cuh"
#include "common/problem.hpp"
#include "common/tiling.cuh"
#include "common/vector_access.cuh"
#include "host/launch.cuh"
#include "ptx/bar.cuh"
#include "ptx/cp_async.cuh"
#include "ptx/shared_memory.cuh"

namespace sgemm {
namespace {

constexpr int WARP = 32;
constexpr int BM = 128;  // block tile
constexpr int BN = 256;
constexpr int BK = 16;
constexpr int STAGES = 4;
constexpr int WM = 64;  // warp tile
constexpr int WN = 64;
constexpr int TM = 16;  // thread tile
constexpr int TN = 8;
constexpr int WARPS_M = BM / WM;
constexpr int WARPS_N = BN / WN;
constexpr int THREADS = WARPS_M * WARPS_N * WARP;
constexpr int LANES_M = WM / TM;
constexpr int LANES_N = WN / TN;
static_assert(LANES_M * LANES_N == WARP);

// One stage in shared memory, in floats: A's tile transposed (BK rows of BM), then B's (BK rows of BN). A's rows are
// padded by one vector, so that of a warp's 32-bit copies, 2 rows of 16 elements, at most two meet on a bank.
constexpr int A_LD = BM + 4;
constexpr int B_LD = BN;
constexpr int A_TILE = BK * A_LD;
constexpr int STAGE = A_TILE + BK * B_LD;
constexpr int STAGE_BYTES = STAGE * static_cast<int>(sizeof(float));
constexpr int SMEM_BYTES = STAGES * STAGE_BYTES;

// The warps in one row of warps share the copies of a slice of A, those in one column the copies of a slice of B.
constexpr int A_SHARERS = WARPS_N * WARP;
constexpr int B_SHARERS = WARPS_M * WARP;
constexpr int A_ROWS_PER_COPY = A_SHARERS / BK;
constexpr int A_COPIES = WM / A_ROWS_PER_COPY;  // per thread and k-tile

// Offsets between the rows that one thread copies are kept in 32 bits, to save registers and instructions.
constexpr std::int64_t MAX_LEADING_DIMENSION = (std::int64_t{1} << 32) / WM;

enum class BlockOrder { hilbert, rows };
enum class Barrier { named, block };

__device__ __forceinline__ std::int64_t at_most(std::int64_t x, std::int64_t limit) { return x < limit ? x : limit; }

/// ACCESS: how B is copied and C stored.
template <Access ACCESS, BlockOrder ORDER, Barrier BARRIER>
__global__ void __launch_bounds__(THREADS, 1) warptile_hilbert_kernel(Problem p) {
  constexpr int B_WIDTH = static_cast<int>(ACCESS);  // floats per copy
  constexpr int B_THREADS_PER_ROW = WN / B_WIDTH;
  constexpr int B_ROWS_PER_COPY = B_SHARERS / B_THREADS_PER_ROW;
  constexpr int B_COPIES = BK / B_ROWS_PER_COPY;
  constexpr int FLOAT_BYTES = sizeof(float);

  float* const smem = dynamic_smem();
  const int warp = threadIdx.x / WARP;
  const int lane = threadIdx.x % WARP;
  const int warp_m = warp / WARPS_N;
  const int warp_n = warp % WARPS_N;
  // Lanes in a zigzag, 2 columns, then 4 rows, then the next 2 columns: neighbouring lanes share words of A and of B.
  const int lane_m = lane / 2 % LANES_M;
  const int lane_n = lane / (2 * LANES_M) * 2 + lane % 2;

  const int tiles_m = static_cast<int>(ceil_div<std::int64_t>(p.m, BM));
  const int tiles_n = static_cast<int>(ceil_div<std::int64_t>(p.n, BN));
  const int block = static_cast<int>(blockIdx.x);
  const TileIndex tile = ORDER == BlockOrder::hilbert ? hilbert_tile(block, tiles_m, tiles_n)
                                                      : TileIndex{block / tiles_n, block % tiles_n};
  const std::int64_t warp_row = static_cast<std::int64_t>(tile.row) * BM + warp_m * WM;
  const std::int64_t warp_col = static_cast<std::int64_t>(tile.col) * BN + warp_n * WN;

  // This thread's copies. Rows and columns beyond the matrix are replaced by the last ones inside. Sums
  // that contain them are never stored, and the loop needs no tests.
  const int a_thread = warp_n * WARP + lane;
  const int a_k = a_thread % BK;
  const int a_row = a_thread / BK;
  const std::int64_t a_first_row = at_most(warp_row + a_row, p.m - 1);
  const float* a_source = p.a + a_first_row * p.lda + a_k;
  unsigned a_offset[A_COPIES];  // relative to a_source; MAX_LEADING_DIMENSION keeps them in 32 bits
#pragma unroll
  for (int i = 0; i < A_COPIES; ++i) {
    const std::int64_t row = at_most(warp_row + a_row + i * A_ROWS_PER_COPY, p.m - 1);
    a_offset[i] = static_cast<unsigned>((row - a_first_row) * p.lda);
  }
  const int b_thread = warp_m * WARP + lane;
  const int b_k = b_thread / B_THREADS_PER_ROW;
  const int b_col = b_thread % B_THREADS_PER_ROW * B_WIDTH;
  const float* b_source = p.b + b_k * p.ldb + at_most(warp_col + b_col, p.n - B_WIDTH);
  const unsigned b_offset = static_cast<unsigned>(B_ROWS_PER_COPY * p.ldb);
  const unsigned ring = shared_address(smem);
  const unsigned a_destination = keep_in_register(ring + FLOAT_BYTES * (a_k * A_LD + warp_m * WM + a_row));
  const unsigned b_destination = keep_in_register(ring + FLOAT_BYTES * (A_TILE + b_k * B_LD + warp_n * WN + b_col));

  const auto a_target = [&](int i, unsigned stage_bytes) {
    return a_destination + stage_bytes + FLOAT_BYTES * i * A_ROWS_PER_COPY;
  };
  const auto b_target = [&](int i, unsigned stage_bytes) {
    return b_destination + stage_bytes + FLOAT_BYTES * i * B_ROWS_PER_COPY * B_LD;
  };
  const auto advance_sources = [&](int k) {
    a_source += k;
    b_source += k * p.ldb;
  };

  // Fill all stages but one. A k that is no multiple of BK leaves its short k-tile for the first stage.
  const int k_tiles = static_cast<int>(ceil_div<std::int64_t>(p.k, BK));
  const int first_k = static_cast<int>(p.k - static_cast<std::int64_t>(k_tiles - 1) * BK);
#pragma unroll
  for (int stage = 0; stage < STAGES - 1; ++stage) {
    if (stage < k_tiles) {
      const int depth = stage == 0 ? first_k : BK;
#pragma unroll
      for (int i = 0; i < A_COPIES; ++i) {
        cp_async_zfill<FLOAT_BYTES>(a_target(i, stage * STAGE_BYTES), a_source + a_offset[i], a_k < depth);
      }
#pragma unroll
      for (int i = 0; i < B_COPIES; ++i) {
        cp_async_zfill<FLOAT_BYTES * B_WIDTH>(b_target(i, stage * STAGE_BYTES), b_source + i * b_offset,
                                              b_k + i * B_ROWS_PER_COPY < depth);
      }
      advance_sources(depth);
    }
    cp_async_commit_group();
  }

  const auto wait_for_next_stage = [&] {
    cp_async_wait_group<STAGES - 2>();
    if constexpr (BARRIER == Barrier::named) {
      bar_sync(1 + warp_m, A_SHARERS);
      bar_sync(1 + WARPS_M + warp_n, B_SHARERS);
    } else {
      __syncthreads();
    }
  };

  float sums[TM][TN] = {};
  float a[2][TM];  // fragments of this k and of the next
  float b[2][TN];
  const float* const a_fragments = smem + warp_m * WM + lane_m * 4;
  const float* const b_fragments = smem + A_TILE + warp_n * WN + lane_n * 4;
  const auto load_fragments = [&](int set, int stage, int k) {
    load_groups_of_4<TM, 4 * LANES_M>(a[set], a_fragments + stage + k * A_LD);
    load_groups_of_4<TN, 4 * LANES_N>(b[set], b_fragments + stage + k * B_LD);
  };

  int read_stage = 0;                                 // in floats
  unsigned write_stage = (STAGES - 1) * STAGE_BYTES;  // in bytes
  if (k_tiles > 0) {
    wait_for_next_stage();
    load_fragments(0, read_stage, 0);
  }
  for (int k_tile = 0; k_tile < k_tiles; ++k_tile) {
    const bool copying = k_tile + STAGES - 1 < k_tiles;
#pragma unroll
    for (int k = 0; k < BK; ++k) {
      if (k < BK - 1) {
        load_fragments((k + 1) % 2, read_stage, k + 1);
        // Copies are spread over the k-tile: issued in one go, they would hold up the loads of fragments behind them.
        if (copying) {
          constexpr int COPIES = A_COPIES + B_COPIES;
#pragma unroll
          for (int i = k * COPIES / (BK - 1); i < (k + 1) * COPIES / (BK - 1); ++i) {
            if (i < A_COPIES) {
              cp_async<FLOAT_BYTES>(a_target(i, write_stage), a_source + a_offset[i]);
            } else {
              const int j = i - A_COPIES;
              cp_async<FLOAT_BYTES * B_WIDTH>(b_target(j, write_stage), b_source + j * b_offset);
            }
          }
        }
        if (k == BK - 2) {
          advance_sources(BK);
          cp_async_commit_group();  // empty groups at the end keep the count that wait_for_next_stage relies on
        }
      } else {
        // The last fragments of this k-tile are in registers: its stage has been read, and past the barrier its
        // copiers may overwrite it.
        read_stage = read_stage == (STAGES - 1) * STAGE ? 0 : read_stage + STAGE;
        write_stage = write_stage == (STAGES - 1) * STAGE_BYTES ? 0 : write_stage + STAGE_BYTES;
        if (k_tile + 1 < k_tiles) {
          wait_for_next_stage();
          load_fragments(0, read_stage, 0);
        }
      }
      // Row by row, every other row backwards: neighbouring FMAs share an operand, which then comes from the operand
      // reuse cache instead of a register port.
#pragma unroll
      for (int i = 0; i < TM; ++i) {
#pragma unroll
        for (int j = 0; j < TN; ++j) {
          const int col = i % 2 == 0 ? j : TN - 1 - j;
          sums[i][col] += a[k % 2][i] * b[k % 2][col];
        }
      }
    }
  }

#pragma unroll
  for (int i = 0; i < TM; ++i) {
    const std::int64_t row = warp_row + lane_m * 4 + i / 4 * (4 * LANES_M) + i % 4;
    if (row < p.m) {
#pragma unroll
      for (int j = 0; j < TN; j += 4) {
        const std::int64_t col = warp_col + lane_n * 4 + j / 4 * (4 * LANES_N);
        float* const c = p.c + row * p.ldc + col;
        if constexpr (ACCESS == Access::float4) {
          if (col < p.n) {
            update4(c, &sums[i][j], p.alpha, p.beta);
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

std::optional<std::string> unsupported(const Problem& p) {
  if (p.lda > MAX_LEADING_DIMENSION || p.ldb > MAX_LEADING_DIMENSION) {
    return "rows of A or B are more than " + std::to_string(MAX_LEADING_DIMENSION) + " elements apart";
  }
  return std::nullopt;
}

template <BlockOrder ORDER, Barrier BARRIER>
void launch_tiles(const Problem& p, cudaStream_t stream) {
  const bool vector_access = rows_split_into_float4(p.b, p.n, p.ldb) && rows_split_into_float4(p.c, p.n, p.ldc);
  launch(vector_access ? warptile_hilbert_kernel<Access::float4, ORDER, BARRIER>
                       : warptile_hilbert_kernel<Access::float1, ORDER, BARRIER>,
         tiles_of<BM, BN>(p), dim3(THREADS), SMEM_BYTES, stream, p);
}

template <BlockOrder ORDER, Barrier BARRIER>
Chapter warptile_hilbert() {
  return Chapter(7, "warptile_hilbert", "Murray, tiling; Salykova, sgemm.cu")
      .min_capability(80)
      .unsupported(unsupported)
      .block(warptile_hilbert_kernel<Access::float4, ORDER, BARRIER>, THREADS, SMEM_BYTES, 1)
      .launcher(launch_tiles<ORDER, BARRIER>);
}

const Registration hilbert_order = warptile_hilbert<BlockOrder::hilbert, Barrier::named>().summary(
    "128x256 tiles in Hilbert order, 64x64 per warp, 16x8 per thread, a ring filled by cp.async");
const Registration row_order = warptile_hilbert<BlockOrder::rows, Barrier::named>()
                                   .variant("row_order")
                                   .summary("tiles in row-major order instead of Hilbert order");
const Registration block_barrier = warptile_hilbert<BlockOrder::hilbert, Barrier::block>()
                                       .variant("block_barrier")
                                       .summary("one barrier of the block per k-tile, no named barriers");

}  // namespace
}  // namespace sgemm
