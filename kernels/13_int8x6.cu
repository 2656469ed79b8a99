// Chapter 13: each FP32 product becomes six INT8 products on Hopper's tensor cores
//
// Against 12: tensor cores multiply integers of 8 bits twice as fast as numbers of 16 bits, and add them up exactly. A
// float becomes an integer of 23 bits by one power of two for its whole line, a row of A or a column of B, and the
// integer three signed digits to the base 256:
//
//   x 2^e = d1 2^16 + d2 2^8 + d3, rounded        a b 2^(e + f) = 2^32 (d1 d1)
//   digits from -128 to 127                                     + 2^24 (d1 d2 + d2 d1)
//                                                               + 2^16 (d1 d3 + d2 d2 + d3 d1) + what is left out
//
//   split      A block has eight lines from their first number to their last. It looks for the largest number of each,
//              and then writes the digits, operand tile by operand tile:
//
//                128 lines by 128 k   | d1 | d2 | d3 | codes of scales |    48 KB and 144 bytes, for one bulk copy
//
//   multiply   A persistent block has a tile of C of 128 x 128 at a time. One thread of a producer warpgroup keeps two
//              stages full. Two consumer warpgroups multiply, 64 rows each:
//
//                stage 0 | A | B |   24 wgmma of 64 x 128 x 32       sums[0] += d1 d1
//                stage 1 | A | B |   for each stage and warpgroup    sums[1] += d1 d2 + d2 d1
//                                                                    sums[2] += d1 d3 + d2 d2 + d3 d1
//
//   sums       stay in registers over all k: 192 of a thread's. Nothing is rounded, and no FP32 unit adds. The three
//              become one float at the end. INT32 has room for 43648 k; longer products are made piece by piece.
//
// One scale for a line means that numbers far below its largest one lose digits: the error of an element is small
// beside K times the largest number of its row of A times that of its column of B, and need not be small beside the
// element. Elements in lines with Inf, NaN, numbers near FLT_MAX or denormal numbers alone take no tensor cores.
//
// Traffic per element of C: k / 128 numbers of A and of B from global memory, three digits of a byte each.
// Limit: tensor cores, six products at twice the rate of 12's three.

#include "common/ceil_div.hpp"
#include "common/hilbert.hpp"
#include "common/problem.hpp"
#include "common/stage.cuh"
#include "common/store_accumulators.cuh"
#include "common/target.hpp"
#include "host/chapter.cuh"
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
constexpr int TILE = 128;  // rows of A, or columns of B, of an operand tile
constexpr int BK = 128;    // its k: a byte of each digit
constexpr int DIGITS = 3;
constexpr int DIGIT_BYTES = TILE * WGMMA_ROW_BYTES;

/// What follows an operand tile's digits: the codes of its lines' scales, and its number along M or N.
struct alignas(128) Scales {  // so that tiles begin with a line of the L2
  unsigned char codes[TILE];
  int tile;
};
constexpr int TILE_BYTES = DIGITS * DIGIT_BYTES + static_cast<int>(sizeof(Scales));

/// The operand tiles. Those of the same lines follow one another along k, and those of B come after those of A.
struct Operands {
  int a_tiles;
  int b_tiles;
  int k_tiles;  ///< at least one, of zeros where K is 0
  unsigned char* memory;

  static Operands of(const Problem& p, void* memory) {
    const auto tiles = [](std::int64_t lines) { return static_cast<int>(ceil_div<std::int64_t>(lines, TILE)); };
    return {tiles(p.m), tiles(p.n), std::max(tiles(p.k), 1), static_cast<unsigned char*>(memory)};
  }
  /// In front of them is how many k-tiles all blocks together have begun to copy.
  __device__ unsigned* progress() const { return reinterpret_cast<unsigned*>(memory); }
  __device__ unsigned char* tile(std::int64_t number) const { return memory + 128 + number * TILE_BYTES; }
  std::size_t bytes() const { return 128 + (std::size_t{0} + a_tiles + b_tiles) * k_tiles * TILE_BYTES; }
};

// ---- The kernel that splits ----

constexpr unsigned UNSCALABLE = 255;  // Inf, NaN or numbers above 0x7F7F7F * 2^105, or such that need a larger scale

