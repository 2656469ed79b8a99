#pragma once

// Products of the reproducible class whose C has few columns, or few rows: that is the transposed product. The short
// operand is B here, and A is long. docs/15_reproducible.md defines the result.
//
//   scales    A kernel looks for the largest number of each line, a row of A or a column of B, and writes the digits of
//             B, as chapter 13 has them.
//   products  Blocks of 64 rows and a part of k read A again, the last rows first: the L2 may still hold them. Numbers
//             go from memory to registers, where they become digits in the places in which mma.sync wants them.
//   sums      are integers, so that it does not matter who adds which. Blocks of the same elements of C add theirs in
//             memory, and the last one stores C.

#include "common/ceil_div.hpp"
#include "common/target.hpp"
#include "common/vector_access.cuh"
#include "engine/int8_operands.cuh"
#include "engine/reproducible.cuh"
#include "gemm_problem.hpp"
#include "gemm_scalars.cuh"
#include "ptx/before_sm_80.cuh"
#include "ptx/cp_async.cuh"
#include "ptx/griddepcontrol.cuh"
#include "ptx/mma.cuh"
#include "ptx/shared_memory.cuh"
#include "split_algorithms.cuh"
#include "stacked_batch.cuh"

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace sgemm::SGEMM_TARGET::thin {

using reproducible::Sum;
using split_product::larger;
using split_product::product_of;
using split_product::int8::Scale;
using split_product::int8::scale_code;
using split_product::int8::split_four;
using split_product::int8::UNSCALABLE_LINE;

constexpr int WARP = 32;
constexpr int DIGITS = 3;
constexpr int COLUMNS = 8;   // of B in a product of a warp
constexpr int CHUNK_K = 64;  // k of B's digits that a lane reads at once
constexpr int WARP_ROWS = 16;
constexpr int WARPS = 4;
constexpr int THREADS = WARPS * WARP;
constexpr int ROWS = WARPS * WARP_ROWS;  // of A in a block
constexpr int MOST_COLUMN_BLOCKS = 8;    // of COLUMNS each, in a block of threads
constexpr int MOST_PART_CHUNKS = 512;    // sums of digits of so many k fit into 32 bits
constexpr int SCALE_THREADS = 256;
constexpr int SHORT_ROW = 512;

// ---- The problem ----

/// How a product is divided among blocks: by rows, by groups of columns and by parts of k.
struct Division {
  int column_blocks;  ///< of a group
  int column_groups;
  int row_groups;
  int chunks;
  int part_chunks;
  int parts;

  SGEMM_HOST_DEVICE std::int64_t blocks() const { return std::int64_t{row_groups} * column_groups * parts; }
  SGEMM_HOST_DEVICE int group_columns() const { return column_blocks * COLUMNS; }
  // Of a product, with those that fill up the last group:
  SGEMM_HOST_DEVICE std::int64_t columns() const { return std::int64_t{column_groups} * group_columns(); }
  SGEMM_HOST_DEVICE std::int64_t rows() const { return std::int64_t{row_groups} * ROWS; }
};

/// What kernels pass on, of so many products.
struct Workspace {
  uint4* digits;    ///< of B: of each group of columns, each chunk and block of columns, WARP words of each digit
  Sum* sums;        ///< of the rows and columns of a block of threads, where there are several parts
  unsigned* ended;  ///< parts of these
  unsigned char* column_codes;
  unsigned char* row_codes;

  SGEMM_HOST_DEVICE Workspace(const Division& of, std::int64_t products, void* memory)
      : digits(static_cast<uint4*>(memory)),
        sums(reinterpret_cast<Sum*>(digits + products * of.columns() / COLUMNS * of.chunks * (DIGITS * WARP))),
        ended(reinterpret_cast<unsigned*>(sums + shared_blocks(of, products) * ROWS * of.group_columns())),
        column_codes(
            reinterpret_cast<unsigned char*>(ended + ceil_div<std::int64_t>(shared_blocks(of, products), 4) * 4)),
        row_codes(column_codes + products * of.columns()) {}

  static std::size_t bytes(const Division& of, std::int64_t products) {
    const Workspace all(of, products, nullptr);
    return reinterpret_cast<std::uintptr_t>(all.row_codes) + static_cast<std::size_t>(products * of.rows());
  }

  /// The pieces of C that several blocks add up.
  SGEMM_HOST_DEVICE static std::int64_t shared_blocks(const Division& of, std::int64_t products) {
    return of.parts == 1 ? 0 : products * of.row_groups * of.column_groups;
  }
};

/// What both kernels get. The batch is one of tall products.
struct ThinBatch {
  GemmBatch batch;
  Division division;
  Workspace workspace;
  bool c_transposed;
};

__device__ __forceinline__ unsigned magnitude_bits(float x) { return __float_as_uint(x) & ~(1U << 31U); }

// ---- The kernel that finds scales ----

/// Lane 4g + t of a product has column g, and of each 16 k those from 4t to 4t + 3.
__device__ __forceinline__ void split_column(const ThinBatch& thin, const GemmProblem& p, std::int64_t product,
                                             int column) {
  __shared__ unsigned largest_of_column;
  const Division& division = thin.division;
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
  const int tasks = division.chunks * 4;
  unsigned largest = 0;
  float x[4][4];
#pragma unroll 1
  for (auto task = static_cast<int>(threadIdx.x); task < tasks; task += SCALE_THREADS) {
    load(task, x);
#pragma unroll
    for (int i = 0; i < 16; ++i) {
      largest = larger(largest, magnitude_bits(x[i / 4][i % 4]));
    }
  }
  atomicMax(&largest_of_column, largest);
  __syncthreads();
  const int code = scale_code(largest_of_column);
  const Scale scale(code);
  if (threadIdx.x == 0) {
    thin.workspace.column_codes[product * division.columns() + column] = static_cast<unsigned char>(code);
  }
  const int group = column / division.group_columns();
  const int block = column % division.group_columns() / COLUMNS;
  uint4* const to =
      thin.workspace.digits + column % COLUMNS * 4 +
      ((product * division.column_groups + group) * division.chunks * division.column_blocks + block) * (DIGITS * WARP);
#pragma unroll 1
  for (auto task = static_cast<int>(threadIdx.x); task < tasks; task += SCALE_THREADS) {
    if (tasks > SCALE_THREADS) {
      load(task, x);
    }
    unsigned digits[4][DIGITS];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      split_four(x[i], scale, digits[i]);
    }
#pragma unroll
    for (int digit = 0; digit < DIGITS; ++digit) {
      to[(std::int64_t{task / 4} * division.column_blocks * DIGITS + digit) * WARP + task % 4] =
          uint4{digits[0][digit], digits[1][digit], digits[2][digit], digits[3][digit]};
    }
  }
}

