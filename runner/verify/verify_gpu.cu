// Verification against double precision on the GPU: the reference by cublasDgemm, the comparison by one pass over C.
// cublasDgemm uses FP64 tensor cores where there are any; they multiply and add in full double precision.

#include "common/ceil_div.hpp"
#include "common/cuda_check.hpp"
#include "device/cublas_handle.hpp"
#include "device/device_buffer.hpp"
#include "verify/verify.hpp"
#include "verify/verify_element.hpp"
#include "verify/verify_parts.hpp"

#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <cub/block/block_reduce.cuh>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

namespace sgemm {
namespace {

// A warp walks along a row, so that neighbouring columns are read together; the warps of a block take different rows.
constexpr int WARP = 32;
constexpr int WARPS = 8;
constexpr std::int64_t MOST_BLOCKS = 2048;  // enough to fill every GPU so far; each block takes many rows

/// The rows (or columns) from 0 to `count` - 1, or those on a list of that length.
struct Lines {
  const std::int64_t* list;  ///< in device memory; null for all
  std::int64_t count;

  __device__ std::int64_t operator[](std::int64_t i) const { return list == nullptr ? i : list[i]; }
};

/// Calls visit(row position, column position) for every element of a rows x columns matrix, spread over the grid.
template <class Visit>
__device__ void for_each_element(std::int64_t rows, std::int64_t columns, const Visit& visit) {
  const std::int64_t step = std::int64_t{WARPS} * gridDim.x;
  for (std::int64_t i = std::int64_t{WARPS} * blockIdx.x + threadIdx.y; i < rows; i += step) {
    for (std::int64_t j = threadIdx.x; j < columns; j += WARP) {
      visit(i, j);
    }
  }
}

unsigned blocks_for(std::int64_t rows) {
  return static_cast<unsigned>(std::min(ceil_div<std::int64_t>(rows, WARPS), MOST_BLOCKS));
}

enum class Sign { keep, drop };

/// A matrix in device memory, in elements from one of its rows and columns to the next.
struct Source {
  const float* first;
  std::int64_t row_step;
  std::int64_t column_step;

  /// The matrix whose rows lie `ld` elements apart in memory, or its transpose.
  Source(const float* first, std::int64_t ld, bool transposed = false)
      : first(first), row_step(transposed ? 1 : ld), column_step(transposed ? ld : 1) {}

  /// The part from that row and column on.
  Source from(std::int64_t row, std::int64_t column) const {
    Source part = *this;
    part.first += row * row_step + column * column_step;
    return part;
  }

  __device__ float at(std::int64_t row, std::int64_t column) const {
    return first[row * row_step + column * column_step];
  }
};

/// to = factor * from (or |factor * from|) at the crossings of `rows` and `columns`; `to` has no padding.
template <class T>
__global__ void copy_selected_kernel(T* to, Source from, Lines rows, Lines columns, double factor, Sign sign) {
  for_each_element(rows.count, columns.count, [&](std::int64_t i, std::int64_t j) {
    const double value = factor * from.at(rows[i], columns[j]);
    to[i * columns.count + j] = static_cast<T>(sign == Sign::keep ? value : fabs(value));
  });
}

template <class T>
void copy_selected(DeviceBuffer<T>& to, const Source& from, Lines rows, Lines columns, double factor, Sign sign) {
  copy_selected_kernel<<<blocks_for(rows.count), dim3(WARP, WARPS)>>>(to.data(), from, rows, columns, factor, sign);
  CUDA_CHECK(cudaGetLastError());
}

/// C += alpha * A * B, row-major without padding: C^T += alpha * B^T * A^T for cuBLAS, which is column-major.
void multiply_add(CublasHandle& cublas, std::int64_t m, std::int64_t n, std::int64_t k, double alpha,
                  const DeviceBuffer<double>& a, const DeviceBuffer<double>& b, DeviceBuffer<double>& c) {
  const double one = 1.0;
  cublas_check(cublasDgemm_64(cublas.on(nullptr), CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &alpha, b.data(), n, a.data(), k,
                              &one, c.data(), n),
               "cublasDgemm");
}

/// C += alpha * A * B in single precision, of operands that lie in memory in any way that a problem allows.
void multiply_add(CublasHandle& cublas, const Problem& p, DeviceBuffer<float>& c) {
  const float one = 1.0F;
  cublas_check(cublasSgemm_64(cublas.on(nullptr), cublas_op(p.transposed_b), cublas_op(p.transposed_a), p.n, p.m, p.k,
                              &p.alpha, p.b, p.ldb, p.a, p.lda, &one, c.data(), p.n),
               "cublasSgemm");
}

void multiply_add(CublasHandle& cublas, std::int64_t m, std::int64_t n, std::int64_t k, double alpha,
                  const DeviceBuffer<float>& a, const DeviceBuffer<float>& b, DeviceBuffer<float>& c) {
  multiply_add(cublas, {{m, n, k, static_cast<float>(alpha)}, a.data(), k, b.data(), n}, c);
}

/// Rows or columns as the host lists them, copied to the device.
class LineList {
 public:
  /// All below `count`.
  explicit LineList(std::int64_t count) : count_(count) {}
  explicit LineList(const std::vector<std::int64_t>& list)
      : list_(list.size()), count_(static_cast<std::int64_t>(list.size())) {
    list_.copy_from_host(list);
  }