/// The code of a line whose largest magnitude has these bits. Its numbers are multiplied by 2^(149 - code) and rounded
/// to integers of at most 0x7F7F7F, all digits of which are 127. A float with the biased exponent E and the
/// mantissa 1.m is 1m * 2^(E - 150), so that 149 - E brings it to 1m / 2. Above 0x7F7F7F the sum carries into E.
__device__ __forceinline__ unsigned scale_code(unsigned largest) {
  const unsigned code = (largest + ((1U << 24U) - 2 * 0x7F7F7F - 1)) >> 23U;
  return largest == 0 ? 127 : code > 0 && code < UNSCALABLE ? code : UNSCALABLE;
}

/// The float with this biased exponent, and no mantissa.
__device__ __forceinline__ float power_of_2(unsigned biased) { return __uint_as_float(biased << 23U); }

/// A number's digits in two's complement, the largest in byte 2. The scale has two factors: together they need not be a
/// float.
__device__ __forceinline__ unsigned digits_of(float x, const float (&scale)[2]) {
  constexpr unsigned MIDDLES = 0x808080;  // 128 in each byte
  const int integer = __float2int_rn(x * scale[0] * scale[1]);
  // A digit plus 128 is a byte, and the bytes of a sum need no carries: integer + MIDDLES has them. To flip the upper
  // bit of a byte is to subtract 128 again.
  return (static_cast<unsigned>(integer) + MIDDLES) ^ MIDDLES;
}

constexpr int SPLIT_THREADS = 512;
constexpr int LINES = 8;            // of a block: 32 bytes of each row of B
constexpr int GROUP = 16;           // numbers of a line, which become 16 bytes of each digit
constexpr int GROUPS = BK / GROUP;  // of a line in an operand tile
constexpr int OF_THREAD = 64;       // numbers that are in its registers at a time, a chunk of its line
constexpr int STRIDE = SPLIT_THREADS / (LINES * GROUPS);  // k-tiles from one of its groups to the next
constexpr int CHUNK = STRIDE * OF_THREAD / GROUP;
constexpr int KEPT_BYTES = SPLIT_THREADS * OF_THREAD * static_cast<int>(sizeof(float));