/// Rows of a block that looks for their largest numbers: as many as keep all multiprocessors busy, but one for each
/// warp where they lie along k and are long. Blocks for so few short rows would take longer to start than to read.
SGEMM_HOST_DEVICE constexpr int scaled_rows(bool k_major, const GemmProblem& p) {
  return p.m < 4096 || (k_major && p.k > SHORT_ROW) ? 8 : p.m < 8192 ? 16 : 32;
}

/// The largest number of a row that lies along k, for all of its lanes.
template <int LANES>
__device__ __forceinline__ unsigned largest_along_k(const GemmProblem& p, std::int64_t row) {
  const auto lane = static_cast<int>(threadIdx.x) % LANES;
  const float* const from = p.a + row * p.lda;
  const std::int64_t end = row < p.m ? p.k : 0;
  unsigned largest = 0;
  if (rows_split_into<4>(p.a, p.k, p.lda)) {
#pragma unroll 8
    for (std::int64_t k = lane * 4; k < end; k += 4 * LANES) {
      float four[4];
      unpack(load_float4(from + k), four);
      largest = larger(largest, split_product::int8::largest_bits(four));
    }
  } else {
#pragma unroll 8
    for (std::int64_t k = lane; k < end; k += LANES) {
      largest = larger(largest, magnitude_bits(from[k]));
    }
  }
#pragma unroll
  for (int lanes = LANES / 2; lanes > 0; lanes /= 2) {
    largest = larger(largest, __shfl_xor_sync(~0U, largest, lanes));
  }
  return largest;
}

/// The largest number of a row whose neighbours lie beside it, of so many rows of a block.
__device__ __forceinline__ unsigned largest_across_k(const GemmProblem& p, std::int64_t row, int rows) {
  __shared__ unsigned largest_of[WARP];
  const auto thread = static_cast<int>(threadIdx.x);
  const float* const from = p.a + (row < p.m ? row : p.m - 1);
  if (thread < WARP) {
    largest_of[thread] = 0;
  }
  __syncthreads();
  unsigned largest = 0;
#pragma unroll 16
  for (std::int64_t k = thread / rows; k < p.k; k += SCALE_THREADS / rows) {
    largest = larger(largest, magnitude_bits(from[k * p.lda]));
  }
  atomicMax(largest_of + thread % rows, largest);
  __syncthreads();
  return largest_of[thread % rows];
}

