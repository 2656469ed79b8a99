#pragma once

// The store of chapter 09 with an epilogue. As in epilogue_store.cuh, one kernel has all epilogues. A thread finishes
// a quarter of its rows at a time, in a loop that is not unrolled: the sums of the next rows move up in the registers,
// which takes a few instructions and makes the code a quarter as long. Where each block has one tile, nothing of this
// code has been fetched before, so that its length counts.

#include "common/keep_in_register.cuh"
#include "common/target.hpp"
#include "common/vector_access.cuh"
#include "engine/warp_specialized.cuh"
#include "epilogue_elements.cuh"
#include "gemm_epilogue.hpp"
#include "gemm_problem.hpp"

#include <cuda_runtime.h>

#include <cstdint>

namespace sgemm {
inline namespace SGEMM_TARGET {
namespace warp_specialized {

/// The elements of D that a thread has in one row: TN of them, in groups of four that lie 4 * LANES_N columns apart.
struct RowOfThread {
  std::int64_t row;
  std::int64_t first_col;
  bool inside;  ///< of D
};

/// Which accesses a matrix allows, and how many columns it has from a thread's first element on.
struct ColumnsOfThread {
  std::int64_t left;
  bool by_four;  ///< rows of all matrices, and a bias of columns, split into aligned groups of four
};

__device__ __forceinline__ void load_row(const float* from, bool inside, const ColumnsOfThread& columns,
                                         float (&numbers)[TN]) {
#pragma unroll
  for (int j = 0; j < TN; j += 4) {
    const int at = j * LANES_N;
    if (columns.by_four) {
      const float4 four = load_float4_or_zero(from + at, inside && at < columns.left);
      numbers[j] = four.x;
      numbers[j + 1] = four.y;
      numbers[j + 2] = four.z;
      numbers[j + 3] = four.w;
    } else {
#pragma unroll
      for (int jj = 0; jj < 4; ++jj) {
        numbers[j + jj] = inside && at + jj < columns.left ? from[at + jj] : 0.0F;
      }
    }
  }
}

__device__ __forceinline__ void store_row(float* to, bool inside, const ColumnsOfThread& columns,
                                          const float (&x)[TN]) {
#pragma unroll
  for (int j = 0; j < TN; j += 4) {
    const int at = j * LANES_N;
    if (columns.by_four) {
      if (inside && at < columns.left) {
        // A plain store would be split: the other branch has stores to the same places.
        __stwt(reinterpret_cast<float4*>(to + at), float4{x[j], x[j + 1], x[j + 2], x[j + 3]});
      }
    } else {
#pragma unroll
      for (int jj = 0; jj < 4; ++jj) {
        if (inside && at + jj < columns.left) {
          to[at + jj] = x[j + jj];
        }
      }
    }
  }
}

// A word of a mask has 32 columns of a row: a group of four of each of LANES_N lanes.
static_assert(4 * LANES_N == 32);

/// Writes the bits of the elements of a row that pass ReLU, by all lanes of a warp.
__device__ __forceinline__ void store_mask(const GemmEpilogue& epilogue, const RowOfThread& at,
                                           const ColumnsOfThread& columns, const float (&x)[TN]) {
  const unsigned lane = threadIdx.x % LANES_N;
#pragma unroll
  for (int j = 0; j < TN; j += 4) {
    unsigned word = 0;
#pragma unroll
    for (int jj = 0; jj < 4; ++jj) {
      const bool has_bit = j * LANES_N + jj < columns.left && passes_relu(x[j + jj]);
      word |= has_bit ? 1U << static_cast<unsigned>(jj) : 0U;
    }
    word <<= 4 * lane;
    word |= __shfl_xor_sync(~0U, word, 1);
    word |= __shfl_xor_sync(~0U, word, 2);
    word |= __shfl_xor_sync(~0U, word, 4);
    if (lane == 0 && at.inside && j * LANES_N < columns.left) {
      *mask_word(epilogue, at.row, at.first_col + j * LANES_N) = word;
    }
  }
}

/// The gradient of ReLU: elements of a row without a bit in the mask become 0.
__device__ __forceinline__ void apply_mask(const GemmEpilogue& epilogue, const RowOfThread& at,
                                           const ColumnsOfThread& columns, float (&x)[TN]) {
  const unsigned lane = threadIdx.x % LANES_N;
#pragma unroll
  for (int j = 0; j < TN; j += 4) {
    const unsigned word =
        at.inside && j * LANES_N < columns.left ? *mask_word(epilogue, at.row, at.first_col + j * LANES_N) : 0U;
#pragma unroll
    for (int jj = 0; jj < 4; ++jj) {
      x[j + jj] = (word >> 4 * lane >> static_cast<unsigned>(jj) & 1U) != 0 ? x[j + jj] : 0.0F;
    }
  }
}

/// D = f(alpha * sums + beta * C + bias) for the rows that a slice finishes. `row` and `col` are the place of the
/// thread's first element in D.
template <class Shape>
__device__ __forceinline__ void store_finished(const GemmProblem& p, const GemmEpilogue& epilogue, bool by_four,
                                               std::int64_t row, std::int64_t col, int slice,
                                               const float (&sums)[FINISHED_ROWS<Shape>][TN]) {
  constexpr int ROWS = FINISHED_ROWS<Shape>;
  constexpr int CHUNK = ROWS < 4 ? 1 : ROWS / 4;
  const ColumnsOfThread columns{p.n - col, by_four};
  float bias_of_columns[TN] = {};
  if (epilogue.bias != nullptr && !epilogue.bias_of_rows) {
    load_row(epilogue.bias + col, true, columns, bias_of_columns);
  }
  float rest[ROWS][TN];
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
#pragma unroll
    for (int j = 0; j < TN; ++j) {
      rest[r][j] = sums[r][j];
    }
  }
#pragma unroll 1
  for (int first = 0; first < ROWS; first += CHUNK) {
    RowOfThread rows[CHUNK];
    float x[CHUNK][TN];
#pragma unroll
    for (int r = 0; r < CHUNK; ++r) {
      const int i = finished_row<Shape>(slice, first + r);
      rows[r].row = row + i / 4 * (4 * LANES_M) + i % 4;
      rows[r].first_col = col;
      rows[r].inside = rows[r].row < p.m;
#pragma unroll
      for (int j = 0; j < TN; ++j) {
        x[r][j] = p.alpha * rest[r][j];
      }
    }
    if (p.beta != 0.0F) {
      float old[CHUNK][TN];
#pragma unroll
      for (int r = 0; r < CHUNK; ++r) {
        load_row(epilogue.c + rows[r].row * epilogue.ldc + col, rows[r].inside, columns, old[r]);
      }
#pragma unroll
      for (int r = 0; r < CHUNK; ++r) {
#pragma unroll
        for (int j = 0; j < TN; ++j) {
          x[r][j] += p.beta * old[r][j];
        }
      }
    }
    if (epilogue.bias != nullptr) {
#pragma unroll
      for (int r = 0; r < CHUNK; ++r) {
        const float of_row = epilogue.bias_of_rows && rows[r].inside ? epilogue.bias[rows[r].row] : 0.0F;
#pragma unroll
        for (int j = 0; j < TN; ++j) {
          x[r][j] += epilogue.bias_of_rows ? of_row : bias_of_columns[j];
        }
      }
    }
    if (epilogue.writes_argument()) {
#pragma unroll
      for (int r = 0; r < CHUNK; ++r) {
        store_row(argument_at(epilogue, rows[r].row, col), rows[r].inside, columns, x[r]);
      }
    }
    if (epilogue.activation == SGEMM_ACTIVATION_RELU) {
#pragma unroll
      for (int r = 0; r < CHUNK; ++r) {
        if (epilogue.writes_mask()) {
          store_mask(epilogue, rows[r], columns, x[r]);
        }
#pragma unroll
        for (float& element : x[r]) {
          element = relu(element);
        }
      }
    } else if (epilogue.activation == SGEMM_ACTIVATION_GELU) {
#pragma unroll
      for (int r = 0; r < CHUNK; ++r) {
#pragma unroll
        for (float& element : x[r]) {
          element = gelu(element);
        }
      }
    } else if (epilogue.activation == SGEMM_ACTIVATION_RELU_GRADIENT) {
#pragma unroll
      for (int r = 0; r < CHUNK; ++r) {
        apply_mask(epilogue, rows[r], columns, x[r]);
      }
    } else if (epilogue.activation == SGEMM_ACTIVATION_GELU_GRADIENT) {
      float arguments[CHUNK][TN];
#pragma unroll
      for (int r = 0; r < CHUNK; ++r) {
        load_row(argument_at(epilogue, rows[r].row, col), rows[r].inside, columns, arguments[r]);
      }
#pragma unroll
      for (int r = 0; r < CHUNK; ++r) {
#pragma unroll
        for (int j = 0; j < TN; ++j) {
          x[r][j] *= gelu_derivative(arguments[r][j]);
        }
      }
    }
#pragma unroll
    for (int r = 0; r < CHUNK; ++r) {
      store_row(p.c + rows[r].row * p.ldc + col, rows[r].inside, columns, x[r]);
    }
#pragma unroll
    for (int r = 0; r + CHUNK < ROWS; ++r) {
#pragma unroll
      for (int j = 0; j < TN; ++j) {
        rest[r][j] = rest[r + CHUNK][j];
      }
    }
  }
}

}  // namespace warp_specialized
}  // namespace SGEMM_TARGET
}  // namespace sgemm
