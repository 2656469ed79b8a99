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
    const unsigned groups = columns <= 0 ? 0 : columns > TILE_ROWS ? COLUMN_GROUPS : static_cast<unsigned>(columns + 7) / 8;
    return groups >= COLUMN_GROUPS ? ~0U : (1U << 2 * groups) - 1;
  }
};

/// A thread's elements of one of its two rows, from a matrix whose element that belongs to the first one is at `from`.
__device__ __forceinline__ void load_row(const float* from, int row, const ElementBits& bits, bool in_pairs,
                                         float (&numbers)[2 * COLUMN_GROUPS]) {
  if (in_pairs) {
#pragma unroll
    for (int group = 0; group < COLUMN_GROUPS; ++group) {
      float2 two{0.0F, 0.0F};
      if (bits.has_first(2 * group + row)) {
        two = load_float2(from + 8 * group);
      }
      numbers[2 * group] = two.x;
      numbers[2 * group + 1] = two.y;
    }
  } else {
#pragma unroll
    for (int group = 0; group < COLUMN_GROUPS; ++group) {
      numbers[2 * group] = bits.has_first(2 * group + row) ? from[8 * group] : 0.0F;
      numbers[2 * group + 1] = bits.has_second(2 * group + row) ? from[8 * group + 1] : 0.0F;
    }
  }
}

/// A thread's elements of both of its rows become those of a matrix.
__device__ __forceinline__ void store_rows(float* to, std::int64_t ld, const ElementBits& bits, bool in_pairs,
                                           const float (&x)[SUMS_OF_THREAD]) {
  float* const rows[2] = {to, to + 8 * ld};
  if (in_pairs) {
#pragma unroll
    for (int pair = 0; pair < SUMS_OF_THREAD / 2; ++pair) {
      if (bits.has_first(pair)) {
        *reinterpret_cast<float2*>(rows[pair % 2] + pair / 2 * 8) = float2{x[2 * pair], x[2 * pair + 1]};
      }
    }
  } else {
#pragma unroll
    for (int pair = 0; pair < SUMS_OF_THREAD / 2; ++pair) {
      float* const at = rows[pair % 2] + pair / 2 * 8;
      if (bits.has_first(pair)) {
        at[0] = x[2 * pair];
      }
      if (bits.has_second(pair)) {
        at[1] = x[2 * pair + 1];
      }
    }
  }
}

/// x += beta * C.
__device__ __forceinline__ void add_scaled_c(const GemmEpilogue& epilogue, std::int64_t first_row,
                                             std::int64_t first_col, const ElementBits& bits, bool in_pairs, float beta,
                                             float (&x)[SUMS_OF_THREAD]) {
#pragma unroll
  for (int row = 0; row < 2; ++row) {
    float old[2 * COLUMN_GROUPS];
    load_row(epilogue.c + (first_row + 8 * row) * epilogue.ldc + first_col, row, bits, in_pairs, old);
#pragma unroll
    for (int i = 0; i < 2 * COLUMN_GROUPS; ++i) {
      x[i / 2 * 4 + row * 2 + i % 2] += beta * old[i];
    }
  }
}

__device__ __forceinline__ void add_bias(const GemmEpilogue& epilogue, std::int64_t first_row, std::int64_t first_col,
                                         const EpilogueProblem& p, float (&x)[SUMS_OF_THREAD]) {
  if (epilogue.bias_of_rows) {
#pragma unroll
    for (int row = 0; row < 2; ++row) {
      const float bias = first_row + 8 * row < p.m ? epilogue.bias[first_row + 8 * row] : 0.0F;
#pragma unroll
      for (int i = 0; i < 2 * COLUMN_GROUPS; ++i) {
        x[i / 2 * 4 + row * 2 + i % 2] += bias;
      }
    }
  } else {
    float bias[2 * COLUMN_GROUPS];
    load_row(epilogue.bias + first_col, 0, ElementBits::inside(1, p.n - first_col), p.in_pairs, bias);
#pragma unroll
    for (int value = 0; value < SUMS_OF_THREAD; ++value) {
      x[value] += bias[value / 4 * 2 + value % 2];
    }
  }
}

/// The gradient of GELU: x *= GELU'(argument).
__device__ __forceinline__ void multiply_by_gelu_derivative(const GemmEpilogue& epilogue, std::int64_t first_row,
                                                            std::int64_t first_col, const ElementBits& bits,
                                                            bool in_pairs, float (&x)[SUMS_OF_THREAD]) {
#pragma unroll
  for (int row = 0; row < 2; ++row) {
    float arguments[2 * COLUMN_GROUPS];
    load_row(argument_at(epilogue, first_row + 8 * row, first_col), row, bits, in_pairs, arguments);
#pragma unroll
    for (int i = 0; i < 2 * COLUMN_GROUPS; ++i) {
      x[i / 2 * 4 + row * 2 + i % 2] *= gelu_derivative(arguments[i]);
    }
  }
}

// A word of a mask has 32 columns of a row: four groups, which the four threads of a quad share. A tile of C has four
// words of each row, whole ones, because leading dimensions are multiples of 128 bits.
constexpr int MASK_WORDS = TILE_ROWS / 32;

/// The column of the quad's first element.
__device__ __forceinline__ std::int64_t first_column_of_quad(std::int64_t first_col) {
  return first_col - threadIdx.x % 4 * 2;
}

