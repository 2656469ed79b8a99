#pragma once

// Products of the reproducible class whose C has few columns, or few rows: that is the transposed product. The short
// operand is B here, and A is long. A small kernel writes the digits of B. Then each block takes 16 or 32 rows of A at
// a time, whose numbers are read once: they stay in the registers of its threads from the search for the largest ones
// to the products of their digits. Warps have different k of the same rows, and their sums are integers, so that it
// does not matter who adds which. docs/15_reproducible.md defines the result.
//
//   copies    threads copy their own next 64 numbers to shared memory while they work on the last ones. Nothing waits
//             for another thread's copies.
//   maxima    of each row, over the lanes and warps that have numbers of it.
//   digits    as in chapter 13, in registers, in the places where mma.sync wants them.
//   products  of 16 or 32 rows by 8 columns at a time. The warps' sums become integers of 64 bits, which are added
//             and stored.
//
// Rows that are longer than what a block can hold are read twice, the second time backwards: the last segment is still
// in registers then, and those before it in the L2, as far as it holds the rows of all blocks.

#include "common/ceil_div.hpp"
#include "common/target.hpp"
#include "engine/int8_operands.cuh"
#include "engine/reproducible.cuh"
#include "gemm_problem.hpp"
#include "gemm_scalars.cuh"
#include "ptx/cp_async.cuh"
#include "ptx/griddepcontrol.cuh"
#include "ptx/mma.cuh"
#include "ptx/shared_memory.cuh"
#include "split_algorithms.cuh"
#include "stacked_batch.cuh"

#include <cuda_runtime.h>

#include <cmath>
#include <cstddef>
#include <cstdint>

