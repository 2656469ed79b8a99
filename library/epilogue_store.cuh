#pragma once

// The store of chapters 11, 12 and 13 with an epilogue. A thread has 64 sums of a tile of C, and each step of the
// epilogue goes over all of them in its registers: steps that a call does not have are skipped by branches that no warp
// divides at. So one kernel has all epilogues, and kernels without one keep their code.

#include "common/target.hpp"
#include "common/vector_access.cuh"
#include "deferred_elements.cuh"
#include "engine/product_policy.cuh"
#include "engine/split_operands.cuh"
#include "engine/split_product.cuh"
#include "engine/stream_k.cuh"
#include "epilogue_elements.cuh"
#include "gemm_epilogue.hpp"
#include "gemm_scalars.cuh"
#include "ptx/bar.cuh"

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>

namespace sgemm {
inline namespace SGEMM_TARGET {
namespace split_product {

/// What the multiplying kernel gets.
struct EpilogueProblem : DeferringProblem {
  SGEMM_HOST_DEVICE EpilogueProblem(const GemmProblem& p, const Deferred& notes, const GemmEpilogue& of, bool pairs)
      : DeferringProblem(p, notes), epilogue(of), in_pairs(pairs) {}

  GemmEpilogue epilogue;
  bool in_pairs;  ///< rows of all its matrices, and a bias of columns, split into aligned pairs
};

constexpr int SUMS_OF_THREAD = 64;
constexpr int COLUMN_GROUPS = TILE_ROWS / 8;  ///< of eight columns, of which a thread has two

/// Which of a thread's elements are meant: a bit for each pair, as in store_pairs(), for its first and second element.
struct ElementBits {
  unsigned first;
  unsigned second;

  /// Those inside of a matrix with `rows` rows and `columns` columns from the thread's first element on.
  __device__ __forceinline__ static ElementBits inside(std::int64_t rows, std::int64_t columns) {
    const unsigned in_rows = (rows > 0 ? 0x55555555U : 0U) | (rows > 8 ? 0xAAAAAAAAU : 0U);
    return {in_rows & pairs_of(columns), in_rows & pairs_of(columns - 1)};
  }
  __device__ __forceinline__ ElementBits without(unsigned pairs) const { return {first & ~pairs, second & ~pairs}; }
  __device__ __forceinline__ bool has_first(int pair) const { return (first >> static_cast<unsigned>(pair) & 1U) != 0; }
  __device__ __forceinline__ bool has_second(int pair) const {
    return (second >> static_cast<unsigned>(pair) & 1U) != 0;
  }

 private:
  /// The pairs of all groups that begin before `columns`.
  __device__ __forceinline__ static unsigned pairs_of(std::int64_t columns) {
    const unsigned groups = columns <= 0          ? 0
                            : columns > TILE_ROWS ? COLUMN_GROUPS
                                                  : static_cast<unsigned>(columns + 7) / 8;
    return groups >= COLUMN_GROUPS ? ~0U : (1U << 2 * groups) - 1;
  }
};

// A thread finishes its elements in four chunks, so that some are on their way to memory while it computes others. A
// chunk has 32 columns: four groups, and a word of a mask, which the four threads of a quad share. Leading dimensions
// of masks are multiples of 128 bits, so that a tile has whole words.
constexpr int CHUNKS = TILE_ROWS / 32;
constexpr int PAIRS_OF_CHUNK = SUMS_OF_THREAD / 2 / CHUNKS;
using Chunk = float[2 * PAIRS_OF_CHUNK];

/// A matrix of the size of D, at a thread's first element.
template <class Element>
struct PlaceOfThread {
  Element* rows[2];

  __device__ __forceinline__ PlaceOfThread(Element* matrix, std::int64_t ld, std::int64_t first_row,
                                           std::int64_t first_col)
      : rows{matrix + first_row * ld + first_col, matrix + (first_row + 8) * ld + first_col} {}
  __device__ __forceinline__ Element* at(int pair) const { return rows[pair % 2] + pair / 2 * 8; }
};

__device__ __forceinline__ void load_chunk(const PlaceOfThread<const float>& from, int chunk, const ElementBits& bits,
                                           bool in_pairs, Chunk& numbers) {
  if (in_pairs) {
#pragma unroll
    for (int i = 0; i < PAIRS_OF_CHUNK; ++i) {
      const int pair = chunk * PAIRS_OF_CHUNK + i;
      float2 two{0.0F, 0.0F};
      if (bits.has_first(pair)) {
        two = load_float2(from.at(pair));
      }
      numbers[2 * i] = two.x;
      numbers[2 * i + 1] = two.y;
    }
  } else {
#pragma unroll
    for (int i = 0; i < PAIRS_OF_CHUNK; ++i) {
      const int pair = chunk * PAIRS_OF_CHUNK + i;
      numbers[2 * i] = bits.has_first(pair) ? from.at(pair)[0] : 0.0F;
      numbers[2 * i + 1] = bits.has_second(pair) ? from.at(pair)[1] : 0.0F;
    }
  }
}

__device__ __forceinline__ void store_chunk(const PlaceOfThread<float>& to, int chunk, const ElementBits& bits,
                                            bool in_pairs, const Chunk& x) {
  if (in_pairs) {
#pragma unroll
    for (int i = 0; i < PAIRS_OF_CHUNK; ++i) {
      const int pair = chunk * PAIRS_OF_CHUNK + i;
      if (bits.has_first(pair)) {
        *reinterpret_cast<float2*>(to.at(pair)) = float2{x[2 * i], x[2 * i + 1]};
      }
    }
  } else {
#pragma unroll
    for (int i = 0; i < PAIRS_OF_CHUNK; ++i) {
      const int pair = chunk * PAIRS_OF_CHUNK + i;
      if (bits.has_first(pair)) {
        to.at(pair)[0] = x[2 * i];
      }
      if (bits.has_second(pair)) {
        to.at(pair)[1] = x[2 * i + 1];
      }
    }
  }
}

/// The numbers of a bias for a chunk's elements in one row, `columns` columns from the thread's first element on.
using BiasOfChunk = float[PAIRS_OF_CHUNK];
__device__ __forceinline__ void load_bias(const float* from, int columns, int chunk, bool in_pairs,
                                          BiasOfChunk& numbers) {
#pragma unroll
  for (int i = 0; i < PAIRS_OF_CHUNK; i += 2) {
    const int column = chunk * 32 + i / 2 * 8;
    if (in_pairs) {
      float2 two{0.0F, 0.0F};
      if (column < columns) {
        two = load_float2(from + column);
      }
      numbers[i] = two.x;
      numbers[i + 1] = two.y;
    } else {
      numbers[i] = column < columns ? from[column] : 0.0F;
      numbers[i + 1] = column + 1 < columns ? from[column + 1] : 0.0F;
    }
  }
}

/// The column of a chunk's first element, for a quad.
__device__ __forceinline__ std::int64_t first_column_of_chunk(std::int64_t first_col, int chunk) {
  return first_col - threadIdx.x % 4 * 2 + chunk * 32;
}

/// Writes the bits of a chunk's elements that pass ReLU. Elements without a bit in `bits` get a 0.
__device__ __forceinline__ void store_mask(const EpilogueProblem& p, std::int64_t first_row, std::int64_t first_col,
                                           int chunk, const ElementBits& bits, const Chunk& x) {
  const unsigned of_quad = threadIdx.x % 4;
  unsigned words[2] = {};
#pragma unroll
  for (int i = 0; i < PAIRS_OF_CHUNK; ++i) {
    const int pair = chunk * PAIRS_OF_CHUNK + i;
    const auto place = static_cast<unsigned>(i / 2 * 8);
    words[i % 2] |= bits.has_first(pair) && passes_relu(x[2 * i]) ? 1U << place : 0U;
    words[i % 2] |= bits.has_second(pair) && passes_relu(x[2 * i + 1]) ? 2U << place : 0U;
  }
  const std::int64_t column = first_column_of_chunk(first_col, chunk);
#pragma unroll
  for (int row = 0; row < 2; ++row) {
    unsigned word = words[row] << 2 * of_quad;
    word |= __shfl_xor_sync(~0U, word, 1);
    word |= __shfl_xor_sync(~0U, word, 2);
    if (of_quad == 0 && first_row + 8 * row < p.m && column < p.n) {
      *mask_word(p.epilogue, first_row + 8 * row, column) = word;
    }
  }
}

/// The gradient of ReLU: elements of a chunk without a bit in the mask become 0.
__device__ __forceinline__ void apply_mask(const EpilogueProblem& p, std::int64_t first_row, std::int64_t first_col,
                                           int chunk, Chunk& x) {
  const std::int64_t column = first_column_of_chunk(first_col, chunk);
#pragma unroll
  for (int row = 0; row < 2; ++row) {
    const bool inside = first_row + 8 * row < p.m && column < p.n;
    const unsigned word = (inside ? *mask_word(p.epilogue, first_row + 8 * row, column) : 0U) >> threadIdx.x % 4 * 2;
#pragma unroll
    for (int i = 0; i < PAIRS_OF_CHUNK; ++i) {
      float& element = x[i / 2 * 4 + row * 2 + i % 2];
      element = (word >> static_cast<unsigned>(i / 2 * 8 + i % 2) & 1U) != 0 ? element : 0.0F;
    }
  }
}

/// As store_sums(), with the epilogue. What a chunk reads is loaded while the one before is finished.
__device__ __forceinline__ void store_finished(const EpilogueProblem& p, std::int64_t first_row, std::int64_t first_col,
                                               const float (&sums)[SUMS_OF_THREAD]) {
  const Scalars scalars = scalars_of(p);
  const GemmEpilogue& epilogue = p.epilogue;
  const ElementBits inside = ElementBits::inside(p.m - first_row, p.n - first_col);
  const bool adds_c = scalars.beta != 0.0F;
  const bool reads_argument = epilogue.activation == SGEMM_ACTIVATION_GELU_GRADIENT;
  const PlaceOfThread<float> place_of_d(p.c, p.ldc, first_row, first_col);
  const PlaceOfThread<float> place_of_aux(static_cast<float*>(epilogue.aux), epilogue.aux_ld, first_row, first_col);
  const PlaceOfThread<const float> read_ahead(adds_c ? epilogue.c : static_cast<const float*>(epilogue.aux),
                                              adds_c ? epilogue.ldc : epilogue.aux_ld, first_row, first_col);
  const bool reads_ahead = adds_c || reads_argument;
  Chunk ahead[2] = {};
  if (reads_ahead) {
    load_chunk(read_ahead, 0, inside, p.in_pairs, ahead[0]);
  }
  const bool has_bias_of_rows = epilogue.bias != nullptr && epilogue.bias_of_rows;
  const bool has_bias_of_columns = epilogue.bias != nullptr && !epilogue.bias_of_rows;
  const auto columns = static_cast<int>(p.n - first_col < TILE_ROWS ? p.n - first_col : TILE_ROWS);
  float bias_of_rows[2] = {};
  BiasOfChunk bias_ahead[2] = {};
  if (has_bias_of_rows) {
    bias_of_rows[0] = first_row < p.m ? epilogue.bias[first_row] : 0.0F;
    bias_of_rows[1] = first_row + 8 < p.m ? epilogue.bias[first_row + 8] : 0.0F;
  } else if (has_bias_of_columns) {
    load_bias(epilogue.bias + first_col, columns, 0, p.in_pairs, bias_ahead[0]);
  }
  unsigned not_finite = 0;
#pragma unroll
  for (int pair = 0; pair < SUMS_OF_THREAD / 2; ++pair) {
    if (!(std::fabs(sums[2 * pair] + sums[2 * pair + 1]) < INFINITY)) {
      not_finite |= 1U << static_cast<unsigned>(pair);
    }
  }
  const ElementBits stored = inside.without(not_finite);
#pragma unroll
  for (int chunk = 0; chunk < CHUNKS; ++chunk) {
    if (reads_ahead && chunk + 1 < CHUNKS) {
      load_chunk(read_ahead, chunk + 1, inside, p.in_pairs, ahead[(chunk + 1) % 2]);
    }
    if (has_bias_of_columns && chunk + 1 < CHUNKS) {
      load_bias(epilogue.bias + first_col, columns, chunk + 1, p.in_pairs, bias_ahead[(chunk + 1) % 2]);
    }
    const Chunk& read = ahead[chunk % 2];
    Chunk x;
#pragma unroll
    for (int i = 0; i < 2 * PAIRS_OF_CHUNK; ++i) {
      x[i] = scalars.alpha * sums[chunk * (2 * PAIRS_OF_CHUNK) + i];
    }
    if (adds_c) {
#pragma unroll
      for (int i = 0; i < 2 * PAIRS_OF_CHUNK; ++i) {
        x[i] += scalars.beta * read[i];
      }
    }
    if (has_bias_of_rows) {
#pragma unroll
      for (int i = 0; i < 2 * PAIRS_OF_CHUNK; ++i) {
        x[i] += bias_of_rows[i / 2 % 2];
      }
    } else if (has_bias_of_columns) {
#pragma unroll
      for (int i = 0; i < 2 * PAIRS_OF_CHUNK; ++i) {
        x[i] += bias_ahead[chunk % 2][i / 4 * 2 + i % 2];
      }
    }
    if (epilogue.activation == SGEMM_ACTIVATION_RELU) {
      if (epilogue.writes_mask()) {
        store_mask(p, first_row, first_col, chunk, stored, x);
      }
#pragma unroll
      for (float& element : x) {
        element = relu(element);
      }
    } else if (epilogue.activation == SGEMM_ACTIVATION_GELU) {
      if (epilogue.writes_argument()) {
        store_chunk(place_of_aux, chunk, stored, p.in_pairs, x);
      }
#pragma unroll
      for (float& element : x) {
        element = gelu(element);
      }
    } else if (epilogue.activation == SGEMM_ACTIVATION_RELU_GRADIENT) {
      apply_mask(p, first_row, first_col, chunk, x);
    } else if (reads_argument) {
      Chunk arguments;
#pragma unroll
      for (int i = 0; i < 2 * PAIRS_OF_CHUNK; ++i) {
        arguments[i] = read[i];
      }
      if (adds_c) {
        const PlaceOfThread<const float> from(static_cast<const float*>(epilogue.aux), epilogue.aux_ld, first_row,
                                              first_col);
        load_chunk(from, chunk, inside, p.in_pairs, arguments);
      }
#pragma unroll
      for (int i = 0; i < 2 * PAIRS_OF_CHUNK; ++i) {
        x[i] *= gelu_derivative(arguments[i]);
      }
    }
    store_chunk(place_of_d, chunk, stored, p.in_pairs, x);
  }
  defer(p, first_row, first_col, not_finite);
}

/// Finishes elements of a tile of D that hold alpha * sum + beta * C: those that this thread has noted. Masks have
/// zeros in their places.
__device__ __forceinline__ void finish_noted(const EpilogueProblem& p, int a_tile, int b_tile) {
  const GemmEpilogue& epilogue = p.epilogue;
  const std::int64_t c_tile = a_tile * tiles_along(p.n) + b_tile;
  const bool warp_has_noted = p.deferred.warps[c_tile * CONSUMER_WARPS + threadIdx.x / WARP] != 0;
  unsigned noted = warp_has_noted ? p.deferred.pairs[c_tile * CONSUMERS + threadIdx.x] : 0;
  const std::int64_t first_row = std::int64_t{a_tile} * TILE_ROWS + split_product::first_row(threadIdx.x);
  const std::int64_t first_col = std::int64_t{b_tile} * TILE_ROWS + first_column(threadIdx.x);
#pragma unroll 1
  for (int element = 0; noted != 0; ++element) {
    const std::int64_t row = first_row + element / 2 % 2 * 8;
    const std::int64_t column = first_col + element / 4 * 8 + element % 2;
    if (noted % 2 == 1 && row < p.m && column < p.n) {
      float& d = p.element_of_c(row, column);
      const float x = d + bias_of(epilogue, row, column);
      if (epilogue.writes_mask() && passes_relu(x)) {
        atomicOr(mask_word(epilogue, row, column), 1U << static_cast<unsigned>(column % 32));
      }
      d = activated(epilogue, x, row, column);
    }
    noted >>= static_cast<unsigned>(element % 2);
  }
}

/// Computes the noted elements of a tile of C, and then their epilogue.
__device__ __forceinline__ void compute_tile_and_finish(const EpilogueProblem& p, int a_tile, int b_tile) {
  const Scalars scalars = scalars_of(p);
  compute_tile<float>(p, a_tile, b_tile, [&](int row_in_tile, int column_in_tile, float sum) {
    const std::int64_t row = std::int64_t{a_tile} * TILE_ROWS + row_in_tile;
    const std::int64_t column = std::int64_t{b_tile} * TILE_ROWS + column_in_tile;
    float x = scalars.alpha * sum;
    if (scalars.beta != 0.0F) {
      x += scalars.beta * p.epilogue.c[row * p.epilogue.ldc + column];
    }
    p.element_of_c(row, column) = x;
  });
  bar_sync(CONSUMERS_BARRIER, CONSUMERS);  // all of them are there
  finish_noted(p, a_tile, b_tile);
}

/// The policy of kernels that compute one product with an epilogue.
template <class Shape>
struct OneGemmWithEpilogue : OneGemm<Shape, Access::float1> {
  using Problem = EpilogueProblem;

  __device__ __forceinline__ static void store(const Problem& p, std::int64_t first_row, std::int64_t first_col,
                                               const float (&sums)[SUMS_OF_THREAD]) {
    store_finished(p, first_row, first_col, sums);
  }

  __device__ __forceinline__ static void after_last_tile(const Problem& p, const Schedule& schedule) {
    compute_deferred<OneGemmWithEpilogue>(p, schedule,
                                          [&](int a_tile, int b_tile) { compute_tile_and_finish(p, a_tile, b_tile); });
  }
};

}  // namespace split_product
}  // namespace SGEMM_TARGET
}  // namespace sgemm