/// A block for each eight lines.
__global__ void __launch_bounds__(SPLIT_THREADS, 1) int8x6_split_kernel(Problem p, Operands operands) {
  __shared__ unsigned maxima[LINES];
  griddepcontrol_launch_dependents();
  const auto thread = static_cast<int>(threadIdx.x);
  const int tile = static_cast<int>(blockIdx.x) / (TILE / LINES);
  const bool of_a = tile < operands.a_tiles;
  const int number = of_a ? tile : tile - operands.a_tiles;
  const int line_of_block = of_a ? thread / GROUPS % LINES : thread % LINES;
  const int group = of_a ? thread % GROUPS : thread / LINES % GROUPS;
  const int row = static_cast<int>(blockIdx.x) % (TILE / LINES) * LINES + line_of_block;
  const std::int64_t line = std::int64_t{number} * TILE + row;
  const int depth = line < (of_a ? p.m : p.n) ? static_cast<int>(p.k) : 0;
  const float* const numbers = of_a ? p.a + line * p.lda : p.b + line;
  const std::int64_t distance = of_a ? 1 : p.ldb;  // from one k to the next

  // Number i of a group has the k 8 i + group, so that threads read neighbours. A and B agree on the order of k.
  float x[OF_THREAD / GROUP][GROUP];
  const auto k_tile_of = [&](int chunk, int g) { return chunk * CHUNK + g * STRIDE + thread / (LINES * GROUPS); };
  const auto load = [&](int chunk) {
#pragma unroll
    for (int g = 0; g < OF_THREAD / GROUP; ++g) {
#pragma unroll
      for (int i = 0; i < GROUP; ++i) {
        const int k = k_tile_of(chunk, g) * BK + i * GROUPS + group;
        x[g][i] = k < depth ? numbers[k * distance] : 0.0F;
      }
    }
  };

  float* const kept = dynamic_smem() + thread;
  const int chunks = ceil_div(operands.k_tiles, CHUNK);
  unsigned largest = 0;  // bits of a magnitude, which have the order of the numbers; Inf and NaN are larger than all
  for (int chunk = 0; chunk < chunks; ++chunk) {
    load(chunk);
#pragma unroll
    for (int i = 0; i < OF_THREAD; ++i) {
      largest = max(largest, __float_as_uint(x[i / GROUP][i % GROUP]) & ~(1U << 31U));
      if (chunk == chunks - 2) {
        kept[i * SPLIT_THREADS] = x[i / GROUP][i % GROUP];
      }
    }
  }
  for (int lanes = of_a ? 1 : LINES; lanes < (of_a ? GROUPS : WARP); lanes *= 2) {  // lanes of the same line
    largest = max(largest, __shfl_xor_sync(~0U, largest, lanes));
  }
  if (thread < LINES) {
    maxima[thread] = 0;
  }
  if (blockIdx.x == 0 && thread == 0) {
    *operands.progress() = 0;
  }
  __syncthreads();
  if (of_a ? group == 0 : thread % WARP < LINES) {
    atomicMax(&maxima[line_of_block], largest);
  }
  __syncthreads();
  const unsigned code = scale_code(maxima[line_of_block]);
  const unsigned half = (149 + 2 * 127 - code) / 2;
  const float scale[2] = {power_of_2(half), power_of_2(149 + 2 * 127 - code - half)};

  // Back from the last chunk, which is in the registers still. Shared memory has the one before it.
  for (int chunk = chunks - 1; chunk >= 0; --chunk) {
    if (chunk < chunks - 2) {
      load(chunk);
    } else if (chunk < chunks - 1) {
#pragma unroll
      for (int i = 0; i < OF_THREAD; ++i) {
        x[i / GROUP][i % GROUP] = kept[i * SPLIT_THREADS];
      }
    }
#pragma unroll
    for (int g = 0; g < OF_THREAD / GROUP; ++g) {
      if (k_tile_of(chunk, g) >= operands.k_tiles) {
        break;
      }
      unsigned digits[DIGITS][GROUP / 4];
#pragma unroll
      for (int i = 0; i < GROUP; i += 4) {
        unsigned of_numbers[4];
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          of_numbers[j] = digits_of(code == UNSCALABLE ? 0.0F : x[g][i + j], scale);
        }
#pragma unroll
        for (unsigned digit = 0; digit < DIGITS; ++digit) {
          const unsigned of_both = (6 - digit) << 4U | (2 - digit);  // the bytes with that digit
          digits[digit][i / 4] = __byte_perm(__byte_perm(of_numbers[0], of_numbers[1], of_both),
                                             __byte_perm(of_numbers[2], of_numbers[3], of_both), 0x5410);
        }
      }
      unsigned char* const to = operands.tile(std::int64_t{tile} * operands.k_tiles + k_tile_of(chunk, g));
      const unsigned place = swizzled(row * WGMMA_ROW_BYTES + group * 16);
#pragma unroll
      for (int digit = 0; digit < DIGITS; ++digit) {
        *reinterpret_cast<uint4*>(to + digit * DIGIT_BYTES + place) =
            uint4{digits[digit][0], digits[digit][1], digits[digit][2], digits[digit][3]};
      }
      if (group == 0) {
        Scales& scales = *reinterpret_cast<Scales*>(to + DIGITS * DIGIT_BYTES);
        scales.codes[row] = static_cast<unsigned char>(code);
        if (row == 0) {
          scales.tile = number;
        }
      }
    }
  }
}

// ---- The kernel that multiplies ----

constexpr int CONSUMERS = 2 * WARPGROUP;
constexpr int THREADS = CONSUMERS + WARPGROUP;
// 64 Ki registers make 168 for each of 384 threads. Producers leave all but 40 of theirs over for the consumers.
constexpr int PRODUCER_REGISTERS = 40;
constexpr int CONSUMER_REGISTERS = 232;
// In a stage, the tile of B lies behind that of A.
constexpr int B_AT = ceil_div(TILE_BYTES, WGMMA_ALIGNMENT) * WGMMA_ALIGNMENT;
using Ring = Stage<2, 2 * B_AT>;

/// Gives a stage back, which tensor cores have read.
__device__ __forceinline__ void release(Ring& stage) {
  __syncwarp();
  if (threadIdx.x % WARP == 0) {
    mbarrier_arrive(stage.empty());
  }
  stage.advance();
}