  Lines lines() const { return {list_.data(), count_}; }

 private:
  DeviceBuffer<std::int64_t> list_;
  std::int64_t count_;
};

/// Raises the largest numbers of lines to those of a panel of magnitudes: `depth` elements of each line, which lie
/// `step` apart, and lines `stride` apart.
template <class T>
__global__ void raise_largest_kernel(T* largest, const T* magnitudes, std::int64_t lines, std::int64_t stride,
                                     std::int64_t depth, std::int64_t step) {
  const std::int64_t line = std::int64_t{blockDim.x} * blockIdx.x + threadIdx.x;
  if (line < lines) {
    T value = largest[line];
    for (std::int64_t k = 0; k < depth; ++k) {
      const T other = magnitudes[line * stride + k * step];
      value = other > value ? other : value;
    }
    largest[line] = value;
  }
}

template <class T>
void raise_largest(DeviceBuffer<T>& largest, const DeviceBuffer<T>& magnitudes, std::int64_t lines, std::int64_t stride,
                   std::int64_t depth, std::int64_t step) {
  constexpr unsigned THREADS = 64;  // few, so that a few thousand lines keep many multiprocessors busy
  raise_largest_kernel<<<static_cast<unsigned>(ceil_div<std::int64_t>(lines, THREADS)), THREADS>>>(
      largest.data(), magnitudes.data(), lines, stride, depth, step);
  CUDA_CHECK(cudaGetLastError());
}

/// Expected values for the elements where some rows and some columns of C cross, with the scale of their bounds.
template <class T>
struct Part {
  /// Holds beta * C0 and |beta * C0|; zeros where beta is 0, and C0 is not read.
  Part(const Problem& problem, LineList row_list, LineList column_list)
      : rows(std::move(row_list)),
        columns(std::move(column_list)),
        values(elements()),
        magnitudes(elements()),
        largest_of_rows(static_cast<std::size_t>(rows.lines().count)),
        largest_of_columns(static_cast<std::size_t>(columns.lines().count)) {
    CUDA_CHECK(cudaMemsetAsync(largest_of_rows.data(), 0, static_cast<std::size_t>(rows.lines().count) * sizeof(T)));
    CUDA_CHECK(
        cudaMemsetAsync(largest_of_columns.data(), 0, static_cast<std::size_t>(columns.lines().count) * sizeof(T)));
    if (problem.beta == 0.0F) {
      CUDA_CHECK(cudaMemsetAsync(values.data(), 0, elements() * sizeof(T)));
      CUDA_CHECK(cudaMemsetAsync(magnitudes.data(), 0, elements() * sizeof(T)));
      return;
    }
    const Source c0(problem.c, problem.ldc);
    copy_selected(values, c0, rows.lines(), columns.lines(), problem.beta, Sign::keep);
    copy_selected(magnitudes, c0, rows.lines(), columns.lines(), problem.beta, Sign::drop);
  }

  std::size_t elements() const {
    return static_cast<std::size_t>(rows.lines().count) * static_cast<std::size_t>(columns.lines().count);
  }

