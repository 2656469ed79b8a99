// Chapter 19: each FP32 product becomes five INT8 products, with the error of 13's six
//
// Against 13: the two leading digits of A and of B take three products instead of four (Karatsuba 1962). The mixed ones
// follow from the product of the digits' sums, and digits are chosen so that a sum is a byte, too:
//
//   127 a / largest of the row = d1 + d2 / 2^7 + d3 / 2^15, rounded; d1 is rounded from 128 / 127.5 of it, so that d2
//                                is -d1 / 2 give or take 64
//
//   (d1 + d2 / 2^7 + d3 / 2^15) (e1 + e2 / 2^7 + e3 / 2^15)
//       = d1 e1 + ((d1 + d2) (e1 + e2) - d1 e1 - d2 e2) / 2^7 + d2 e2 / 2^14 + (d1 e3 + d3 e1) / 2^15 + what is left
//
//   split      As in 13, but a line may have any scale, not powers of two alone, and a number becomes four bytes:
//
//                128 rows of A, or 96 columns of B, by 64 k    | d1, d2 | d1 + d2, d3 |    256 bytes a line
//
//   multiply   A persistent block has 128 x 96 of C at a time, and four stages of 64 k. Two blocks that are neighbours
//              along N form a cluster. Each copies one half of their tile of A into the shared memory of both:
//
//                block 0   | d1, d2 of A | d1 + d2, d3 of A | B |      10 wgmma of 64 x 96 x 32 for each stage and
//                                 v               ^                    warpgroup, into four sums: 192 of a thread's
//                block 1   | d1, d2 of A | d1 + d2, d3 of A | B |      registers
//
// Elements take no tensor cores in lines with Inf, NaN or nothing but numbers below 2^-104, or where the largest
// numbers of both lines have a product below 2^-112.
//
// Traffic per element of C: k / 192 numbers of A and k / 128 of B from global memory, four bytes each.
// Limit: tensor cores, five products instead of 13's six.

#include "common/ceil_div.hpp"
#include "common/problem.hpp"
#include "common/split_lines.cuh"
#include "common/store_accumulators.cuh"
#include "common/target.hpp"
#include "host/launch.cuh"
#include "ptx/cluster.cuh"
#include "ptx/cp_async_bulk.cuh"
#include "ptx/griddepcontrol.cuh"
#include "ptx/mbarrier.cuh"
#include "ptx/setmaxnreg.cuh"
#include "ptx/shared_memory.cuh"
#include "ptx/wgmma.cuh"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace sgemm {
namespace {

constexpr int WARP = 32;
constexpr int CLUSTER = TARGET == Target::for_gpu ? 2 : 1;  // blocks; the executor's clusters have one
constexpr int BK = 64;                                      // of a stage
constexpr int A_LINES = 128;                                // rows of A in an operand tile
constexpr int B_LINES = 96;                                 // columns of B
constexpr int A_HALF = A_LINES * WGMMA_ROW_BYTES;           // bytes of the first two digits of an operand tile
constexpr int B_HALF = B_LINES * WGMMA_ROW_BYTES;
constexpr int A_BYTES = 2 * A_HALF;
constexpr int B_BYTES = 2 * B_HALF;

/// The operand tiles. Those of the same lines follow one another along k. Behind them each line has its unit, the value
/// of 1 in the first digit. Last comes how often all clusters together have looked at their pace.
struct Operands {
  int a_tiles;
  int b_tiles;  ///< a multiple of CLUSTER
  int k_steps;  ///< of BK numbers
  unsigned char* memory;