/// A block for each column, also for those that fill up the last group, and then blocks for the rows. All of them
/// together clear the sums.
template <bool K_MAJOR>
__device__ __forceinline__ void find_scales(const ThinBatch& thin) {
  griddepcontrol_launch_dependents();
  const Division& division = thin.division;
  const Workspace& to = thin.workspace;
  auto* const cleared = reinterpret_cast<uint4*>(to.sums);
  const std::int64_t words = reinterpret_cast<uint4*>(to.column_codes) - cleared;
  for (std::int64_t i = std::int64_t{blockIdx.x} * SCALE_THREADS + threadIdx.x; i < words;
       i += std::int64_t{gridDim.x} * SCALE_THREADS) {
    cleared[i] = uint4{0, 0, 0, 0};
  }
  const int rows = scaled_rows(K_MAJOR, thin.batch.first);
  const std::int64_t columns = division.columns();
  const std::int64_t of_product = columns + division.rows() / rows;
  const std::int64_t product = blockIdx.x / of_product;
  const std::int64_t number = blockIdx.x % of_product;
  const GemmProblem p = product_of(thin.batch, product);
  if (number < columns) {
    split_column(thin, p, product, static_cast<int>(number));
    return;
  }
  const auto thread = static_cast<int>(threadIdx.x);
  const int lanes = SCALE_THREADS / rows;  // of a row that lies along k
  const std::int64_t row = (number - columns) * rows + (K_MAJOR ? thread / lanes : thread % rows);
  const unsigned largest = scalars_of(p).alpha == 0.0F ? 0
                           : !K_MAJOR                  ? largest_across_k(p, row, rows)
                           : rows == 8                 ? largest_along_k<WARP>(p, row)
                           : rows == 16                ? largest_along_k<WARP / 2>(p, row)
                                                       : largest_along_k<WARP / 4>(p, row);
  if (K_MAJOR ? thread % lanes == 0 : thread < rows) {
    to.row_codes[product * division.rows() + row] = static_cast<unsigned char>(scale_code(largest));
  }
}

// ---- The kernel that multiplies ----

/// Row number `half` of a lane's two, of a warp's 16. Where rows lie side by side, a lane has neighbours.
template <bool K_MAJOR>
SGEMM_HOST_DEVICE constexpr int row_of_lane(int g, int half) {
  return K_MAJOR ? g + 8 * half : 2 * g + half;
}

/// A lane's numbers of a chunk: four k each of its first row, then of its second, and so on. They are read once more,
/// and then no more.
using Numbers = float[CHUNK_K / 8][4];

template <bool K_MAJOR, bool VECTORS>
struct RowReader {
  const float* rows[2];  ///< at the lane's first k; the last one in place of those behind it
  std::int64_t k_step;
  std::int64_t first_k;
  std::int64_t end_k;

  __device__ __forceinline__ RowReader(const GemmProblem& p, std::int64_t first_row, std::int64_t end_k)
      : k_step(p.lda), first_k(static_cast<int>(threadIdx.x) % 4 * 4), end_k(end_k) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      std::int64_t row = first_row + row_of_lane<K_MAJOR>(static_cast<int>(threadIdx.x) % WARP / 4, half);
      row = row < p.m ? row : p.m - (K_MAJOR || !VECTORS ? 1 : 2);  // two neighbours stay aligned
      rows[half] = p.a + (K_MAJOR ? row * p.lda : row);
    }
  }

  __device__ __forceinline__ void read(int chunk, Numbers& x) const {
#pragma unroll
    for (int j = 0; j < CHUNK_K / 16; ++j) {
      const std::int64_t k = std::int64_t{chunk} * CHUNK_K + first_k + j * 16;
      if constexpr (K_MAJOR && VECTORS) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          unpack(k < end_k ? __ldcs(reinterpret_cast<const float4*>(rows[half] + k)) : float4{0.0F, 0.0F, 0.0F, 0.0F},
                 x[2 * j + half]);
        }
      } else {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const bool inside = k + i < end_k;
          const std::int64_t at = K_MAJOR ? k + i : (k + i) * k_step;
          if constexpr (VECTORS) {
            const float2 both = inside ? __ldcs(reinterpret_cast<const float2*>(rows[0] + at)) : float2{0.0F, 0.0F};
            x[2 * j][i] = both.x;
            x[2 * j + 1][i] = both.y;
          } else {
            x[2 * j][i] = inside ? __ldcs(rows[0] + at) : 0.0F;
            x[2 * j + 1][i] = inside ? __ldcs(rows[1] + at) : 0.0F;
          }
        }
      }
    }
  }
};