  LineList rows;
  LineList columns;
  DeviceBuffer<T> values;              ///< alpha * A * B + beta * C0, row-major
  DeviceBuffer<T> magnitudes;          ///< |alpha| |A| |B| + |beta| |C0|
  DeviceBuffer<T> largest_of_rows;     ///< of A, magnitudes
  DeviceBuffer<T> largest_of_columns;  ///< of B
};

/// Adds alpha * A * B to the values of `part` (Sign::keep), or |alpha| |A| |B| to its magnitudes (Sign::drop), with
/// which it finds the largest numbers.
template <class T>
void add_product(Part<T>& part, const Problem& problem, Sign sign, CublasHandle& cublas, std::size_t workspace_bytes) {
  const Lines rows = part.rows.lines();
  const Lines columns = part.columns.lines();
  const std::int64_t depth = panel_depth(problem.k, rows.count + columns.count, sizeof(T), workspace_bytes);
  DeviceBuffer<T> a(static_cast<std::size_t>(rows.count) * static_cast<std::size_t>(depth));
  DeviceBuffer<T> b(static_cast<std::size_t>(columns.count) * static_cast<std::size_t>(depth));
  const double alpha = sign == Sign::keep ? problem.alpha : std::fabs(problem.alpha);
  DeviceBuffer<T>& sum = sign == Sign::keep ? part.values : part.magnitudes;
  const Source all_a(problem.a, problem.lda, problem.transposed_a);
  const Source all_b(problem.b, problem.ldb, problem.transposed_b);
  for (std::int64_t start = 0; start < problem.k; start += depth) {
    const std::int64_t length = std::min(depth, problem.k - start);
    const Lines panel{nullptr, length};
    copy_selected(a, all_a.from(0, start), rows, panel, 1.0, sign);
    copy_selected(b, all_b.from(start, 0), panel, columns, 1.0, sign);
    multiply_add(cublas, rows.count, columns.count, length, alpha, a, b, sum);
    if (sign == Sign::drop) {
      raise_largest(part.largest_of_rows, a, rows.count, length, length, 1);
      raise_largest(part.largest_of_columns, b, columns.count, 1, length, columns.count);
    }
  }
}

struct Merge {
  __device__ Tally operator()(Tally left, const Tally& right) const {
    left.merge(right);
    return left;
  }
};

/// What a block compares with: the members of Part of the same names.
template <class T>
struct Expected {
  const T* values;
  const T* magnitudes;
  const T* largest_of_rows;
  const T* largest_of_columns;

  __device__ Terms terms(std::int64_t element, std::int64_t i, std::int64_t j) const {
    return {static_cast<double>(magnitudes[element]),
            static_cast<double>(largest_of_rows[i]) * static_cast<double>(largest_of_columns[j])};
  }
};

/// Compares C with the expected values. Each block writes its findings.
template <class T>
__global__ void compare_kernel(const float* c, std::int64_t ldc, std::int64_t n, Lines rows, Lines columns,
                               Expected<T> expected, ErrorBound bound, Tally* found) {
  Tally tally;
  for_each_element(rows.count, columns.count, [&](std::int64_t i, std::int64_t j) {
    const std::int64_t row = rows[i];
    const std::int64_t column = columns[j];
    const std::int64_t element = i * columns.count + j;
    const double got = c[row * ldc + column];
    const Terms terms = expected.terms(element, i, j);
    if constexpr (std::is_same_v<T, double>) {
      tally.add(got, expected.values[element], terms, bound, row * n + column);
    } else {  // cuBLAS's result has errors of its own, and magnitudes in single precision may have underflowed
      tally.check(got, expected.values[element], bound.of(terms), row * n + column);
    }
  });
  using BlockReduce = cub::BlockReduce<Tally, WARP, cub::BLOCK_REDUCE_WARP_REDUCTIONS, WARPS>;
  __shared__ typename BlockReduce::TempStorage storage;
  const Tally total = BlockReduce(storage).Reduce(tally, Merge{});
  if (threadIdx.x == 0 && threadIdx.y == 0) {
    found[blockIdx.x] = total;
  }
}

template <class T>
Tally compare(const Part<T>& part, const float* c, std::int64_t ldc, std::int64_t n, const ErrorBound& bound) {
  const Lines rows = part.rows.lines();
  const unsigned blocks = blocks_for(rows.count);
  DeviceBuffer<Tally> found(blocks);
  const Expected<T> expected{part.values.data(), part.magnitudes.data(), part.largest_of_rows.data(),
                             part.largest_of_columns.data()};
  compare_kernel<<<blocks, dim3(WARP, WARPS)>>>(c, ldc, n, rows, part.columns.lines(), expected, bound, found.data());
  CUDA_CHECK(cudaGetLastError());
  std::vector<Tally> by_block;
  found.copy_to_host(by_block);
  Tally total;
  for (const Tally& tally : by_block) {
    total.merge(tally);
  }
  return total;
}

class GpuReference : public ProductReference {
 public:
  GpuReference(const Problem& problem, std::uint64_t seed, const Coverage& coverage, Roundings roundings)
      : ProductReference(problem, coverage, roundings) {
    const std::shared_ptr<CublasHandle> cublas = CublasHandle::shared();
    if (full_) {
      add_exact(problem, LineList(problem.m), LineList(problem.n), *cublas, coverage.workspace_bytes);
    } else {
      const Samples samples = make_samples(problem, coverage.band, seed);
      add_exact(problem, LineList(samples.rows), LineList(problem.n), *cublas, coverage.workspace_bytes);
      add_exact(problem, LineList(problem.m), LineList(samples.columns), *cublas, coverage.workspace_bytes);
      add_cublas(problem, *cublas, coverage.workspace_bytes);
    }
    CUDA_CHECK(cudaDeviceSynchronize());
  }