/// Writes the bits of the elements that pass ReLU. Elements without a bit in `bits` get a 0.
__device__ __forceinline__ void store_mask(const EpilogueProblem& p, std::int64_t first_row, std::int64_t first_col,
                                           const ElementBits& bits, const float (&x)[SUMS_OF_THREAD]) {
  const unsigned of_quad = threadIdx.x % 4;
#pragma unroll
  for (int row = 0; row < 2; ++row) {
    unsigned own = 0;
#pragma unroll
    for (int index = 0; index < MASK_WORDS; ++index) {
      unsigned word = 0;
#pragma unroll
      for (int group = 0; group < 4; ++group) {
        const int pair = (index * 4 + group) * 2 + row;
        word |= bits.has_first(pair) && passes_relu(x[2 * pair]) ? 1U << static_cast<unsigned>(group * 8) : 0U;
        word |= bits.has_second(pair) && passes_relu(x[2 * pair + 1]) ? 2U << static_cast<unsigned>(group * 8) : 0U;
      }
      word <<= 2 * of_quad;
      word |= __shfl_xor_sync(~0U, word, 1);
      word |= __shfl_xor_sync(~0U, word, 2);
      own = of_quad == static_cast<unsigned>(index) ? word : own;
    }
    const std::int64_t column = first_column_of_quad(first_col) + of_quad * 32;
    if (first_row + 8 * row < p.m && column < p.n) {
      *mask_word(p.epilogue, first_row + 8 * row, column) = own;
    }
  }
}

/// The gradient of ReLU: elements without a bit in the mask become 0.
__device__ __forceinline__ void apply_mask(const EpilogueProblem& p, std::int64_t first_row, std::int64_t first_col,
                                           float (&x)[SUMS_OF_THREAD]) {
#pragma unroll
  for (int row = 0; row < 2; ++row) {
#pragma unroll
    for (int index = 0; index < MASK_WORDS; ++index) {
      const std::int64_t column = first_column_of_quad(first_col) + index * 32;
      const bool inside = first_row + 8 * row < p.m && column < p.n;
      const unsigned word =
          (inside ? *mask_word(p.epilogue, first_row + 8 * row, column) : 0U) >> threadIdx.x % 4 * 2;
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        float& element = x[(index * 4 + i / 2) * 4 + row * 2 + i % 2];
        element = (word >> static_cast<unsigned>(i / 2 * 8 + i % 2) & 1U) != 0 ? element : 0.0F;
      }
    }
  }
}

/// As store_sums(), with the epilogue.
__device__ __forceinline__ void store_finished(const EpilogueProblem& p, std::int64_t first_row, std::int64_t first_col,
                                               const float (&sums)[SUMS_OF_THREAD]) {
  const Scalars scalars = scalars_of(p);
  const GemmEpilogue& epilogue = p.epilogue;
  const ElementBits inside = ElementBits::inside(p.m - first_row, p.n - first_col);
  float x[SUMS_OF_THREAD];
  unsigned not_finite = 0;
#pragma unroll
  for (int pair = 0; pair < SUMS_OF_THREAD / 2; ++pair) {
    if (!(std::fabs(sums[2 * pair] + sums[2 * pair + 1]) < INFINITY)) {
      not_finite |= 1U << static_cast<unsigned>(pair);
    }
    x[2 * pair] = scalars.alpha * sums[2 * pair];
    x[2 * pair + 1] = scalars.alpha * sums[2 * pair + 1];
  }
  const ElementBits stored = inside.without(not_finite);
  if (scalars.beta != 0.0F) {
    add_scaled_c(epilogue, first_row, first_col, inside, p.in_pairs, scalars.beta, x);
  }
  if (epilogue.bias != nullptr) {
    add_bias(epilogue, first_row, first_col, p, x);
  }
  if (epilogue.writes_argument()) {
    store_rows(argument_at(epilogue, first_row, first_col), epilogue.aux_ld, stored, p.in_pairs, x);
  }
  if (epilogue.writes_mask()) {
    store_mask(p, first_row, first_col, stored, x);
  }
  if (epilogue.activation == SGEMM_ACTIVATION_RELU) {
#pragma unroll
    for (float& element : x) {
      element = relu(element);
    }
  } else if (epilogue.activation == SGEMM_ACTIVATION_GELU) {
#pragma unroll
    for (float& element : x) {
      element = gelu(element);
    }
  } else if (epilogue.activation == SGEMM_ACTIVATION_RELU_GRADIENT) {
    apply_mask(p, first_row, first_col, x);
  } else if (epilogue.activation == SGEMM_ACTIVATION_GELU_GRADIENT) {
    multiply_by_gelu_derivative(epilogue, first_row, first_col, inside, p.in_pairs, x);
  }
  store_rows(p.c + first_row * p.ldc + first_col, p.ldc, stored, p.in_pairs, x);
  defer(p, first_row, first_col, not_finite);
}

/// Finishes elements of a tile of D that hold alpha * sum + beta * C: those that this thread has noted. Masks have zeros
/// in their places.
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
    compute_deferred<OneGemmWithEpilogue>(
        p, schedule, [&](int a_tile, int b_tile) { compute_tile_and_finish(p, a_tile, b_tile); });
  }
};

}  // namespace split_product
}  // namespace SGEMM_TARGET
}  // namespace sgemm