/// Products of digits: of each block of columns, of each place from the largest on, of a lane's elements.
template <int COLUMN_BLOCKS>
using DigitSums = int[COLUMN_BLOCKS][DIGITS][4];

/// The digits of B of the next chunks, which threads of a block copy to shared memory for all of them.
template <int COLUMN_BLOCKS>
struct ColumnDigits {
  static constexpr int STAGES = 3;
  static constexpr int WORDS = COLUMN_BLOCKS * DIGITS * WARP;
  static constexpr int STAGE_BYTES = WORDS * static_cast<int>(sizeof(uint4));
  static constexpr int SMEM_BYTES = STAGES * STAGE_BYTES;

  const uint4* from;  ///< of the part's first chunk
  int chunks;
  unsigned smem;

  __device__ __forceinline__ void copy(int chunk) const {
    if (chunk < chunks) {
      const uint4* const source = from + std::int64_t{chunk} * WORDS;
      const unsigned to = smem + chunk % STAGES * STAGE_BYTES;
#pragma unroll
      for (auto word = static_cast<int>(threadIdx.x); word < WORDS; word += THREADS) {
        cp_async<sizeof(uint4)>(to + word * static_cast<int>(sizeof(uint4)), source + word);
      }
    }
    cp_async_commit_group();
  }

  /// Waits for a chunk, and has a later one copied to the place that everyone has read.
  __device__ __forceinline__ void advance_to(int chunk) const {
    cp_async_wait_group<STAGES - 2>();
    __syncthreads();
    copy(chunk + STAGES - 1);
  }

  __device__ __forceinline__ void add_products(const unsigned (&digits)[DIGITS][CHUNK_K / 8], int chunk,
                                               DigitSums<COLUMN_BLOCKS>& sums) const {
    constexpr int BYTES = sizeof(uint4);
    const unsigned words = smem + chunk % STAGES * STAGE_BYTES + threadIdx.x % WARP * BYTES;
#pragma unroll
    for (int block = 0; block < COLUMN_BLOCKS; ++block) {
      float b[DIGITS][4];
#pragma unroll
      for (int digit = 0; digit < DIGITS; ++digit) {
        unpack(ld_shared_v4_f32(words + (block * DIGITS + digit) * WARP * BYTES), b[digit]);
      }
#pragma unroll
      for (int half = 0; half < 2; ++half) {
#pragma unroll
        for (int of_a = 0; of_a < DIGITS; ++of_a) {
          const unsigned(&of_k)[CHUNK_K / 8] = digits[of_a];
          const unsigned a[4] = {of_k[4 * half], of_k[4 * half + 1], of_k[4 * half + 2], of_k[4 * half + 3]};
#pragma unroll
          for (int of_b = 0; of_b < DIGITS - of_a; ++of_b) {
            mma_m16n8k32_s8(sums[block][of_a + of_b], a, __float_as_uint(b[of_b][2 * half]),
                            __float_as_uint(b[of_b][2 * half + 1]));
          }
        }
      }
    }
  }
};

/// Which block of a launch does what. The rows that were looked at last come first.
struct Place {
  std::int64_t product;
  int row_group;
  int column_group;
  int part;
  std::int64_t piece;  ///< of C, in all products

  __device__ __forceinline__ explicit Place(const Division& division) {
    const unsigned number = gridDim.x - 1 - blockIdx.x;
    part = static_cast<int>(number % division.parts);
    piece = number / division.parts;
    column_group = static_cast<int>(piece % division.column_groups);
    row_group = static_cast<int>(piece / division.column_groups % division.row_groups);
    product = piece / division.column_groups / division.row_groups;
  }
};