  static Operands of(const Problem& p, void* memory) {
    const auto tiles = [](std::int64_t size, int of) { return static_cast<int>(ceil_div<std::int64_t>(size, of)); };
    return {tiles(p.m, A_LINES), CLUSTER * tiles(p.n, CLUSTER * B_LINES), 2 * std::max(tiles(p.k, 2 * BK), 1),
            static_cast<unsigned char*>(memory)};
  }
  __host__ __device__ std::int64_t b_at() const { return std::int64_t{a_tiles} * k_steps * A_BYTES; }
  __host__ __device__ std::int64_t units_at() const { return b_at() + std::int64_t{b_tiles} * k_steps * B_BYTES; }
  std::size_t bytes() const {
    return units_at() + sizeof(float) * (std::size_t{A_LINES} * a_tiles + std::size_t{B_LINES} * b_tiles + 1);
  }
  __device__ unsigned char* a(int tile) const { return memory + std::int64_t{tile} * k_steps * A_BYTES; }
  __device__ unsigned char* b(int tile) const { return memory + b_at() + std::int64_t{tile} * k_steps * B_BYTES; }
  __device__ float* units_of_a() const { return reinterpret_cast<float*>(memory + units_at()); }
  __device__ float* units_of_b() const { return units_of_a() + a_tiles * A_LINES; }
  __device__ unsigned* progress() const { return reinterpret_cast<unsigned*>(units_of_b() + b_tiles * B_LINES); }
  /// A cluster has CLUSTER tiles of C at a time, side by side. They go down a band of BAND tiles, then to the right, so
  /// that those of a round share rows and columns.
  __host__ __device__ int clusters() const { return a_tiles * (b_tiles / CLUSTER); }
  __device__ int2 place(int i, unsigned rank) const {  // the tile of A, and that of B
    constexpr int BAND = 8;
    const int of_band = BAND * (b_tiles / CLUSTER);
    const int first = i / of_band * BAND;
    const int height = min(BAND, a_tiles - first);
    const int in_band = i % of_band;
    return {first + in_band % height, in_band / height * CLUSTER + static_cast<int>(rank)};
  }
};

// ---- The kernel that splits ----

/// For split_lines(). The code of a line is its unit.
struct Digits {
  static constexpr int BK = 128;  // of two stages
  static constexpr int GROUP = 16;
  static constexpr int TERMS = 4;  // d1, d2, d1 + d2, d3

  /// The largest number becomes 127 units. Below 2^-104 the scale that makes third digits might be no float.
  __device__ __forceinline__ static unsigned scale_code(unsigned largest) {
    const float magnitude = __uint_as_float(largest);
    return __float_as_uint(largest == 0 ? 1.0F : magnitude >= 0x1p-104F ? magnitude / 127.0F : NAN);
  }

  /// Only the lowest byte of a digit counts, so that four numbers' digits lie in one register.
  __device__ __forceinline__ static void split(const float (&x)[GROUP], unsigned code, unsigned (&words)[TERMS][4]) {
    constexpr float MANTISSA = 0x1.8p23F;  // the sum with it has a rounded integer in its lowest bits
    const float scale = 0x1p15F / __uint_as_float(code);
    const float scale_of_first = scale / (127.5F * 256);
#pragma unroll
    for (int i = 0; i < GROUP; i += 4) {
      unsigned all[4];  // digits, as one integer
      unsigned first[4];
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        all[j] = __float_as_uint(fmaf(x[i + j], scale, MANTISSA));
        first[j] = __float_as_uint(fmaf(x[i + j], scale_of_first, MANTISSA));
      }
      const auto bytes = [](const unsigned(&of)[4], unsigned number) {
        const unsigned of_both = (4 + number) << 4U | number;
        return __byte_perm(__byte_perm(of[0], of[1], of_both), __byte_perm(of[2], of[3], of_both), 0x5410);
      };
      const unsigned d1 = bytes(first, 0);
      words[3][i / 4] = bytes(all, 0);
#pragma unroll
      for (unsigned& each : all) {
        each += 128;  // a third digit from 128 on is a negative one, and carries
      }
      const unsigned d2 = bytes(all, 1) ^ (d1 & 0x01010101U) << 7U;  // without 128 d1, whose lowest byte is 0 or 128
      words[2][i / 4] = ((d1 & 0x7F7F7F7FU) + (d2 & 0x7F7F7F7FU)) ^ ((d1 ^ d2) & 0x80808080U);  // byte by byte
      words[0][i / 4] = d1;
      words[1][i / 4] = d2;
    }
  }
};

/// A block for each eight lines. Lines of B beyond those of its tiles have no place.
__global__ void __launch_bounds__(SPLIT_THREADS, 1) int8x5_split_kernel(Problem p, Operands operands) {
  griddepcontrol_launch_dependents();
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    *operands.progress() = 0;
  }
  const auto store = [&](const Group& at, unsigned code, const uint4(&digits)[Digits::TERMS]) {
    const int line = (at.of_a ? at.tile : at.tile - operands.a_tiles) * TILE_LINES + at.row;
    const int lines = at.of_a ? A_LINES : B_LINES;
    if (!at.of_a && line >= operands.b_tiles * B_LINES) {
      return;
    }
    const int half = lines * WGMMA_ROW_BYTES;
    unsigned char* const to = (at.of_a ? operands.a(line / lines) : operands.b(line / lines)) +
                              std::int64_t{at.k_tile * 2 + at.number / 4} * (2 * half);
    const unsigned place = line % lines * WGMMA_ROW_BYTES + at.number % 4 * 16;
#pragma unroll
    for (int term = 0; term < Digits::TERMS; ++term) {
      *reinterpret_cast<uint4*>(to + term / 2 * half + swizzled(place + term % 2 * BK)) = digits[term];
    }
    if (at.k_tile == 0 && at.number == 0) {
      (at.of_a ? operands.units_of_a() : operands.units_of_b())[line] = __uint_as_float(code);
    }
  };
  split_lines<Digits>(p, operands.a_tiles, operands.k_steps / 2, dynamic_smem(), store);
}

