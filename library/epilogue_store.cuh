#pragma once

// The store of chapters 11, 12 and 13 with an epilogue. A thread has 64 sums of a tile of C in its registers, and
// finishes 16 at a time, in a loop. Steps that a call does not have are skipped by branches that no warp divides at. So
// one kernel has all epilogues, and kernels without one keep their code.

#include "common/keep_in_register.cuh"
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
#include <type_traits>

namespace sgemm::SGEMM_TARGET::split_product {

/// What the multiplying kernel gets.
struct EpilogueProblem : DeferringProblem {
  SGEMM_HOST_DEVICE EpilogueProblem(const GemmProblem& p, const Deferred& notes, const GemmEpilogue& of, bool pairs)
      : DeferringProblem(p, notes), epilogue(of), in_pairs(pairs) {}

  GemmEpilogue epilogue;
  bool in_pairs;  ///< rows of all its matrices, and a bias of columns, split into aligned pairs
};

constexpr int SUMS_OF_THREAD = 64;

// A thread finishes its elements in four chunks, so that some are on their way to memory while it computes others. A
// chunk has 32 columns: four groups of eight, and a word of a mask, which the four threads of a quad share. Leading
// dimensions of masks are multiples of 128 bits, so that a tile has whole words.
constexpr int CHUNK_COLUMNS = 32;
constexpr int CHUNKS = TILE_ROWS / CHUNK_COLUMNS;
constexpr int PAIRS_OF_CHUNK = SUMS_OF_THREAD / 2 / CHUNKS;
using Chunk = float[2 * PAIRS_OF_CHUNK];

/// Which of a thread's elements of a chunk are meant: a bit for each pair, as in store_pairs(), for its first and
/// second element.
struct ElementBits {
  unsigned first;
  unsigned second;

  /// Those inside of a matrix with `rows` rows and `columns` columns from the chunk's first element on.
  __device__ __forceinline__ static ElementBits inside(std::int64_t rows, int columns) {
    const unsigned in_rows = (rows > 0 ? 0x55U : 0U) | (rows > 8 ? 0xAAU : 0U);
    return {in_rows & pairs_of(columns), in_rows & pairs_of(columns - 1)};
  }
  __device__ __forceinline__ ElementBits without(unsigned pairs) const { return {first & ~pairs, second & ~pairs}; }
  __device__ __forceinline__ bool has_first(int pair) const { return (first >> static_cast<unsigned>(pair) & 1U) != 0; }
  __device__ __forceinline__ bool has_second(int pair) const {
    return (second >> static_cast<unsigned>(pair) & 1U) != 0;
  }

 private:
  /// The pairs of all groups that begin before `columns`.
  __device__ __forceinline__ static unsigned pairs_of(int columns) {
    const int groups = columns <= 0 ? 0 : columns >= CHUNK_COLUMNS ? CHUNK_COLUMNS / 8 : (columns + 7) / 8;
    return (1U << 2U * static_cast<unsigned>(groups)) - 1;
  }
};

/// A matrix of the size of D, at a thread's first element of a chunk.
template <class Element>
struct PlaceOfThread {
  Element* rows[2];