/// Adds the products of the block's rows and columns in its part of k.
template <int COLUMN_BLOCKS, bool K_MAJOR, bool VECTORS>
__device__ __forceinline__ void add_part(const ThinBatch& thin, const GemmProblem& p, const Place& place,
                                         DigitSums<COLUMN_BLOCKS>& sums) {
  const Division& division = thin.division;
  const auto lane = static_cast<int>(threadIdx.x) % WARP;
  const std::int64_t row = std::int64_t{place.row_group} * ROWS + static_cast<int>(threadIdx.x) / WARP * WARP_ROWS;
  const int first = place.part * division.part_chunks;
  const int end = first + division.part_chunks < division.chunks ? first + division.part_chunks : division.chunks;
  const std::int64_t end_k = std::int64_t{end} * CHUNK_K < p.k ? std::int64_t{end} * CHUNK_K : p.k;
  const RowReader<K_MAJOR, VECTORS> reader(p, row, end_k);
  constexpr int AHEAD = COLUMN_BLOCKS == 4 ? 2 : 1;  // chunks on their way, as many as registers hold
  Numbers next[AHEAD];
#pragma unroll
  for (int ahead = 0; ahead < AHEAD; ++ahead) {
    reader.read(first + ahead, next[ahead]);
  }
  griddepcontrol_wait();
  const unsigned char* const codes = thin.workspace.row_codes + (place.product * division.rows() + row);
  const Scale scales[2] = {Scale(codes[row_of_lane<K_MAJOR>(lane / 4, 0)]),
                           Scale(codes[row_of_lane<K_MAJOR>(lane / 4, 1)])};
  const ColumnDigits<COLUMN_BLOCKS> columns{
      thin.workspace.digits +
          ((place.product * division.column_groups + place.column_group) * division.chunks + first) *
              ColumnDigits<COLUMN_BLOCKS>::WORDS,
      end - first, shared_address(dynamic_smem())};
#pragma unroll
  for (int chunk = 0; chunk < ColumnDigits<COLUMN_BLOCKS>::STAGES - 1; ++chunk) {
    columns.copy(chunk);
  }
#pragma unroll 1
  for (int chunk = 0; chunk < end - first; chunk += AHEAD) {
#pragma unroll
    for (int ahead = 0; ahead < AHEAD; ++ahead) {  // the last one may be beyond the end, where all numbers are zeros
      unsigned digits[DIGITS][CHUNK_K / 8];
#pragma unroll
      for (int i = 0; i < CHUNK_K / 8; ++i) {
        unsigned of_four[DIGITS];
        split_four(next[ahead][i], scales[i % 2], of_four);
#pragma unroll
        for (int digit = 0; digit < DIGITS; ++digit) {
          digits[digit][i] = of_four[digit];
        }
      }
      reader.read(first + chunk + ahead + AHEAD, next[ahead]);
      columns.advance_to(chunk + ahead);
      columns.add_products(digits, chunk + ahead, sums);
    }
  }
  cp_async_wait_group<0>();
  __syncthreads();  // what follows takes the memory
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

/// Adds the sums of a part to those of the others. The block that comes last gets all of them, and true.
template <int COUNT>
__device__ __forceinline__ bool add_to_others(const ThinBatch& thin, const Place& place, Sum* sums) {
  __shared__ bool is_last;
  Sum* const all = thin.workspace.sums + place.piece * COUNT;
#pragma unroll 4
  for (auto i = static_cast<int>(threadIdx.x); i < COUNT; i += THREADS) {
    atomicAdd(reinterpret_cast<unsigned long long*>(all + i), static_cast<unsigned long long>(sums[i]));
  }
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    is_last = atomicAdd(thin.workspace.ended + place.piece, 1U) + 1 == static_cast<unsigned>(thin.division.parts);
  }
  __syncthreads();
  if (is_last) {
    __threadfence();
#pragma unroll 4
    for (auto i = static_cast<int>(threadIdx.x); i < COUNT; i += THREADS) {
      sums[i] = __ldcg(all + i);
    }
    __syncthreads();
  }
  return is_last;
}

/// The codes of the block's rows and columns. They are read before there are sums: what a block does at its end has to
/// be short.
template <int COLUMN_BLOCKS>
struct Codes {
  unsigned char of_rows[ROWS];
  unsigned char of_columns[COLUMN_BLOCKS * COLUMNS];

  __device__ __forceinline__ void read(const ThinBatch& thin, const Place& place) {
    const Division& division = thin.division;
    const auto thread = static_cast<int>(threadIdx.x);
    static_assert(ROWS + sizeof of_columns <= THREADS);
    if (thread < ROWS) {
      of_rows[thread] =
          thin.workspace.row_codes[place.product * division.rows() + place.row_group * std::int64_t{ROWS} + thread];
    } else if (thread < ROWS + COLUMN_BLOCKS * COLUMNS) {
      of_columns[thread - ROWS] =
          thin.workspace
              .column_codes[(place.product * division.column_groups + place.column_group) * (COLUMN_BLOCKS * COLUMNS) +
                            (thread - ROWS)];
    }
  }
};

