#include "judge/witness_kernels.hpp"

#include "base/counter_random.hpp"
#include "common/ceil_div.hpp"
#include "common/cuda_check.hpp"

#include <cuda_runtime.h>

#include <algorithm>

namespace sgemm {
namespace {

constexpr unsigned THREADS = 256;
constexpr unsigned WARP = 32;
constexpr std::int64_t MOST_BLOCKS = 4096;

dim3 grid_for(std::int64_t threads, int matrices) {
  const std::int64_t blocks = std::min(ceil_div<std::int64_t>(threads, THREADS), MOST_BLOCKS);
  return {static_cast<unsigned>(blocks), static_cast<unsigned>(matrices)};
}

__device__ float element(const CounterRandom& random, std::uint64_t index, Fill fill) {
  return fill == Fill::integers  ? integer(random, index)
         : fill == Fill::uniform ? uniform(random, index)
                                 : fabsf(uniform(random, index));
}

__global__ void fill_kernel(Matrices a, Matrices b, Seeds seeds, Fill fill) {
  const bool is_a = blockIdx.z == 0;
  float* const to = is_a ? a.data[blockIdx.y] : b.data[blockIdx.y];
  const CounterRandom random(seeds.of_launch[blockIdx.y], is_a ? RandomStream::matrix_a : RandomStream::matrix_b);
  const std::int64_t size = is_a ? a.rows * a.columns : b.rows * b.columns;
  const std::int64_t step = std::int64_t{gridDim.x} * THREADS;
  for (std::int64_t i = std::int64_t{blockIdx.x} * THREADS + threadIdx.x; i < size; i += step) {
    to[i] = element(random, static_cast<std::uint64_t>(i), fill);
  }
}

__device__ double from_lane(double value, unsigned distance) { return __shfl_xor_sync(0xFFFFFFFFU, value, distance); }

__device__ RowOfSigns from_lane(const RowOfSigns& row, unsigned distance) {
  return {from_lane(row.sum, distance), from_lane(row.squares, distance), from_lane(row.largest, distance)};
}

__device__ Expectation from_lane(const Expectation& row, unsigned distance) {
  return {from_lane(row.sum, distance), from_lane(row.weight, distance), from_lane(row.largest_of_a, distance),
          from_lane(row.largest_of_b, distance)};
}

template <class Row>
__device__ Row sum_of_warp(Row row) {
  for (unsigned distance = WARP / 2; distance > 0; distance /= 2) {
    row.merge(from_lane(row, distance));
  }
  return row;
}

/// Calls `work` with each row, a warp for each.
template <class Work>
__device__ void for_each_row(std::int64_t rows, const Work& work) {
  const std::int64_t step = std::int64_t{gridDim.x} * (THREADS / WARP);
  for (std::int64_t row = std::int64_t{blockIdx.x} * (THREADS / WARP) + threadIdx.x / WARP; row < rows; row += step) {
    work(row);
  }
}

/// `number(column)` is that of the row.
template <class Number>
__device__ RowOfSigns signed_row(const Number& number, std::int64_t columns, const CounterRandom& random) {
  constexpr std::int64_t SIGNS = 64;
  RowOfSigns sum;
  for (std::int64_t first = 0; first < columns; first += 2 * SIGNS) {
    std::int64_t column = first + threadIdx.x % WARP;
    for (std::int64_t word = first; word < first + 2 * SIGNS; word += SIGNS) {
      const std::uint64_t signs = signs_of_64(random, word);
      for (std::int64_t half = 0; half < 2; ++half, column += WARP) {
        if (column < columns) {
          sum.add(signs, column, number(column));
        }
      }
    }
  }
  return sum_of_warp(sum);
}

__global__ void factors_kernel(Matrices b, Seeds seeds, Fill fill, std::uint64_t signs, Factor* factors) {
  const CounterRandom random(signs, RandomStream::judge);
  const CounterRandom numbers(seeds.of_launch[blockIdx.y], RandomStream::matrix_b);
  for_each_row(b.rows, [&](std::int64_t row) {
    const auto number = [&](std::int64_t column) {
      return element(numbers, static_cast<std::uint64_t>(row * b.columns + column), fill);
    };
    const RowOfSigns sum = signed_row(number, b.columns, random);
    if (threadIdx.x % WARP == 0) {
      factors[blockIdx.y * b.rows + row] = {sum.sum, sqrt(sum.squares), sum.largest};
    }
  });
}

__global__ void signed_rows_kernel(Matrices c0, std::uint64_t signs, RowOfSigns* rows) {
  const CounterRandom random(signs, RandomStream::judge);
  for_each_row(c0.rows, [&](std::int64_t row) {
    const float* const numbers = c0.data[blockIdx.y] + row * c0.columns;
    const RowOfSigns sum = signed_row([&](std::int64_t column) { return numbers[column]; }, c0.columns, random);
    if (threadIdx.x % WARP == 0) {
      rows[blockIdx.y * c0.rows + row] = sum;
    }
  });
}

__global__ void expectations_kernel(Matrices a, Seeds seeds, Fill fill, const Factor* factors, Expectation* expected) {
  const Factor* const of_launch = factors + blockIdx.y * a.columns;
  const CounterRandom numbers(seeds.of_launch[blockIdx.y], RandomStream::matrix_a);
  for_each_row(a.rows, [&](std::int64_t row) {
    Expectation sum;
    for (std::int64_t k = threadIdx.x % WARP; k < a.columns; k += WARP) {
      sum.add(element(numbers, static_cast<std::uint64_t>(row * a.columns + k), fill), of_launch[k]);
    }
    sum = sum_of_warp(sum);
    if (threadIdx.x % WARP == 0) {
      expected[blockIdx.y * a.rows + row] = sum;
    }
  });
}

__global__ void look_kernel(Matrices c, std::uint64_t signs, const Expectation* expected, const RowOfSigns* c0,
                            RowRule rule, LookFindings* findings) {
  const CounterRandom random(signs, RandomStream::judge);
  for_each_row(c.rows, [&](std::int64_t row) {
    const float* const numbers = c.data[blockIdx.y] + row * c.columns;
    const RowOfSigns found = signed_row([&](std::int64_t column) { return numbers[column]; }, c.columns, random);
    if (threadIdx.x % WARP != 0) {
      return;
    }
    const Expectation& needed = expected[blockIdx.y * c.rows + row];
    const RowOfSigns before = c0 != nullptr ? c0[row] : RowOfSigns{};
    const double error = found.sum - rule.expected(needed, before);
    const double allowed = rule.allowed(needed, before);
    if (!(fabs(error) <= allowed) && atomicAdd(&findings->wrong, 1ULL) == 0) {
      findings->launch = static_cast<int>(blockIdx.y);
      findings->row = row;
      findings->error = error;
      findings->allowed = allowed;
    }
    atomicAdd(&findings->error_squares[blockIdx.y], error * error);
    atomicAdd(&findings->value_squares[blockIdx.y], found.sum * found.sum);
  });
}

__global__ void compare_kernel(Matrices matrices, Seeds seeds, RandomStream stream, Fill fill,
                               unsigned long long* changed) {
  const float* const found = matrices.data[blockIdx.y];
  const CounterRandom numbers(seeds.of_launch[blockIdx.y], stream);
  const std::int64_t size = matrices.rows * matrices.columns;
  const std::int64_t step = std::int64_t{gridDim.x} * THREADS;
  unsigned long long count = 0;
  for (std::int64_t i = std::int64_t{blockIdx.x} * THREADS + threadIdx.x; i < size; i += step) {
    const float number = element(numbers, static_cast<std::uint64_t>(i), fill);
    count += __float_as_uint(found[i]) != __float_as_uint(number) ? 1 : 0;
  }
  if (count > 0) {
    atomicAdd(changed, count);
  }
}

}  // namespace

void enqueue_fill(const Matrices& a, const Matrices& b, const Seeds& seeds, Fill fill, cudaStream_t stream) {
  constexpr std::int64_t EACH = 4;  // elements of a thread
  dim3 grid = grid_for(std::max(a.rows * a.columns, b.rows * b.columns) / EACH + 1, a.count);
  grid.z = 2;
  fill_kernel<<<grid, THREADS, 0, stream>>>(a, b, seeds, fill);
  CUDA_CHECK(cudaGetLastError());
}

void enqueue_factors(const Matrices& b, const Seeds& seeds, Fill fill, std::uint64_t signs, Factor* factors,
                     cudaStream_t stream) {
  factors_kernel<<<grid_for(b.rows * WARP, b.count), THREADS, 0, stream>>>(b, seeds, fill, signs, factors);
  CUDA_CHECK(cudaGetLastError());
}

void enqueue_signed_rows(const Matrices& c0, std::uint64_t signs, RowOfSigns* rows, cudaStream_t stream) {
  signed_rows_kernel<<<grid_for(c0.rows * WARP, c0.count), THREADS, 0, stream>>>(c0, signs, rows);
  CUDA_CHECK(cudaGetLastError());
}

void enqueue_expectations(const Matrices& a, const Seeds& seeds, Fill fill, const Factor* factors,
                          Expectation* expected, cudaStream_t stream) {
  expectations_kernel<<<grid_for(a.rows * WARP, a.count), THREADS, 0, stream>>>(a, seeds, fill, factors, expected);
  CUDA_CHECK(cudaGetLastError());
}

void enqueue_look(const Matrices& c, std::uint64_t signs, const Expectation* expected, const RowOfSigns* c0,
                  const RowRule& rule, LookFindings* findings, cudaStream_t stream) {
  look_kernel<<<grid_for(c.rows * WARP, c.count), THREADS, 0, stream>>>(c, signs, expected, c0, rule, findings);
  CUDA_CHECK(cudaGetLastError());
}

void enqueue_compare(const Matrices& a, const Matrices& b, const Seeds& seeds, Fill fill, LookFindings* findings,
                     cudaStream_t stream) {
  constexpr std::int64_t EACH = 4;  // elements of a thread
  const auto compare = [&](const Matrices& matrices, RandomStream of, unsigned long long* changed) {
    compare_kernel<<<grid_for(matrices.rows * matrices.columns / EACH + 1, matrices.count), THREADS, 0, stream>>>(
        matrices, seeds, of, fill, changed);
    CUDA_CHECK(cudaGetLastError());
  };
  compare(a, RandomStream::matrix_a, &findings->changed_in_a);
  compare(b, RandomStream::matrix_b, &findings->changed_in_b);
}

}  // namespace sgemm