  __device__ __forceinline__ PlaceOfThread(Element* matrix, std::int64_t ld, std::int64_t first_row,
                                           std::int64_t first_col)
      : rows{matrix + first_row * ld + first_col, matrix + (first_row + 8) * ld + first_col} {}
  __device__ __forceinline__ Element* at(int pair) const { return rows[pair % 2] + pair / 2 * 8; }
};

/// Loads two floats; `source` is aligned to 8 bytes.
__device__ __forceinline__ float2 load_float2(const float* source) { return *reinterpret_cast<const float2*>(source); }

__device__ __forceinline__ void load_chunk(const PlaceOfThread<const float>& from, const ElementBits& bits,
                                           bool in_pairs, Chunk& numbers) {
  if (in_pairs) {
#pragma unroll
    for (int i = 0; i < PAIRS_OF_CHUNK; ++i) {
      float2 two{0.0F, 0.0F};
      if (bits.has_first(i)) {
        two = load_float2(from.at(i));
      }
      numbers[2 * i] = two.x;
      numbers[2 * i + 1] = two.y;
    }
  } else {
#pragma unroll
    for (int i = 0; i < PAIRS_OF_CHUNK; ++i) {
      numbers[2 * i] = bits.has_first(i) ? from.at(i)[0] : 0.0F;
      numbers[2 * i + 1] = bits.has_second(i) ? from.at(i)[1] : 0.0F;
    }
  }
}

__device__ __forceinline__ void store_chunk(const PlaceOfThread<float>& to, const ElementBits& bits, bool in_pairs,
                                            const Chunk& x) {
  if (in_pairs) {
#pragma unroll
    for (int i = 0; i < PAIRS_OF_CHUNK; ++i) {
      if (bits.has_first(i)) {
        // A plain store would be split: the other branch has stores to the same places.
        __stcg(reinterpret_cast<float2*>(to.at(i)), float2{x[2 * i], x[2 * i + 1]});
      }
    }
  } else {
#pragma unroll
    for (int i = 0; i < PAIRS_OF_CHUNK; ++i) {
      if (bits.has_first(i)) {
        to.at(i)[0] = x[2 * i];
      }
      if (bits.has_second(i)) {
        to.at(i)[1] = x[2 * i + 1];
      }
    }
  }
}

/// The numbers of a bias for a chunk's elements in one row, of which `columns` are inside.
using BiasOfChunk = float[PAIRS_OF_CHUNK];
__device__ __forceinline__ void load_bias(const float* from, int columns, bool in_pairs, BiasOfChunk& numbers) {
#pragma unroll
  for (int i = 0; i < PAIRS_OF_CHUNK; i += 2) {
    const int column = i / 2 * 8;
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

/// Writes the bits of a chunk's elements that pass ReLU. Elements without a bit in `bits` get a 0. `first_of_quad` is
/// the column of the first element of a thread's quad.
__device__ __forceinline__ void store_mask(const EpilogueProblem& p, std::int64_t first_row, std::int64_t first_of_quad,
                                           const ElementBits& bits, const Chunk& x) {
  const unsigned of_quad = threadIdx.x % 4;
  unsigned words[2] = {};
#pragma unroll
  for (int i = 0; i < PAIRS_OF_CHUNK; ++i) {
    const auto place = static_cast<unsigned>(i / 2 * 8);
    words[i % 2] |= bits.has_first(i) && passes_relu(x[2 * i]) ? 1U << place : 0U;
    words[i % 2] |= bits.has_second(i) && passes_relu(x[2 * i + 1]) ? 2U << place : 0U;
  }
#pragma unroll
  for (int row = 0; row < 2; ++row) {
    unsigned word = words[row] << 2 * of_quad;
    word |= __shfl_xor_sync(~0U, word, 1);
    word |= __shfl_xor_sync(~0U, word, 2);
    if (of_quad == 0 && first_row + 8 * row < p.m && first_of_quad < p.n) {
      *mask_word(p.epilogue, first_row + 8 * row, first_of_quad) = word;
    }
  }
}

/// The gradient of ReLU: elements of a chunk without a bit in the words of its two rows become 0.
__device__ __forceinline__ void apply_mask(const unsigned (&words)[2], Chunk& x) {
#pragma unroll
  for (int row = 0; row < 2; ++row) {
    const unsigned word = words[row] >> threadIdx.x % 4 * 2;
#pragma unroll
    for (int i = 0; i < PAIRS_OF_CHUNK; ++i) {
      float& element = x[i / 2 * 4 + row * 2 + i % 2];
      element = (word >> static_cast<unsigned>(i / 2 * 8 + i % 2) & 1U) != 0 ? element : 0.0F;
    }
  }
}

/// Registers have no addresses: each chunk's sums are copied by instructions of their own, to which a branch leads. All
/// that follows is there once, in a loop. Unrolled it would not stay in the caches of instructions beside the main
/// loop, and a warp would wait for each line of it.
template <int CHUNK = 0, int B_TILES>
__device__ __forceinline__ void copy_chunk(const float (&sums)[B_TILES][SUMS_OF_THREAD], int chunk, Chunk& x) {
  constexpr bool IS_LAST = CHUNK == B_TILES * CHUNKS - 1;
  if (IS_LAST || chunk == CHUNK) {
#pragma unroll
    for (int i = 0; i < 2 * PAIRS_OF_CHUNK; ++i) {
      x[i] = sums[CHUNK / CHUNKS][CHUNK % CHUNKS * (2 * PAIRS_OF_CHUNK) + i];
    }
  } else if constexpr (!IS_LAST) {
    copy_chunk<CHUNK + 1>(sums, chunk, x);
  }
}

/// A bit for each pair of a chunk whose sum is not finite.
__device__ __forceinline__ unsigned not_finite_of(const Chunk& x) {
  unsigned bits = 0;
#pragma unroll
  for (int i = 0; i < PAIRS_OF_CHUNK; ++i) {
    bits |= std::fabs(x[2 * i] + x[2 * i + 1]) < INFINITY ? 0U : 1U << static_cast<unsigned>(i);
  }
  return bits;
}

/// Starts reading the line that holds an address of global memory into the L2. Nothing waits for it. PTX ISA,
/// "prefetch".
__device__ __forceinline__ void prefetch_to_l2([[maybe_unused]] const void* address) {
#ifdef __CUDACC__
  asm volatile("prefetch.global.L2 [%0];" ::"l"(address));
#endif
}

/// Starts reading what a warp's epilogue reads of a matrix into the L2, by all lanes at the same time: its 16 rows of
/// the tile, from the thread's first element on.
template <int COLUMNS>
__device__ __forceinline__ void prefetch_rows_of_warp(const EpilogueProblem& p, const float* matrix, std::int64_t ld,
                                                      std::int64_t first_row, std::int64_t first_col) {
  constexpr int ROWS = 16;
  constexpr int FLOATS_OF_LINE = 32;
  constexpr int LINES = COLUMNS / FLOATS_OF_LINE;  // of a row
  const int lane = static_cast<int>(threadIdx.x) % WARP;
#pragma unroll
  for (int i = 0; i < ROWS * LINES; i += WARP) {
    const std::int64_t row = first_row - lane / 4 + (i + lane) / LINES;
    const std::int64_t column = first_col - lane % 4 * 2 + (i + lane) % LINES * FLOATS_OF_LINE;
    if (row < p.m && column < p.n) {
      prefetch_to_l2(matrix + row * ld + column);
    }
  }
}

/// What the epilogue of a chunk reads.
struct ReadByChunk {
  Chunk numbers;  ///< of C or of the argument of GELU
  BiasOfChunk bias;
  unsigned mask[2];
};

/// As OneGemm::store(), with the epilogue, for all tiles of B. What a chunk reads is loaded while the one before is
/// finished.
template <int B_TILES>
__device__ __forceinline__ void store_finished(const EpilogueProblem& p, std::int64_t first_row, std::int64_t first_col,
                                               const float (&sums)[B_TILES][SUMS_OF_THREAD]) {
  constexpr int COLUMNS = B_TILES * TILE_ROWS;
  const Scalars scalars = scalars_of(p);
  const GemmEpilogue& epilogue = p.epilogue;
  const std::int64_t rows = p.m - first_row;
  const auto columns = static_cast<int>(p.n - first_col < COLUMNS ? p.n - first_col : COLUMNS);
  const bool adds_c = scalars.beta != 0.0F;
  const bool reads_argument = epilogue.activation == SGEMM_ACTIVATION_GELU_GRADIENT;
  const bool reads_mask = epilogue.activation == SGEMM_ACTIVATION_RELU_GRADIENT;
  const auto argument = static_cast<const float*>(epilogue.aux);
  // The address is computed for each chunk again: there are no registers to keep it.
  const auto place = [&](auto* matrix, std::int64_t ld, int chunk) {
    const auto row = static_cast<std::int64_t>(keep_in_register(static_cast<unsigned>(first_row)));
    return PlaceOfThread<std::remove_pointer_t<decltype(matrix)>>(matrix, ld, row, first_col + chunk * CHUNK_COLUMNS);
  };
  const std::int64_t first_of_quad = first_col - threadIdx.x % 4 * 2;
  const bool has_bias_of_rows = epilogue.bias != nullptr && epilogue.bias_of_rows;
  const bool has_bias_of_columns = epilogue.bias != nullptr && !epilogue.bias_of_rows;
  float bias_of_rows[2] = {};
  if (has_bias_of_rows) {
    bias_of_rows[0] = rows > 0 ? epilogue.bias[first_row] : 0.0F;
    bias_of_rows[1] = rows > 8 ? epilogue.bias[first_row + 8] : 0.0F;
  }
  const auto load = [&](int chunk, ReadByChunk& read) {
    const int left = columns - chunk * CHUNK_COLUMNS;
    if (adds_c || reads_argument) {
      load_chunk(place(adds_c ? epilogue.c : argument, adds_c ? epilogue.ldc : epilogue.aux_ld, chunk),
                 ElementBits::inside(rows, left), p.in_pairs, read.numbers);
    }
    if (has_bias_of_columns) {
      load_bias(epilogue.bias + first_col + chunk * CHUNK_COLUMNS, left, p.in_pairs, read.bias);
    }
    if (reads_mask) {
#pragma unroll
      for (int row = 0; row < 2; ++row) {
        const std::int64_t column = first_of_quad + chunk * CHUNK_COLUMNS;
        const bool inside = rows > 8 * row && column < p.n;
        read.mask[row] = inside ? *mask_word(epilogue, first_row + 8 * row, column) : 0U;
      }
    }
  };
  if (adds_c) {
    prefetch_rows_of_warp<COLUMNS>(p, epilogue.c, epilogue.ldc, first_row, first_col);
  }
  if (reads_argument) {
    prefetch_rows_of_warp<COLUMNS>(p, argument, epilogue.aux_ld, first_row, first_col);
  }
  ReadByChunk next{};
  load(0, next);
  unsigned not_finite = 0;
#pragma unroll 1
  for (int chunk = 0; chunk < B_TILES * CHUNKS; ++chunk) {
    const ReadByChunk read = next;
    if (chunk + 1 < B_TILES * CHUNKS) {
      load(chunk + 1, next);
    }
    Chunk x;
    copy_chunk(sums, chunk, x);
    const unsigned left_out = not_finite_of(x);
    not_finite |= left_out << static_cast<unsigned>(chunk % CHUNKS * PAIRS_OF_CHUNK);
    const ElementBits inside = ElementBits::inside(rows, columns - chunk * CHUNK_COLUMNS);
    const ElementBits stored = inside.without(left_out);
#pragma unroll
    for (float& element : x) {
      element *= scalars.alpha;
    }
    if (adds_c) {
#pragma unroll
      for (int i = 0; i < 2 * PAIRS_OF_CHUNK; ++i) {
        x[i] += scalars.beta * read.numbers[i];
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
        x[i] += read.bias[i / 4 * 2 + i % 2];
      }
    }
    if (epilogue.activation == SGEMM_ACTIVATION_RELU) {
      if (epilogue.writes_mask()) {
        store_mask(p, first_row, first_of_quad + chunk * CHUNK_COLUMNS, stored, x);
      }
#pragma unroll
      for (float& element : x) {
        element = relu(element);
      }
    } else if (epilogue.activation == SGEMM_ACTIVATION_GELU) {
      if (epilogue.writes_argument()) {
        store_chunk(place(static_cast<float*>(epilogue.aux), epilogue.aux_ld, chunk), stored, p.in_pairs, x);
      }
#pragma unroll
      for (float& element : x) {
        element = gelu(element);
      }
    } else if (reads_mask) {
      apply_mask(read.mask, x);
    } else if (reads_argument) {
      Chunk arguments;
#pragma unroll
      for (int i = 0; i < 2 * PAIRS_OF_CHUNK; ++i) {
        arguments[i] = read.numbers[i];
      }
      if (adds_c) {
        load_chunk(place(argument, epilogue.aux_ld, chunk), inside, p.in_pairs, arguments);
      }
#pragma unroll
      for (int i = 0; i < 2 * PAIRS_OF_CHUNK; ++i) {
        x[i] *= gelu_derivative(arguments[i]);
      }
    }
    store_chunk(place(p.c, p.ldc, chunk), stored, p.in_pairs, x);
    if (chunk % CHUNKS == CHUNKS - 1) {
      defer(p, first_row, first_col + chunk / CHUNKS * TILE_ROWS, not_finite);
      not_finite = 0;
    }
  }
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

  static constexpr bool STORES_ALL_TILES = true;
  __device__ __forceinline__ static void store(const Problem& p, std::int64_t first_row, std::int64_t first_col,
                                               const float (&sums)[Shape::B_TILES][SUMS_OF_THREAD]) {
    store_finished(p, first_row, first_col, sums);
  }

  __device__ __forceinline__ static void after_last_tile(const Problem& p, const Schedule& schedule) {
    compute_deferred<OneGemmWithEpilogue>(p, schedule,
                                          [&](int a_tile, int b_tile) { compute_tile_and_finish(p, a_tile, b_tile); });
  }
};

}  // namespace sgemm::SGEMM_TARGET::split_product