  Verdict check(const float* c, std::int64_t ldc, AccuracyClass accuracy) const override {
    Tally tally = compare_exact(c, ldc, accuracy);
    if (cublas_) {
      tally.merge(compare(*cublas_, c, ldc, n_, bound_to_cublas(accuracy)));
    }
    return to_verdict(tally, n_, full_);
  }

 private:
  void add_exact(const Problem& problem, LineList rows, LineList columns, CublasHandle& cublas,
                 std::size_t workspace_bytes) {
    exact_.emplace_back(problem, std::move(rows), std::move(columns));
    if (!reads_no_operands(problem)) {
      add_product(exact_.back(), problem, Sign::keep, cublas, workspace_bytes);
      add_product(exact_.back(), problem, Sign::drop, cublas, workspace_bytes);
    }
  }

  /// cuBLAS's single-precision result for every element, itself checked against the samples.
  void add_cublas(const Problem& problem, CublasHandle& cublas, std::size_t workspace_bytes) {
    cublas_.emplace(problem, LineList(problem.m), LineList(problem.n));
    if (!reads_no_operands(problem)) {
      multiply_add(cublas, problem, cublas_->values);
      add_product(*cublas_, problem, Sign::drop, cublas, workspace_bytes);
    }
    const Verdict own = to_verdict(compare_exact(cublas_->values.data(), n_, AccuracyClass::fp32), n_, full_);
    if (!own.correct()) {
      throw std::runtime_error("cublasSgemm is outside its own error bound and can not serve as a reference: " +
                               own.describe());
    }
  }

  Tally compare_exact(const float* c, std::int64_t ldc, AccuracyClass accuracy) const {
    Tally tally;
    for (const Part<double>& part : exact_) {
      tally.merge(compare(part, c, ldc, n_, bound(accuracy)));
    }
    return tally;
  }

  /// The sum of the kernel's bound and cuBLAS's. The magnitudes are single-precision sums as well, and may have come
  /// out too small by a relative error of their own.
  ErrorBound bound_to_cublas(AccuracyClass accuracy) const {
    const ErrorBound kernel = bound(accuracy);
    const ErrorBound cublas = bound(AccuracyClass::fp32);
    return {(kernel.factor + cublas.factor) * (1.0 + 2.0 * cublas.factor), kernel.floor + cublas.floor,
            kernel.largest_factor};
  }

  std::vector<Part<double>> exact_;
  std::optional<Part<float>> cublas_;
};

}  // namespace

std::unique_ptr<Reference> compute_gpu_reference(const Problem& problem, std::uint64_t seed, const Coverage& coverage,
                                                 Roundings roundings) {
  return std::make_unique<GpuReference>(problem, seed, coverage, roundings);
}

}  // namespace sgemm
