// Chapter 12: each FP32 product becomes three FP16 products on Hopper's tensor cores
//
// Against 11: there are two terms instead of three, and so half the products and two thirds of the bytes. FP16 has 10
// mantissa bits where BF16 has 7, but only 5 bits of exponent:
//
//   x   |s|exponent|            23 mantissa bits             |     a b = a1 b1 + a1 b2 + a2 b1
//   x1  |s| 5 |10, rounded      |                                      + what is left out, some 2^-23 of it
//   x2                     |s| 5 |10, rounded       |
//
//   an operand tile            block 128 x 256, 12 warps          the main loop, for each k-tile
//   +--------+ 128 rows of A   +-----------+-----------+
//   | x1     | or columns      |  w0-w3    |  w0-w3    | 64 rows  start    12 wgmma: 3 products, 4 times 16 along k
//   +--------+ of B,           +-----------+-----------+          wait     until the tensor cores have their sums
//   | x2     | 16 KB a term    |  w4-w7    |  w4-w7    | 64 rows  release  the stage of B, and after the last one of A
//   +--------+                 +-----------+-----------+          promote  FP32 units add the sums to accumulators
//     BK = 64                  a tile      another one
//                              of B                 w8 copies     and the same with the next tile of B
//   scaling    decides here: FP16 ends at 2^16 and begins to lose bits at 2^-14. An operand tile is scaled so that its
//              largest number lies between 2^7 and 2^15. Rows whose own largest number would lie below 2^-1 are scaled
//              by another 2^16, or twice. So x1 + x2 has 22 bits of every number from 2^-3 on. Below that it is off by
//              2^-25 at most, which is 2^-24 of the largest of its 64 neighbours in the k-tile, or less.
//   promotion  undoes the scaling: a fused multiply-add takes the power of two that all products of the k-tile have in
//              common. Where rows have factors of their own, a branch applies them before.
//   window     of producers, as in 11.
//
// Inf, NaN and rows that would take a third factor become Inf or NaN, and their elements of C are computed again by
// FMAs, slowly. Not for operands whose rows (of A) or columns (of B) span many decades: elements of C that are made of
// small numbers alone lose bits.
// Traffic per element of C: k / 256 numbers of A and k / 128 of B from global memory, two terms of 2 bytes each.
// Limit: as in 11 the power that the tensor cores draw, and the time for splitting, a tenth of the whole at 4096.

#include "common/ceil_div.hpp"
#include "common/hilbert.hpp"
#include "common/problem.hpp"
#include "common/store_accumulators.cuh"
#include "common/target.hpp"
#include "host/launch.cuh"
#include "ptx/cp_async_bulk.cuh"
#include "ptx/cvt.cuh"
#include "ptx/griddepcontrol.cuh"
#include "ptx/mbarrier.cuh"
#include "ptx/setmaxnreg.cuh"
#include "ptx/shared_memory.cuh"
#include "ptx/wgmma.cuh"

#include <cmath>
#include <cstddef>
#include <cstdint>

namespace sgemm {
namespace {

constexpr int WARP = 32;
constexpr int TERMS = 2;        // FP16 numbers whose sum is nearly a float
constexpr int BK = 64;          // elements along k in a row of 128 bytes
constexpr int TILE_ROWS = 128;  // rows of A or columns of B in an operand tile
constexpr int TERM_BYTES = TILE_ROWS * WGMMA_ROW_BYTES;
constexpr int TILE_BYTES = TERMS * TERM_BYTES;

/// The powers of two that undo the scaling of an operand tile, and the tile's place.
struct alignas(16) Scaling {
  int exponent;                    ///< of all rows
  int uniform;                     ///< the same, or NOT_UNIFORM if some rows have a factor of their own as well
  int tile;                        ///< its number along M (of A) or N (of B), so that consumers need not compute it
  unsigned char steps[TILE_ROWS];  ///< the factor of a row is 2^-(ROW_STEP * this)
};
constexpr int NOT_UNIFORM = 1 << 20;  // far from any sum of two exponents
constexpr int ROW_STEP = 16;          // binades, and 2 steps at most

/// All operand tiles in global memory, those of the same rows or columns one after the other along k. Behind them are
/// their scalings, and then the progress of the producers.
struct Operands {
  int k_tiles;  ///< at least one; it holds zeros if K is 0
  int a_tiles;  ///< tiles of A side by side along M
  int b_tiles;  ///< tiles of B side by side along N
  std::int64_t count;
  unsigned char* memory;