/// The producer thread. Every other round of tiles goes back along k: its first k-tiles are in the L2 still.
__device__ __forceinline__ void produce(const Operands& operands, Ring stage) {
  const int tiles = operands.a_tiles * operands.b_tiles;
  const int blocks = static_cast<int>(gridDim.x);
  // Blocks of a round share operand tiles. They wait while they are more than two k-tiles ahead of the average, or else
  // the L2 has lost a tile when the last of them asks for it. Few rounds end before blocks are far apart. The
  // executor's blocks take turns.
  const int rounds = TARGET == Target::for_gpu ? tiles / blocks : 0;
  int in_window = rounds < 8 ? 0 : rounds * operands.k_tiles;
  unsigned even = 0;  // what all blocks together have begun when all are where this one is
  bool back = false;
  griddepcontrol_wait();
  for (int i = static_cast<int>(blockIdx.x); i < tiles; i += blocks, back = !back) {
    const TileIndex tile = hilbert_tile(i, operands.a_tiles, operands.b_tiles);
    const unsigned char* const a = operands.tile(std::int64_t{tile.row} * operands.k_tiles);
    const unsigned char* const b = operands.tile((std::int64_t{operands.a_tiles} + tile.col) * operands.k_tiles);
    for (int step = 0; step < operands.k_tiles; ++step) {
      if (in_window > 0) {
        even += gridDim.x;
        int looks = 128;  // a block gives up at last: another kernel may have the SM of the one that it waits for
        for (unsigned all = atomicAdd(operands.progress(), 1U); looks > 0 && all + 2 * gridDim.x < even; --looks) {
          all = atomicAdd(operands.progress(), 0U);
        }
        in_window = looks > 0 ? in_window - 1 : 0;
      }
      const std::int64_t at = std::int64_t{back ? operands.k_tiles - 1 - step : step} * TILE_BYTES;
      mbarrier_wait(stage.empty(), stage.parity ^ 1U);
      mbarrier_arrive_expect_tx(stage.full(), 2 * TILE_BYTES);
      cp_async_bulk(stage.data(), a + at, TILE_BYTES, stage.full());
      cp_async_bulk(stage.data() + B_AT, b + at, TILE_BYTES, stage.full());
      stage.advance();
    }
  }
}

/// Starts the products of 64 rows of a tile of A by a tile of B. Those of digits i and j are added to sums[i + j].
__device__ __forceinline__ void start_products(int (&sums)[3][64], unsigned a_tile, unsigned b_tile) {
  constexpr int PRODUCTS[6][2] = {{2, 0}, {1, 1}, {0, 2}, {1, 0}, {0, 1}, {0, 0}};  // digits of A and B, from 0 on
  const std::uint64_t a = wgmma_descriptor(a_tile);
  const std::uint64_t b = wgmma_descriptor(b_tile);
  wgmma_fence();
#pragma unroll
  for (int i = 0; i < 6; ++i) {
#pragma unroll
    for (int k = 0; k < BK; k += WGMMA_INTEGER_K) {
      wgmma_m64n128k32(sums[PRODUCTS[i][0] + PRODUCTS[i][1]], wgmma_descriptor_at(a, PRODUCTS[i][0] * DIGIT_BYTES + k),
                       wgmma_descriptor_at(b, PRODUCTS[i][1] * DIGIT_BYTES + k), true);
    }
  }
  wgmma_commit_group();
}

/// The three sums of each element become one, without the scales of its line, whose codes are in `rows` and `columns`.
/// Carries leave a byte of each of the two smaller sums, so that a total of 24 bits or fewer is not rounded, and any
/// other one is rounded twice. It becomes Inf or NaN if a line has no scale: the code of that has the exponent of Inf.
/// And it becomes NaN where the product of both factors is no normal float.
__device__ __forceinline__ void add_up(const int (&sums)[3][64], const unsigned char* rows,
                                       const unsigned char* columns, float (&totals)[64]) {
#pragma unroll
  for (int i = 0; i < 64; ++i) {
    const int middle = sums[1][i] + (sums[2][i] >> 8);
    const int high = sums[0][i] + (middle >> 8);
    // The two bytes that are left become the lowest ones of 2^23 as a float, which is 2^23 more than they are.
    const unsigned low = __byte_perm(__byte_perm(sums[2][i], middle, 0x40), __float_as_uint(0x1p23F), 0x7610);
    const float total = fmaf(static_cast<float>(high), 0x1p-12F, fmaf(__uint_as_float(low), 0x1p-28F, -0x1p-5F));
    const float factor = power_of_2(rows[i / 2 % 2 * 8]) * power_of_2(columns[i / 4 * 8 + i % 2]);
    totals[i] = total * (factor >= 0x1p-126F ? factor : NAN);
  }
}