namespace sgemm {
inline namespace SGEMM_TARGET {
namespace thin {

using reproducible::Sum;
using split_product::product_of;
using split_product::int8::larger;
using split_product::int8::LARGEST_EXPONENT;
using split_product::int8::scale_code;
using split_product::int8::UNSCALABLE_LINE;

constexpr int WARP_SIZE = 32;
constexpr int DIGITS = 3;
constexpr int COLUMNS = 8;         // of B that a product of a warp takes
constexpr int CHUNK_K = 64;        // k of B's digits that a lane reads at once
constexpr int LANE_NUMBERS = 64;   // of A
constexpr int STAGES = 4;          // in which they are copied
constexpr int MOST_THREADS = 512;  // of a block
constexpr int SPLIT_THREADS = 256;
constexpr int MOST_COLUMN_BLOCKS = 8;

// ---- Digits ----

/// The scale of a line, in two factors, because their product need not be a float. Without a scale all digits are 0 or
/// of no account: the elements of C are computed from the numbers.
struct Factors {
  float first;
  float second;

  __device__ __forceinline__ explicit Factors(int code)
      : first(code == UNSCALABLE_LINE ? 0.0F : power_of_2((LARGEST_EXPONENT - code) / 2)),
        second(power_of_2(LARGEST_EXPONENT - code - (LARGEST_EXPONENT - code) / 2)) {}
};

/// The digits of four numbers, four equal ones in a word, the largest first. int8::Scale::digits() explains the sum.
__device__ __forceinline__ void split_four(const float (&x)[4], const Factors& scale, unsigned (&digits)[DIGITS]) {
  constexpr unsigned MIDDLES = 0x80808080;
  unsigned sums[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    sums[i] = static_cast<unsigned>(__float2int_rn(x[i] * scale.first * scale.second)) + (MIDDLES & 0xFFFFFF);
  }
  const unsigned low = __byte_perm(sums[0], sums[1], 0x5140);  // bytes 0 of both, then bytes 1
  const unsigned high = __byte_perm(sums[2], sums[3], 0x5140);
  digits[0] = __byte_perm(__byte_perm(sums[0], sums[1], 0x62), __byte_perm(sums[2], sums[3], 0x62), 0x5410) ^ MIDDLES;
  digits[1] = __byte_perm(low, high, 0x7632) ^ MIDDLES;
  digits[2] = __byte_perm(low, high, 0x5410) ^ MIDDLES;
}

// ---- The problem ----

/// Where the digits of B lie: for each product, COLUMNS columns and CHUNK_K of k, the words of each digit as mma.sync
/// takes them. Lane 4g + t has column g, and of each 16 k those from 4t to 4t + 3.
struct NarrowDigits {
  int column_blocks;
  int chunks;
  uint4* words;
  unsigned char* codes;  ///< of each column

  SGEMM_HOST_DEVICE NarrowDigits(const GemmProblem& p, std::int64_t products, void* memory)
      : column_blocks(static_cast<int>(ceil_div<std::int64_t>(p.n, COLUMNS))),
        chunks(static_cast<int>(ceil_div<std::int64_t>(p.k, CHUNK_K))),
        words(static_cast<uint4*>(memory)),
        codes(reinterpret_cast<unsigned char*>(words + products * column_blocks * chunks * (DIGITS * WARP_SIZE))) {}

  SGEMM_HOST_DEVICE static std::size_t bytes(const GemmProblem& p, std::int64_t products) {
    const NarrowDigits one(p, 1, nullptr);
    return static_cast<std::size_t>(products) * one.column_blocks *
           (one.chunks * (DIGITS * WARP_SIZE * sizeof(uint4)) + COLUMNS);
  }

  /// The words of the largest digit; those of the next ones follow, WARP_SIZE farther each.
  __device__ __forceinline__ uint4* at(std::int64_t product, int column_block, int chunk) const {
    return words + ((product * column_blocks + column_block) * chunks + chunk) * (DIGITS * WARP_SIZE);
  }
  __device__ __forceinline__ unsigned char* codes_of(std::int64_t product, int column_block) const {
    return codes + (product * column_blocks + column_block) * COLUMNS;
  }
};

/// What both kernels get. The batch is one of tall products.
struct ThinBatch {
  GemmBatch batch;
  NarrowDigits digits;
  bool c_transposed;
  int columns_once;  ///< blocks of columns that a block of threads computes at a time
};

__device__ __forceinline__ unsigned magnitude_bits(float x) { return __float_as_uint(x) & ~(1U << 31U); }

// ---- The kernel that writes the digits of B ----

/// A block for each column, also for those that fill the last block of columns up.
__device__ __forceinline__ void split_narrow(const ThinBatch& thin) {
  __shared__ unsigned largest_of_column;
  griddepcontrol_launch_dependents();
  const int padded = thin.digits.column_blocks * COLUMNS;
  const std::int64_t product = blockIdx.x / padded;
  const int column = static_cast<int>(blockIdx.x) % padded;
  const GemmProblem p = product_of(thin.batch, product);
  const bool used = column < p.n && scalars_of(p).alpha != 0.0F;
  const std::int64_t k_step = p.b_transposed ? 1 : p.ldb;
  const float* const from = p.b + (p.b_transposed ? column * p.ldb : column);
  const auto load = [&](int task, float(&x)[4][4]) {
    const std::int64_t first_k = static_cast<std::int64_t>(task / 4) * CHUNK_K + task % 4 * 4;
#pragma unroll
    for (int i = 0; i < 16; ++i) {
      const std::int64_t k = first_k + i / 4 * 16 + i % 4;
      x[i / 4][i % 4] = used && k < p.k ? from[k * k_step] : 0.0F;
    }
  };
  if (threadIdx.x == 0) {
    largest_of_column = 0;
  }
  __syncthreads();
  unsigned largest = 0;
  float x[4][4];
#pragma unroll 1
  for (auto task = static_cast<int>(threadIdx.x); task < thin.digits.chunks * 4; task += SPLIT_THREADS) {
    load(task, x);
#pragma unroll
    for (int i = 0; i < 16; ++i) {
      largest = larger(largest, magnitude_bits(x[i / 4][i % 4]));
    }
  }
  atomicMax(&largest_of_column, largest);
  __syncthreads();
  const int code = scale_code(largest_of_column);
  const Factors scale(code);
  if (threadIdx.x == 0) {
    thin.digits.codes_of(product, column / COLUMNS)[column % COLUMNS] = static_cast<unsigned char>(code);
  }
#pragma unroll 1
  for (auto task = static_cast<int>(threadIdx.x); task < thin.digits.chunks * 4; task += SPLIT_THREADS) {
    if (thin.digits.chunks * 4 > SPLIT_THREADS) {
      load(task, x);
    }
    unsigned digits[4][DIGITS];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      split_four(x[i], scale, digits[i]);
    }
    uint4* const to = thin.digits.at(product, column / COLUMNS, task / 4) + column % COLUMNS * 4 + task % 4;
#pragma unroll
    for (int digit = 0; digit < DIGITS; ++digit) {
      to[digit * WARP_SIZE] = uint4{digits[0][digit], digits[1][digit], digits[2][digit], digits[3][digit]};
    }
  }
}

// ---- The kernel that multiplies ----

/// TILES: of 16 rows that a warp has at a time. K_MAJOR: how A is stored. A lane has LANE_ROWS rows and WORDS groups of
/// four k of each. Lane 4g + t has, of each 16 k, those from 4t to 4t + 3.
template <int TILES_, bool K_MAJOR_>
struct ThinShape {
  static constexpr int TILES = TILES_;
  static constexpr bool K_MAJOR = K_MAJOR_;
  static constexpr int ROWS = 16 * TILES;
  static constexpr int LANE_ROWS = 2 * TILES;
  static constexpr int WORDS = LANE_NUMBERS / 4 / LANE_ROWS;
  static constexpr int WARP_K = 16 * WORDS;
  static constexpr int WARP_CHUNKS = WARP_K / CHUNK_K;
  static_assert(TILES == 1 || TILES == 2);

  /// The row of number i of a lane. Where rows lie side by side, a lane has neighbours.
  SGEMM_HOST_DEVICE static constexpr int row(int g, int i) { return K_MAJOR ? g + 8 * i : g * LANE_ROWS + i; }

  /// Places in shared memory.
  SGEMM_HOST_DEVICE static constexpr int slot_bytes(int threads) {
    return threads * LANE_NUMBERS * static_cast<int>(sizeof(float));
  }
  SGEMM_HOST_DEVICE static constexpr int sums_bytes(int threads) {
    return 2 * (threads / WARP_SIZE) * ROWS * COLUMNS * 8;
  }
  SGEMM_HOST_DEVICE static constexpr int partial_bytes(int columns_once) { return columns_once * ROWS * COLUMNS * 8; }
  SGEMM_HOST_DEVICE static constexpr int smem_bytes(int threads, int columns_once, int segments) {
    return slot_bytes(threads) + sums_bytes(threads) + partial_bytes(columns_once) * (segments == 1 ? 1 : 2) +
           (1 + threads / WARP_SIZE) * ROWS * 4;
  }
  /// Of a row: what the warps of a block can not hold comes in several.
  SGEMM_HOST_DEVICE static constexpr int segments(int chunks, int threads) {
    return chunks == 0 ? 1 : ceil_div(chunks, threads / WARP_SIZE * WARP_CHUNKS);
  }
};

/// Which rows and k a block reads next: for each product, block of columns and ROWS rows, segments of what it can
/// hold. Where there are several, it searches them forwards, and adds products from the last one back to the first.
struct Step {
  int number;  ///< of the product, rows and columns
  int segment;
  bool searches;  ///< for the largest numbers
  bool adds;      ///< products

  __device__ __forceinline__ Step(int first, int segments)
      : number(first), segment(0), searches(true), adds(segments == 1) {}

  __device__ __forceinline__ void advance(int segments) {
    if (searches && segment + 1 < segments) {
      ++segment;
      adds = segment + 1 == segments;
    } else if (segment > 0) {
      --segment;
      searches = false;
    } else {
      number += static_cast<int>(gridDim.x);
      searches = true;
      adds = segments == 1;
    }
  }
};

/// What the number of a step says.
struct Work {
  int product;
  int first_block;  ///< of columns
  int blocks;
  int first_row;

  __device__ __forceinline__ Work(const ThinBatch& thin, int number, int rows) {
    const unsigned groups = ceil_div(thin.digits.column_blocks, thin.columns_once);
    const unsigned row_groups = ceil_div(static_cast<unsigned>(thin.batch.first.m), static_cast<unsigned>(rows));
    const unsigned of_rows = static_cast<unsigned>(number) / groups;
    first_block = static_cast<int>(static_cast<unsigned>(number) - of_rows * groups) * thin.columns_once;
    const int left = thin.digits.column_blocks - first_block;
    blocks = left < thin.columns_once ? left : thin.columns_once;
    product = static_cast<int>(of_rows / row_groups);
    first_row = static_cast<int>(of_rows % row_groups) * rows;
  }

  /// Of a product.
  SGEMM_HOST_DEVICE static std::int64_t count(const GemmProblem& p, int columns_once, int rows) {
    return ceil_div<std::int64_t>(ceil_div<std::int64_t>(p.n, COLUMNS), columns_once) *
           ceil_div<std::int64_t>(p.m, rows);
  }
};

/// Where a lane finds its numbers of a step.
template <class Shape>
struct Source {
  const float* from;
  std::int64_t stride;
  int rows_left;  ///< of A, from the lane's first one on; 0 if there is nothing to read
  int k_left;
  bool vectors;  ///< rows of the stored matrix split into aligned groups

  __device__ __forceinline__ Source(const ThinBatch& thin, const Step& step, bool exists) {
    constexpr int VECTOR = Shape::K_MAJOR ? 4 : Shape::LANE_ROWS;
    const int warps = static_cast<int>(blockDim.x) / WARP_SIZE;
    const int lane = static_cast<int>(threadIdx.x) % WARP_SIZE;
    const int warp = static_cast<int>(threadIdx.x) / WARP_SIZE;
    const Work work(thin, exists ? step.number : 0, Shape::ROWS);
    const GemmProblem p = product_of(thin.batch, work.product);
    const bool used = exists && scalars_of(p).alpha != 0.0F;
    const std::int64_t row = work.first_row + Shape::row(lane / 4, 0);
    const std::int64_t k = (static_cast<std::int64_t>(step.segment) * warps + warp) * Shape::WARP_K + lane % 4 * 4;
    stride = p.lda;
    from = p.a + (Shape::K_MAJOR ? row * stride + k : k * stride + row);
    rows_left = used ? static_cast<int>(p.m - row) : 0;
    k_left = static_cast<int>(p.k - k);
    vectors = split_product::rows_split_into<VECTOR>(p.a, Shape::K_MAJOR ? p.k : p.m, stride);
  }

  /// Starts copying the numbers of a stage to `slots`, where the lane's groups of four are `distance` bytes apart.
  __device__ __forceinline__ void start(int stage, unsigned slots, unsigned distance) const {
    constexpr int FLOAT = sizeof(float);
#pragma unroll
    for (int q = stage * 4; q < stage * 4 + 4; ++q) {
      const unsigned to = slots + static_cast<unsigned>(q) * distance;
      if constexpr (Shape::K_MAJOR) {  // four k of a row
        const int row = q % Shape::LANE_ROWS * 8;
        const int k = q / Shape::LANE_ROWS * 16;
        const float* const at = from + row * stride + k;
        if (vectors) {
          cp_async_zfill<4 * FLOAT>(to, at, row < rows_left && k < k_left);
        } else {
#pragma unroll
          for (int j = 0; j < 4; ++j) {
            cp_async_zfill<FLOAT>(to + j * FLOAT, at + j, row < rows_left && k + j < k_left);
          }
        }
      } else {  // the lane's rows at one k, or at two
        constexpr int K = 4 / Shape::LANE_ROWS;
#pragma unroll
        for (int j = 0; j < K; ++j) {
          const int number = q * K + j;  // of the lane's k
          const int k = number / 4 * 16 + number % 4;
          const float* const at = from + k * stride;
          const unsigned place = to + j * Shape::LANE_ROWS * FLOAT;
          if (vectors) {
            cp_async_zfill<Shape::LANE_ROWS * FLOAT>(place, at, 0 < rows_left && k < k_left);
          } else {
#pragma unroll
            for (int i = 0; i < Shape::LANE_ROWS; ++i) {
              cp_async_zfill<FLOAT>(place + i * FLOAT, at + i, i < rows_left && k < k_left);
            }
          }
        }
      }
    }
    cp_async_commit_group();
  }
};

/// A lane's numbers: four k each of a row, the rows of a word of k next to each other.
using Numbers = float[LANE_NUMBERS / 4][4];

/// Takes the numbers of a stage from their slots.
template <class Shape>
__device__ __forceinline__ void take(int stage, unsigned slots, unsigned distance, Numbers& x) {
#pragma unroll
  for (int q = stage * 4; q < stage * 4 + 4; ++q) {
    const float4 four = ld_shared_v4_f32(slots + static_cast<unsigned>(q) * distance);
    const float values[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if constexpr (Shape::K_MAJOR) {
        x[q][i] = values[i];
      } else {
        const int number = q * (4 / Shape::LANE_ROWS) + i / Shape::LANE_ROWS;
        x[number / 4 * Shape::LANE_ROWS + i % Shape::LANE_ROWS][number % 4] = values[i];
      }
    }
  }
}

/// An element of op(A) op(B) from its numbers, in the order of k.
__device__ __forceinline__ double plain_sum(const GemmProblem& p, std::int64_t row, std::int64_t column) {
  const float* a = p.a + (p.a_transposed ? row : row * p.lda);
  const float* b = p.b + (p.b_transposed ? column * p.ldb : column);
  const std::int64_t a_step = p.a_transposed ? p.lda : 1;
  const std::int64_t b_step = p.b_transposed ? 1 : p.ldb;
  double sum = 0.0;
#pragma unroll 8
  for (std::int64_t k = 0; k < p.k; ++k) {
    sum = fma(static_cast<double>(a[k * a_step]), static_cast<double>(b[k * b_step]), sum);
  }
  return sum;
}

template <class Shape>
__device__ __forceinline__ void multiply_thin(const ThinBatch& thin) {
  constexpr int ROWS = Shape::ROWS;
  const auto threads = static_cast<int>(blockDim.x);
  const int warps = threads / WARP_SIZE;
  const auto thread = static_cast<int>(threadIdx.x);
  const int warp = thread / WARP_SIZE;
  const int lane = thread % WARP_SIZE;
  const int g = lane / 4;
  const int segments = Shape::segments(thin.digits.chunks, threads);
  const auto count = static_cast<int>(Work::count(thin.batch.first, thin.columns_once, ROWS) * thin.batch.count);

  char* const memory = reinterpret_cast<char*>(dynamic_smem());
  const unsigned slots = shared_address(memory) + static_cast<unsigned>(thread) * 16;
  const unsigned distance = static_cast<unsigned>(threads) * 16;
  char* place = memory + Shape::slot_bytes(threads);
  auto* const sums_of_warps = reinterpret_cast<longlong2*>(place);
  place += Shape::sums_bytes(threads);
  auto* const sums_of_rows = reinterpret_cast<Sum*>(place);
  place += Shape::partial_bytes(thin.columns_once);
  auto* const maxima = reinterpret_cast<unsigned*>(place);
  place += ROWS * 4;
  auto* const maxima_of_warps = reinterpret_cast<unsigned*>(place);
  place += warps * ROWS * 4;
  auto* const of_segments = reinterpret_cast<Sum*>(place);  // the block's sums, if there are several segments

  Step step(static_cast<int>(blockIdx.x), segments);
  {
    const Source<Shape> source(thin, step, step.number < count);
#pragma unroll
    for (int stage = 0; stage < STAGES; ++stage) {
      source.start(stage, slots, distance);
    }
  }
  griddepcontrol_wait();
  unsigned largest[Shape::LANE_ROWS] = {};
  int turn = 0;  // of the two places for the warps' sums: one is filled while the other one is still read
#pragma unroll 1
  while (step.number < count) {
    Step next = step;
    next.advance(segments);
    Numbers x;
    {
      const Source<Shape> source(thin, next, next.number < count);
#pragma unroll
      for (int stage = 0; stage < STAGES; ++stage) {
        cp_async_wait_group<STAGES - 1>();
        take<Shape>(stage, slots, distance, x);
        source.start(stage, slots, distance);
      }
    }
    if (step.searches) {
#pragma unroll
      for (int q = 0; q < LANE_NUMBERS / 4; ++q) {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          largest[q % Shape::LANE_ROWS] = larger(largest[q % Shape::LANE_ROWS], magnitude_bits(x[q][j]));
        }
      }
      if (step.segment == segments - 1) {
#pragma unroll
        for (int i = 0; i < Shape::LANE_ROWS; ++i) {
          largest[i] = larger(largest[i], __shfl_xor_sync(~0U, largest[i], 1));
          largest[i] = larger(largest[i], __shfl_xor_sync(~0U, largest[i], 2));
          if (lane % 4 == 0) {
            maxima_of_warps[warp * ROWS + Shape::row(g, i)] = largest[i];
          }
          largest[i] = 0;
        }
        __syncthreads();
#pragma unroll 1
        for (int i = thread; i < ROWS; i += threads) {
          unsigned of_row = 0;
#pragma unroll 4
          for (int w = 0; w < warps; ++w) {
            of_row = larger(of_row, maxima_of_warps[w * ROWS + i]);
          }
          maxima[i] = of_row;
        }
        __syncthreads();
      }
    }
    if (step.adds) {
      const Work work(thin, step.number, ROWS);
      const int chunk = (step.segment * warps + warp) * Shape::WARP_CHUNKS;
      const uint4* narrow = thin.digits.at(work.product, work.first_block, chunk) + lane;
      uint4 words[Shape::WARP_CHUNKS][DIGITS];  // of B, read while the ones before are multiplied or added up
      const auto read_narrow = [&] {
#pragma unroll
        for (int c = 0; c < Shape::WARP_CHUNKS; ++c) {
#pragma unroll
          for (int digit = 0; digit < DIGITS; ++digit) {
            words[c][digit] =
                chunk + c < thin.digits.chunks ? narrow[(c * DIGITS + digit) * WARP_SIZE] : uint4{0, 0, 0, 0};
          }
        }
        narrow += static_cast<std::int64_t>(thin.digits.chunks) * (DIGITS * WARP_SIZE);
      };
      read_narrow();
      unsigned digits[DIGITS][LANE_NUMBERS / 4];
#pragma unroll
      for (int i = 0; i < Shape::LANE_ROWS; ++i) {
        const Factors scale(scale_code(maxima[Shape::row(g, i)]));
#pragma unroll
        for (int q = i; q < LANE_NUMBERS / 4; q += Shape::LANE_ROWS) {
          unsigned of_four[DIGITS];
          split_four(x[q], scale, of_four);
#pragma unroll
          for (int digit = 0; digit < DIGITS; ++digit) {
            digits[digit][q] = of_four[digit];
          }
        }
      }
#pragma unroll 1
      for (int block = 0; block < work.blocks; ++block) {
        int sums[DIGITS][Shape::TILES][4] = {};
#pragma unroll
        for (int c = 0; c < Shape::WARP_CHUNKS; ++c) {
          unsigned b[DIGITS][4];
#pragma unroll
          for (int digit = 0; digit < DIGITS; ++digit) {
            b[digit][0] = words[c][digit].x;
            b[digit][1] = words[c][digit].y;
            b[digit][2] = words[c][digit].z;
            b[digit][3] = words[c][digit].w;
          }
#pragma unroll
          for (int of_a = 0; of_a < DIGITS; ++of_a) {
#pragma unroll
            for (int of_b = 0; of_b < DIGITS - of_a; ++of_b) {
#pragma unroll
              for (int half = 0; half < 2; ++half) {
#pragma unroll
                for (int tile = 0; tile < Shape::TILES; ++tile) {
                  const int word = c * 4 + half * 2;
                  const int q = word * Shape::LANE_ROWS + tile * 2;
                  const unsigned a[4] = {digits[of_a][q], digits[of_a][q + 1], digits[of_a][q + Shape::LANE_ROWS],
                                         digits[of_a][q + Shape::LANE_ROWS + 1]};
                  mma_m16n8k32_s8(sums[of_a + of_b][tile], a, b[of_b][half * 2], b[of_b][half * 2 + 1]);
                }
              }
            }
          }
        }
        if (block + 1 < work.blocks) {
          read_narrow();
        }
        longlong2* const sums_of_block = sums_of_warps + turn * (warps * ROWS * (COLUMNS / 2));
        turn ^= 1;
#pragma unroll
        for (int tile = 0; tile < Shape::TILES; ++tile) {
#pragma unroll
          for (int half = 0; half < 2; ++half) {
            longlong2 pair;
            const auto sum = [&](int i) {
              return static_cast<Sum>(sums[0][tile][i]) * 65536 + (sums[1][tile][i] * 256 + sums[2][tile][i]);
            };
            pair.x = sum(2 * half);
            pair.y = sum(2 * half + 1);
            sums_of_block[(warp * ROWS + Shape::row(g, 2 * tile + half)) * (COLUMNS / 2) + lane % 4] = pair;
          }
        }
        __syncthreads();
        const Sum* const to_add = reinterpret_cast<const Sum*>(sums_of_block);
#pragma unroll 1
        for (int i = thread; i < ROWS * COLUMNS; i += threads) {
          Sum sum = 0;
#pragma unroll 4
          for (int w = 0; w < warps; ++w) {
            sum += to_add[w * (ROWS * COLUMNS) + i];
          }
          if (segments > 1) {
            Sum& all = of_segments[block * (ROWS * COLUMNS) + i];
            sum += step.segment + 1 == segments ? 0 : all;
            all = sum;
          }
          if (step.segment == 0) {
            sums_of_rows[block * (ROWS * COLUMNS) + i] = sum;
          }
        }
      }
      if (step.segment == 0) {
        __syncthreads();
        const GemmProblem p = product_of(thin.batch, work.product);
        const split_product::Scalars scalars = scalars_of(p);
        const bool empty = scalars.alpha == 0.0F || p.k == 0;
        const int columns = work.blocks * COLUMNS;
#pragma unroll 1
        for (int i = thread; i < ROWS * columns; i += threads) {
          const int row_in_block = thin.c_transposed ? i % ROWS : i / columns;
          const int column_in_work = thin.c_transposed ? i / ROWS : i % columns;
          const int row = work.first_row + row_in_block;
          const int column = work.first_block * COLUMNS + column_in_work;
          if (row < p.m && column < p.n) {
            const int of_row = scale_code(maxima[row_in_block]);
            const int of_column =
                thin.digits.codes_of(work.product, work.first_block + column_in_work / COLUMNS)[column % COLUMNS];
            double value = 0.0;
            if (empty) {
            } else if (of_row == UNSCALABLE_LINE || of_column == UNSCALABLE_LINE) {
              value = scalars.alpha * plain_sum(p, row, column);
            } else {
              const Sum sum =
                  sums_of_rows[(column_in_work / COLUMNS * ROWS + row_in_block) * COLUMNS + column_in_work % COLUMNS];
              value = reproducible::product(sum, scalars.alpha * reproducible::undoing(of_row),
                                            reproducible::undoing(of_column));
            }
            float& c = p.c[thin.c_transposed ? column * p.ldc + row : row * p.ldc + column];
            c = reproducible::updated<false>(value, scalars.beta, scalars.beta == 0.0F ? 0.0F : c);
          }
        }
      }
    }
    step = next;
  }
}

}  // namespace thin
}  // namespace SGEMM_TARGET
}  // namespace sgemm