  static Operands of(const Problem& p, void* memory) {
    const auto tiles = [](std::int64_t size, int of) { return static_cast<int>(ceil_div<std::int64_t>(size, of)); };
    const int k_tiles = p.k == 0 ? 1 : tiles(p.k, BK);
    const std::int64_t count = (std::int64_t{tiles(p.m, TILE_ROWS)} + tiles(p.n, TILE_ROWS)) * k_tiles;
    return {k_tiles, tiles(p.m, TILE_ROWS), tiles(p.n, TILE_ROWS), count, static_cast<unsigned char*>(memory)};
  }
  std::size_t bytes() const { return static_cast<std::size_t>(count) * (TILE_BYTES + sizeof(Scaling)) + 16; }
  __device__ unsigned char* terms(std::int64_t tile) const { return memory + tile * TILE_BYTES; }
  __device__ Scaling* scaling(std::int64_t tile) const { return reinterpret_cast<Scaling*>(terms(count)) + tile; }
  __device__ unsigned* progress() const { return reinterpret_cast<unsigned*>(scaling(count)); }
};

// ---- The kernel that splits ----

constexpr int SPLIT_THREADS = 256;
/// 2^exponent, for exponents of normal numbers.
__device__ __forceinline__ float power_of_2(int exponent) {
  return __uint_as_float(static_cast<unsigned>(exponent + 127) << 23U);
}

/// x * 2^exponent, which itself need not be a float.
__device__ __forceinline__ float scaled(float x, int exponent) {
  return x * power_of_2(exponent / 2) * power_of_2(exponent - exponent / 2);
}

/// The bits of |x|, which have the order of the numbers; 0 for Inf and NaN, which no scaling helps.
__device__ __forceinline__ unsigned magnitude(float x) {
  const unsigned bits = __float_as_uint(x) & 0x7FFFFFFFU;
  return bits < 0x7F800000U ? bits : 0;
}

/// Splits a tile of A or B in each block. Columns of B become rows, and elements outside the matrices zeros.
__global__ void __launch_bounds__(SPLIT_THREADS) fp16x3_split_kernel(Problem p, Operands operands) {
  __shared__ float x[TILE_ROWS][BK + 1];  // padded by a bank, as B's columns are stored here
  __shared__ unsigned largest_of_warp[SPLIT_THREADS / WARP];
  griddepcontrol_launch_dependents();
  const int thread = static_cast<int>(threadIdx.x);
  const int row_tile = static_cast<int>(blockIdx.x) / operands.k_tiles;
  const std::int64_t first_k = static_cast<std::int64_t>(blockIdx.x) % operands.k_tiles * BK;
  const bool of_a = row_tile < operands.a_tiles;
  const int tile = of_a ? row_tile : row_tile - operands.a_tiles;
  const std::int64_t first_row = std::int64_t{tile} * TILE_ROWS;
  // Neighbouring threads read neighbours: along k in A, along columns in B.
  int row = of_a ? thread / BK : thread % TILE_ROWS;
  int k = of_a ? thread % BK : thread / TILE_ROWS;
  const float* source =
      of_a ? p.a + (first_row + row) * p.lda + first_k + k : p.b + (first_k + k) * p.ldb + first_row + row;
  const std::int64_t step = of_a ? SPLIT_THREADS / BK * p.lda : SPLIT_THREADS / TILE_ROWS * p.ldb;
  unsigned largest = 0;
#pragma unroll 16
  for (int i = 0; i < TILE_ROWS * BK / SPLIT_THREADS; ++i) {
    x[row][k] = first_row + row < (of_a ? p.m : p.n) && first_k + k < p.k ? *source : 0.0F;
    largest = max(largest, magnitude(x[row][k]));
    source += step;
    row += of_a ? SPLIT_THREADS / BK : 0;
    k += of_a ? 0 : SPLIT_THREADS / TILE_ROWS;
  }
  largest = __reduce_max_sync(~0U, largest);
  if (thread % WARP == 0) {
    largest_of_warp[thread / WARP] = largest;
  }
  __syncthreads();
  for (const unsigned other : largest_of_warp) {
    largest = max(largest, other);
  }
  // The exponent of the largest number comes to 7 to 14, by steps of 8, so that operands of one kind mostly have the
  // same scaling everywhere. A row's own largest number comes to -1 at least.
  const int exponent = 139 - (static_cast<int>(largest >> 23U) + 5) / 8 * 8;
  Scaling& scaling = *operands.scaling(blockIdx.x);
  // Eight neighbouring threads have a row. Eight elements along k make 16 bytes of each term.
  int all_steps = 0;
  k = thread % 8 * 8;
#pragma unroll
  for (int first = 0; first < TILE_ROWS; first += SPLIT_THREADS / 8) {
    row = first + thread / 8;
    unsigned largest_of_row = 0;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      largest_of_row = max(largest_of_row, magnitude(x[row][k + i]));
    }
    for (const int lanes : {1, 2, 4}) {
      largest_of_row = max(largest_of_row, __shfl_xor_sync(~0U, largest_of_row, lanes));
    }
    const int exponent_of_row = static_cast<int>(largest_of_row >> 23U) - 127 + exponent;
    int steps = largest_of_row == 0 ? 0 : (14 - exponent_of_row) / ROW_STEP;
    const bool unscalable = steps > 2;
    steps = unscalable ? 0 : steps;
    all_steps |= steps;
    unsigned terms[TERMS][4];
#pragma unroll
    for (int pair = 0; pair < 4; ++pair) {
      float low = unscalable ? NAN : scaled(x[row][k + 2 * pair], exponent + steps * ROW_STEP);
      float high = unscalable ? NAN : scaled(x[row][k + 2 * pair + 1], exponent + steps * ROW_STEP);
#pragma unroll
      for (int term = 0; term < TERMS; ++term) {  // the rounded rest that the terms before it leave
        terms[term][pair] = Fp16::pack(low, high);
        const float2 rounded = Fp16::unpack(terms[term][pair]);
        low -= rounded.x;
        high -= rounded.y;
      }
    }
#pragma unroll
    for (int term = 0; term < TERMS; ++term) {
      unsigned char* const to = operands.terms(blockIdx.x) + term * TERM_BYTES;
      const uint4 group{terms[term][0], terms[term][1], terms[term][2], terms[term][3]};
      *reinterpret_cast<uint4*>(to + swizzled(row * WGMMA_ROW_BYTES + k * 2)) = group;
    }
    if (k == 0) {
      scaling.steps[row] = static_cast<unsigned char>(steps);
    }
  }
  all_steps = __syncthreads_or(all_steps);
  if (thread == 0) {
    scaling.exponent = -exponent;
    scaling.uniform = all_steps == 0 ? -exponent : NOT_UNIFORM;
    scaling.tile = tile;
    if (blockIdx.x == 0) {
      *operands.progress() = 0;
    }
  }
}

// ---- The kernel that multiplies ----

constexpr int B_TILES = 2;  // of a tile of C, by one of A
constexpr int CONSUMERS = 2 * WARPGROUP;
constexpr int THREADS = CONSUMERS + WARPGROUP;
constexpr int PRODUCER_REGISTERS = 40;   // of 168, as in 11
constexpr int CONSUMER_REGISTERS = 232;  // with those that the producer warpgroup gives up
constexpr int A_STAGES = 3;
constexpr int B_STAGES = 4;
constexpr int B_RING = ceil_div(StageRing<A_STAGES, TILE_BYTES>::BYTES, WGMMA_ALIGNMENT) * WGMMA_ALIGNMENT;
constexpr int SCALINGS = B_RING + StageRing<B_STAGES, TILE_BYTES>::BYTES;  // of the stages of A, then of B
constexpr int SMEM_BYTES = SCALINGS + (A_STAGES + B_STAGES) * static_cast<int>(sizeof(Scaling));

/// A ring whose tiles have their scalings elsewhere.
template <int STAGES>
struct Ring : StageRing<STAGES, TILE_BYTES> {
  unsigned scalings;