__global__ void __launch_bounds__(THREADS, 1) int8x6_kernel(Problem p, Operands operands) {
  Ring stage{shared_address(dynamic_smem())};
  if (threadIdx.x == 0) {
    for (Ring each = stage; each.parity == 0; each.advance()) {
      mbarrier_init(each.full(), 1);
      mbarrier_init(each.empty(), CONSUMERS / WARP);
    }
    fence_mbarrier_init();
  }
  __syncthreads();
  const auto thread = static_cast<int>(threadIdx.x);
  if (thread >= CONSUMERS) {
    setmaxnreg_dec<PRODUCER_REGISTERS>();
    if (thread == CONSUMERS) {
      produce(operands, stage);
    }
    return;  // the consumers wait for every copy, and the block lasts as long as they do
  }

  setmaxnreg_inc<CONSUMER_REGISTERS>();
  const unsigned rows_of_group = thread / WARPGROUP * (WGMMA_M * WGMMA_ROW_BYTES);
  const int row = thread / WARP * 16 + thread % WARP / 4;  // of the thread's first element in a tile of C
  const int col = thread % 4 * 2;
#pragma unroll 1
  for (int i = blockIdx.x; i < operands.a_tiles * operands.b_tiles; i += gridDim.x) {
    int sums[3][64] = {};
#pragma unroll 1
    for (int left = operands.k_tiles;; release(stage)) {
      mbarrier_wait(stage.full(), stage.parity);
      start_products(sums, stage.data() + rows_of_group, stage.data() + B_AT);
      wgmma_wait_group<0>(sums);
      if (--left == 0) {
        break;
      }
    }
    // The last stage is kept until its scales have been read.
    const auto* const of_a = static_cast<const Scales*>(from_shared_address(stage.data() + DIGITS * DIGIT_BYTES));
    const auto* const of_b =
        static_cast<const Scales*>(from_shared_address(stage.data() + B_AT + DIGITS * DIGIT_BYTES));
    const std::int64_t to_row = std::int64_t{of_a->tile} * TILE + row;
    const std::int64_t to_col = std::int64_t{of_b->tile} * TILE + col;
    float totals[64];
    add_up(sums, of_a->codes + row, of_b->codes + col, totals);
    release(stage);
    store_or_recompute(p, to_row, to_col, totals);
  }
}

// ---- The launch ----

/// How many k can be summed before a sum might leave INT32's range. A product of digits is at most 2^14, and the last
/// sum takes three of them for each k. The others take two and one, which leaves room for the carries of add_up().
constexpr std::int64_t MOST_K = 341 * BK;
static_assert(MOST_K * 3 * 128 * 128 <= INT32_MAX);

/// Longer sums are sums of pieces, which C adds up.
void launch_pieces(Problem p, void* memory, cudaStream_t stream) {
  std::int64_t left = p.k;
  do {
    p.k = std::min(left, MOST_K);
    const Operands operands = Operands::of(p, memory);
    launch(int8x6_split_kernel, (operands.a_tiles + operands.b_tiles) * (TILE / LINES), dim3(SPLIT_THREADS),
           operands.k_tiles > CHUNK ? KEPT_BYTES : 0, stream, p, operands);
    // Persistent blocks, no more than finish in the same time: these have the power that the others would take.
    const int tiles = operands.a_tiles * operands.b_tiles;
    const int rounds = ceil_div(tiles, current_device().multiprocessors);
    launch_dependent(int8x6_kernel, ceil_div(tiles, rounds), dim3(THREADS), Ring::SMEM_BYTES, stream, p, operands);
    left -= p.k;
    p.a += p.k;
    p.b += p.k * p.ldb;
    p.beta = 1.0F;
  } while (left > 0);
}

const Registration registered =
    Chapter(13, "int8x6")
        .summary("six INT8 products by wgmma for each FP32 product, exact sums of three digits with one scale per row")
        .source("Ootomo, Ozaki and Yokota")
        .min_compute_capability(90)
        .max_compute_capability(90)  // wgmma is gone from later ones
        .needs_code_for_sm_90a()
        .accuracy(AccuracyClass::int8_split)
        .configuration([](Problem p) {
          p.k = std::min(p.k, MOST_K);
          return Configuration{"", Operands::of(p, nullptr).bytes(), launch_pieces, 0};
        })
        .blocks_per_sm(1)
        .resources([] { return resources_of(int8x6_kernel, THREADS, Ring::SMEM_BYTES); })
        .registration();

}  // namespace
}  // namespace sgemm