// ---- The kernel that multiplies ----

constexpr int CONSUMERS = 2 * WARPGROUP;
constexpr int THREADS = CONSUMERS + WARPGROUP;
constexpr int PRODUCER_REGISTERS = 40;  // as in 13
constexpr int CONSUMER_REGISTERS = 232;
using Ring = StageRing<4, A_BYTES + B_BYTES>;

/// The producer thread. A stage is full when this block's part of A, the others' parts and its B have arrived, and is
/// empty when the consumers of all blocks have read theirs. Every other round of tiles goes back along k, as in 13.
__device__ __forceinline__ void produce(const Operands& operands, Ring stage) {
  constexpr int PART = A_BYTES / CLUSTER;
  const unsigned rank = cluster_rank();
  const int tiles = operands.clusters();
  const auto clusters = static_cast<int>(gridDim.x / CLUSTER);
  // Clusters wait while they are more than a look ahead of the average, as blocks do in 13. A look is a trip to the L2,
  // so that there is one for eight stages. It pays where blocks have time to drift apart. The executor's take turns.
  constexpr int LOOK = 8;
  const int rounds = TARGET == Target::for_gpu && rank == 0 ? tiles / clusters : 0;
  int in_window = rounds < 16 ? 0 : rounds * operands.k_steps;
  unsigned even = 0;
  bool back = false;
  griddepcontrol_wait();
  for (int i = static_cast<int>(blockIdx.x) / CLUSTER; i < tiles; i += clusters, back = !back) {
    const int2 tile = operands.place(i, rank);
    const unsigned char* const a = operands.a(tile.x) + rank * PART;
    const unsigned char* const b = operands.b(tile.y);
    for (int step = 0; step < operands.k_steps; ++step) {
      if (in_window > 0 && in_window-- % LOOK == 0) {
        even += gridDim.x / CLUSTER;
        int looks = 128;  // a block gives up at last: another kernel may have the SM of the one that it waits for
        for (unsigned all = atomicAdd(operands.progress(), 1U); looks > 0 && all + gridDim.x / CLUSTER < even;
             --looks) {
          all = atomicAdd(operands.progress(), 0U);
        }
        in_window = looks > 0 ? in_window : 0;
      }
      const std::int64_t at = back ? operands.k_steps - 1 - step : step;
      stage.wait_until_empty();
      mbarrier_arrive_expect_tx(stage.full(), A_BYTES + B_BYTES);
      cp_async_bulk_multicast(stage.data() + rank * PART, a + at * A_BYTES, PART, stage.full(), (1U << CLUSTER) - 1);
      cp_async_bulk(stage.data() + A_BYTES, b + at * B_BYTES, B_BYTES, stage.full());
      stage.advance();
    }
  }
}

/// Gives a stage, which this warp has read, back to all blocks of the cluster.
__device__ __forceinline__ void release(Ring& stage) {
  __syncwarp();
  if (threadIdx.x % WARP < CLUSTER) {
    mbarrier_arrive_at(stage.empty(), threadIdx.x % WARP);
  }
  stage.advance();
}

enum Sum { LEADING, SUMS, SECOND, THIRD };

/// Starts the products of 64 rows of a tile of A by a tile of B.
__device__ __forceinline__ void start_products(int (&sums)[4][48], unsigned a_tile, unsigned b_tile) {
  constexpr int PRODUCTS[5][3] = {{THIRD, 0, B_HALF + BK},
                                  {THIRD, A_HALF + BK, 0},
                                  {SUMS, A_HALF, B_HALF},
                                  {SECOND, BK, BK},
                                  {LEADING, 0, 0}};  // a sum, places of digits of A and of B
  const std::uint64_t a = wgmma_descriptor(a_tile);
  const std::uint64_t b = wgmma_descriptor(b_tile);
  wgmma_fence();
#pragma unroll
  for (int i = 0; i < 5; ++i) {
#pragma unroll
    for (int k = 0; k < BK; k += WGMMA_INTEGER_K) {
      wgmma_m64n96k32(sums[PRODUCTS[i][0]], wgmma_descriptor_at(a, PRODUCTS[i][1] + k),
                      wgmma_descriptor_at(b, PRODUCTS[i][2] + k), true);
    }
  }
  wgmma_commit_group();
}