/// Stores the block's elements of C.
template <int COLUMN_BLOCKS>
__device__ __forceinline__ void store_elements(const GemmProblem& p, const split_product::Scalars& scalars,
                                               bool c_transposed, const Place& place, const Codes<COLUMN_BLOCKS>& codes,
                                               const Sum* sums) {
  constexpr int BLOCK_COLUMNS = COLUMN_BLOCKS * COLUMNS;
  const double alpha = scalars.alpha == 0.0F || p.k == 0 ? 0.0 : static_cast<double>(scalars.alpha);
  bool all_have_digits = true;
  const auto update_each = [&](auto value_of) {
#pragma unroll 4
    for (auto i = static_cast<int>(threadIdx.x); i < ROWS * BLOCK_COLUMNS; i += THREADS) {
      const int row = c_transposed ? i % ROWS : i / BLOCK_COLUMNS;
      const int column = c_transposed ? i / ROWS : i % BLOCK_COLUMNS;
      const std::int64_t row_of_c = std::int64_t{place.row_group} * ROWS + row;
      const std::int64_t column_of_c = std::int64_t{place.column_group} * BLOCK_COLUMNS + column;
      double value;
      if (row_of_c < p.m && column_of_c < p.n && value_of(row, column, row_of_c, column_of_c, value)) {
        float& c = p.c[c_transposed ? column_of_c * p.ldc + row_of_c : row_of_c * p.ldc + column_of_c];
        c = reproducible::updated<false>(value, scalars.beta, scalars.beta == 0.0F ? 0.0F : c);
      }
    }
  };
  const auto has_digits = [&](int row, int column) {
    return codes.of_rows[row] != UNSCALABLE_LINE && codes.of_columns[column] != UNSCALABLE_LINE;
  };
  update_each([&](int row, int column, std::int64_t, std::int64_t, double& value) {
    value = reproducible::product(sums[row * BLOCK_COLUMNS + column], alpha * reproducible::undoing(codes.of_rows[row]),
                                  reproducible::undoing(codes.of_columns[column]));
    all_have_digits = all_have_digits && has_digits(row, column);
    return has_digits(row, column);
  });
  if (!all_have_digits) {
    update_each([&](int row, int column, std::int64_t row_of_c, std::int64_t column_of_c, double& value) {
      if (has_digits(row, column)) {
        return false;
      }
      value = alpha * plain_sum(p, row_of_c, column_of_c);
      return true;
    });
  }
}

template <int COLUMN_BLOCKS, bool K_MAJOR>
__device__ __forceinline__ void multiply_thin(const ThinBatch& thin) {
  const Place place(thin.division);
  GemmProblem p = product_of(thin.batch, place.product);
  const split_product::Scalars scalars = scalars_of(p);
  __shared__ Codes<COLUMN_BLOCKS> codes;
  DigitSums<COLUMN_BLOCKS> digit_sums = {};
  if (scalars.alpha == 0.0F || p.k == 0) {  // A and B are not read then
    griddepcontrol_wait();
  } else if (rows_split_into<(K_MAJOR ? 4 : 2)>(p.a, K_MAJOR ? p.k : p.m, p.lda)) {
    add_part<COLUMN_BLOCKS, K_MAJOR, true>(thin, p, place, digit_sums);
  } else {
    add_part<COLUMN_BLOCKS, K_MAJOR, false>(thin, p, place, digit_sums);
  }
  codes.read(thin, place);
  auto* const sums = reinterpret_cast<Sum*>(dynamic_smem());
  const auto warp = static_cast<int>(threadIdx.x) / WARP;
  const auto lane = static_cast<int>(threadIdx.x) % WARP;
#pragma unroll
  for (int block = 0; block < COLUMN_BLOCKS; ++block) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int row = warp * WARP_ROWS + row_of_lane<K_MAJOR>(lane / 4, i / 2);
      const int(&of)[DIGITS][4] = digit_sums[block];
      sums[row * (COLUMN_BLOCKS * COLUMNS) + block * COLUMNS + lane % 4 * 2 + i % 2] =
          static_cast<Sum>(of[0][i]) * 65536 + static_cast<Sum>(of[1][i]) * 256 + of[2][i];
    }
  }
  __syncthreads();
  if (thin.division.parts == 1 || add_to_others<ROWS * COLUMN_BLOCKS * COLUMNS>(thin, place, sums)) {
    store_elements(p, scalars, thin.c_transposed, place, codes, sums);
  }
}

}  // namespace sgemm::SGEMM_TARGET::thin