  __device__ unsigned scaling_at() const { return scalings + this->stage() * sizeof(Scaling); }
  __device__ const Scaling& scaling() const { return *static_cast<const Scaling*>(from_shared_address(scaling_at())); }
  /// Fills the next stage, by one thread.
  __device__ __forceinline__ void copy(const Operands& operands, std::int64_t number) {
    this->wait_until_empty();
    mbarrier_arrive_expect_tx(this->full(), TILE_BYTES + sizeof(Scaling));
    cp_async_bulk(this->data(), operands.terms(number), TILE_BYTES, this->full());
    cp_async_bulk(scaling_at(), operands.scaling(number), sizeof(Scaling), this->full());
    this->advance();
  }
};

/// The producer thread: for each k-tile of each of the block's tiles of C it copies one of A, then those of B.
__device__ __forceinline__ void produce(const Operands& operands, int tiles, Ring<A_STAGES> a, Ring<B_STAGES> b) {
  // The k-tiles that have a window: few rounds end before blocks are far apart. The executor's blocks take turns.
  const int rounds = TARGET == Target::for_gpu ? tiles / static_cast<int>(gridDim.x) : 0;
  int in_window = rounds < 4 ? 0 : rounds * operands.k_tiles;
  unsigned even = 0;  // what all blocks together have begun when all are where this one is
  for (int position = blockIdx.x; position < tiles; position += gridDim.x) {
    const TileIndex tile = hilbert_tile(position, operands.a_tiles, ceil_div(operands.b_tiles, B_TILES));
    const std::int64_t a_first = std::int64_t{tile.row} * operands.k_tiles;
    const std::int64_t b_first = (std::int64_t{operands.a_tiles} + tile.col * B_TILES) * operands.k_tiles;
    griddepcontrol_wait();  // returns at once when the kernel before has ended
    for (int k_tile = 0; k_tile < operands.k_tiles; ++k_tile) {
      if (in_window > 0) {
        even += gridDim.x;
        int looks = 128;  // a block gives up at last: another kernel may have the SM of the one that it waits for
        for (unsigned all = atomicAdd(operands.progress(), 1U); looks > 0 && all + 2 * gridDim.x < even; --looks) {
          all = atomicAdd(operands.progress(), 0U);
        }
        in_window = looks > 0 ? in_window - 1 : 0;
      }
      a.copy(operands, a_first + k_tile);
      for (int j = 0; j < min(B_TILES, operands.b_tiles - tile.col * B_TILES); ++j) {
        b.copy(operands, b_first + j * operands.k_tiles + k_tile);
      }
    }
  }
}

/// Undoes the scaling of products one by one: rows have factors of their own, or the power of two is no float.
__device__ __forceinline__ void undo_scaling(float (&products)[64], const Scaling& a, const Scaling& b) {
  const int exponent = max(a.exponent + b.exponent, -188);  // below that the result is 0 in any case
  const unsigned char* const rows = &a.steps[threadIdx.x / WARP * 16 + threadIdx.x % WARP / 4];
  const unsigned char* const columns = &b.steps[threadIdx.x % 4 * 2];
  const float of_rows[2] = {power_of_2(exponent / 2 - ROW_STEP * rows[0]),
                            power_of_2(exponent / 2 - ROW_STEP * rows[8])};
#pragma unroll
  for (int i = 0; i < 64; ++i) {
    products[i] *= of_rows[i / 2 % 2];
    products[i] *= power_of_2(exponent - exponent / 2 - ROW_STEP * columns[i / 4 * 8 + i % 2]);
  }
}

__global__ void __launch_bounds__(THREADS, 1) fp16x3_kernel(Problem p, Operands operands, int tiles) {
  const unsigned smem = shared_address(dynamic_smem());
  Ring<A_STAGES> a_ring{StageRing<A_STAGES, TILE_BYTES>(smem), smem + SCALINGS};
  Ring<B_STAGES> b_ring{StageRing<B_STAGES, TILE_BYTES>(smem + B_RING),
                        smem + SCALINGS + A_STAGES * static_cast<unsigned>(sizeof(Scaling))};
  a_ring.init(smem, CONSUMERS / WARP, 1);
  b_ring.init(smem + B_RING, CONSUMERS / WARP, 1);
  fence_mbarrier_init();
  __syncthreads();
  if (threadIdx.x >= CONSUMERS) {
    setmaxnreg_dec<PRODUCER_REGISTERS>();
    if (threadIdx.x == CONSUMERS) {
      produce(operands, tiles, a_ring, b_ring);
    }
    return;  // the consumers wait for every copy, and the block lasts as long as they do
  }

  setmaxnreg_inc<CONSUMER_REGISTERS>();
#pragma unroll 1
  for (int position = blockIdx.x; position < tiles; position += gridDim.x) {
    float sums[B_TILES][64] = {};
    int a_tile = 0;
    int b_tile = 0;
#pragma unroll 1
    for (int k_tile = 0; k_tile < operands.k_tiles; ++k_tile) {
      a_ring.wait_until_full();
      int inside = B_TILES;  // one at the right edge of C
#pragma unroll
      for (int j = 0; j < B_TILES; ++j) {
        if (j == inside) {
          break;
        }
        b_ring.wait_until_full();
        const unsigned rows_of_group = threadIdx.x / WARPGROUP * (WGMMA_M * WGMMA_ROW_BYTES);
        const std::uint64_t a = wgmma_descriptor(a_ring.data() + rows_of_group);
        const std::uint64_t b = wgmma_descriptor(b_ring.data());
        float products[64];
        // The products of terms that count, the smallest first: tensor cores cut off less while a sum is small.
        constexpr int TERM_OF_A[] = {1, 0, 0};
        constexpr int TERM_OF_B[] = {0, 1, 0};
        wgmma_fence();
#pragma unroll
        for (int i = 0; i < 3; ++i) {
#pragma unroll
          for (int k = 0; k < WGMMA_ROW_BYTES; k += 32) {  // bytes of 16 elements
            wgmma_m64n128k16<Fp16>(products, wgmma_descriptor_at(a, TERM_OF_A[i] * TERM_BYTES + k),
                                   wgmma_descriptor_at(b, TERM_OF_B[i] * TERM_BYTES + k), i + k > 0);
          }
        }
        wgmma_commit_group();

        // Meanwhile: how are the products scaled, and where do they belong?
        const Scaling& of_a = a_ring.scaling();
        const Scaling& of_b = b_ring.scaling();
        int exponent = of_a.uniform + of_b.uniform;
        const bool is_float = exponent >= -126 && exponent <= 127;  // not if one is NOT_UNIFORM
        if (j == 0) {
          a_tile = of_a.tile;
          b_tile = of_b.tile;
          inside = min(B_TILES, operands.b_tiles - __shfl_sync(~0U, b_tile, 0));  // of one lane: known to be uniform
        }
        wgmma_wait_group<0>(products);
        if (!is_float) {
          undo_scaling(products, of_a, of_b);
          exponent = 0;
        }

        // Tensor cores have read the stages, which the producer may fill again.
        b_ring.release();
        if (j + 1 == inside) {
          a_ring.release();
        }

        // Promotion: FP32 units add what tensor cores have summed over one k-tile.
        const float factor = power_of_2(exponent);
#pragma unroll
        for (int i = 0; i < 64; ++i) {
          sums[j][i] = fmaf(products[i], factor, sums[j][i]);
        }
      }
    }
#pragma unroll
    for (int j = 0; j < B_TILES; ++j) {
      store_tile_or_recompute(p, std::int64_t{a_tile} * TILE_ROWS, (std::int64_t{b_tile} + j) * TILE_ROWS, sums[j]);
    }
  }
}

void launch_both(const Problem& p, void* workspace, cudaStream_t stream) {
  const Operands operands = Operands::of(p, workspace);
  launch(fp16x3_split_kernel, operands.count, dim3(SPLIT_THREADS), 0, stream, p, operands);
  const int tiles = operands.a_tiles * ceil_div(operands.b_tiles, B_TILES);
  launch_dependent(fp16x3_kernel, persistent_blocks(tiles), dim3(THREADS), SMEM_BYTES, stream, p, operands, tiles);
}

Configuration configuration(const Problem& p) { return {"", Operands::of(p, nullptr).bytes(), launch_both}; }

const Registration registered =
    Chapter(12, "fp16x3", "Ootomo and Yokota; Markidis et al.")
        .summary("three FP16 products by wgmma for each FP32 product, operands scaled and split into two terms")
        .needs_code_for_sm_90a()
        .accuracy(AccuracyClass::fp16_split)
        .block(fp16x3_kernel, THREADS, SMEM_BYTES, 1)
        .configuration(configuration);

}  // namespace
}  // namespace sgemm