/// The four sums of each element become one, times the units of its lines. It is not finite where it has to be computed
/// again, as their product is no normal float.
__device__ __forceinline__ void add_up(const int (&sums)[4][48], const float* of_a, const float* of_b,
                                       float (&totals)[48]) {
  const float of_rows[2] = {of_a[0], of_a[8]};
#pragma unroll
  for (int i = 0; i < 48; ++i) {
    const int mixed = sums[SUMS][i] - sums[LEADING][i] - sums[SECOND][i];
    const int low = sums[SECOND][i] + (sums[THIRD][i] >> 1);
    const float unit = of_rows[i / 2 % 2] * of_b[i / 4 * 8 + i % 2];
    totals[i] = fmaf(static_cast<float>(low), 0x1p-14F,
                     fmaf(static_cast<float>(mixed), 0x1p-7F, static_cast<float>(sums[LEADING][i])));
    totals[i] *= unit >= 0x1p-126F ? unit : NAN;
  }
}

__global__ void __launch_bounds__(THREADS, 1) int8x5_kernel(Problem p, Operands operands) {
  const unsigned smem = shared_address(dynamic_smem());
  Ring::init(smem, CLUSTER * CONSUMERS / WARP, 1);
  fence_mbarrier_init();
  cluster_sync();
  const auto thread = static_cast<int>(threadIdx.x);
  if (thread >= CONSUMERS) {
    setmaxnreg_dec<PRODUCER_REGISTERS>();
    if (thread == CONSUMERS) {
      produce(operands, Ring(smem));
    }
    return;
  }

  setmaxnreg_inc<CONSUMER_REGISTERS>();
  griddepcontrol_wait();
  const unsigned rows_of_group = thread / WARPGROUP * (WGMMA_M * WGMMA_ROW_BYTES);
  Ring stage(smem);
  Ring read(smem);  // the oldest stage that products may still read
#pragma unroll 1
  for (auto i = static_cast<int>(blockIdx.x / CLUSTER); i < operands.clusters();
       i += static_cast<int>(gridDim.x / CLUSTER)) {
    int sums[4][48] = {};
#pragma unroll 1
    for (int step = 0; step < operands.k_steps; ++step) {
      stage.wait_until_full();
      start_products(sums, stage.data() + rows_of_group, stage.data() + A_BYTES);
      stage.advance();
      wgmma_wait_group<1>(sums);
      if (step > 0) {
        release(read);
      }
    }
    wgmma_wait_group<0>(sums);
    release(read);

    const int2 tile = operands.place(i, cluster_rank());
    const int row = tile.x * A_LINES + thread / WARP * 16 + thread % WARP / 4;  // of the thread's first element
    const int col = tile.y * B_LINES + thread % 4 * 2;
    float totals[48];
    add_up(sums, operands.units_of_a() + row, operands.units_of_b() + col, totals);
    store_or_recompute(p, row, col, totals);
  }
  cluster_sync();  // no block ends before the others have given back what they have read
}

// ---- The launch ----

/// How many k can be summed before d1 e3 + d3 e1, or a smaller sum, might leave INT32's range.
constexpr std::int64_t MOST_K = std::int64_t{INT32_MAX} / (2 * 127 * 128) / (2 * BK) * (2 * BK);

/// Longer sums are sums of pieces, which C adds up.
void launch_pieces(Problem p, void* memory, cudaStream_t stream) {
  std::int64_t left = p.k;
  do {
    p.k = std::min(left, MOST_K);
    const Operands operands = Operands::of(p, memory);
    const int tiles_of_split = operands.a_tiles + ceil_div(operands.b_tiles * B_LINES, TILE_LINES);
    launch(int8x5_split_kernel, tiles_of_split * SPLIT_BLOCKS, dim3(SPLIT_THREADS),
           operands.k_steps / 2 > SPLIT_CHUNK<Digits> ? KEPT_BYTES : 0, stream, p, operands);

    const int rounds = ceil_div(operands.clusters(), std::max(current_device().multiprocessors / CLUSTER, 1));
    launch_dependent<CLUSTER>(int8x5_kernel, CLUSTER * ceil_div(operands.clusters(), rounds), dim3(THREADS),
                              Ring::BYTES, stream, p, operands);
    left -= p.k;
    p.a += p.k;
    p.b += p.k * p.ldb;
    p.beta = 1.0F;
  } while (left > 0);
}

Configuration configuration(Problem p) {
  p.k = std::min(p.k, MOST_K);
  return {"", Operands::of(p, nullptr).bytes(), launch_pieces};
}

const Registration registered =
    Chapter(19, "int8x5", "Karatsuba; Ootomo, Ozaki and Yokota")
        .summary("five INT8 products by wgmma for each FP32 product, the two leading digits by Karatsuba's three")
        .needs_code_for_sm_90a()
        .accuracy(AccuracyClass::int8_split)
        .block(int8x5_kernel, THREADS, Ring::BYTES, 1)
        .configuration(configuration);

}  // namespace
}  // namespace sgemm
