#pragma once

// Predictions of the time on the current device, in microseconds, by which the library chooses among its algorithms and
// cuBLAS. Their constants are those of the board (board.hpp). The ones of an H200 were fitted to shapes at random that
// choice_benchmark measured, to library_shapes.csv and, for chapter 09, to shapes.json: docs/lab/libsgemm.md.

#include "board.hpp"

#include <cstdint>

namespace sgemm {

/// The shape of a product, and how many multiprocessors may work on it.
struct PredictedShape {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  int multiprocessors = 0;
  int layout = 0;  ///< of CublasTable
};

/// A time that cuBLAS SGEMM needs at least, for `batch_count` products in one call: the best division into tiles and
/// parts of k, each multiprocessor computing one tile after the other. It is not the expected time: at some sizes
/// cuBLAS takes a fifth more. "Never slower than cuBLAS" wants an estimate that errs on this side.
double cublas_microseconds(const CublasRates& rates, const PredictedShape& shape, std::int64_t batch_count);

/// The same for a board. Where it has measured times of cuBLAS, a product takes as much longer than that as its
/// neighbours among them do, those that do so least above all.
double cublas_microseconds(const BoardModel& board, const PredictedShape& shape, std::int64_t batch_count);

/// The same as chapter 09's time is compared with. That is predicted within some 2 %, so that this time errs less on
/// the safe side: in most layouts cuBLAS takes longer than it needs at least (docs/lab/libsgemm.md).
double cublas_microseconds_beside_every_shape(const BoardModel& board, const PredictedShape& shape,
                                              std::int64_t batch_count);

/// The work of all kernels of an algorithm for a batch.
struct Cost {
  Method method = Method::every_shape;
  double launches = 1.0;
  double cycles = 0.0;    ///< of the busiest multiprocessor: by the chapters' cost models
  double bytes = 0.0;     ///< that are read and written before the products
  double other = 0.0;     ///< microseconds
  double single = 0.0;    ///< bytes of C whose floats are stored one by one
  double streamed = 0.0;  ///< bytes that are read from memory during the products, which last at least as long
};

/// Of a launch of chapter 09's kernels. `lowers_flags`: a memset goes before it.
Cost every_shape_cost(double cycles, bool lowers_flags);

/// What the work of chapters 11, 12 and 15 differs in.
struct Splitting {
  Method method;
  double bytes;           ///< that are read and written for each number of A and B before the product
  double terms;           ///< of them the bytes that the product reads
  double other = 0.0;     ///< microseconds of each launch besides those that a board has for its method
  double mn_major = 0.0;  ///< bytes more for each number that whole lines have across k
};
constexpr Splitting BF16X6_SPLITTING{Method::bf16x6, 4 + 6, 6};
constexpr Splitting TALL_BF16X6_SPLITTING{Method::tall_bf16x6, 4 + 6, 6, 4};
constexpr Splitting FP16X3_SPLITTING{Method::fp16x3, 4 + 4, 4};
constexpr Splitting LINES_SPLITTING{Method::fp16x3, 4 + 4 + 0.5, 4, 20, 3.5};
constexpr Splitting REPRODUCIBLE_SPLITTING{Method::reproducible, 4 + 3, 3, 7.5};

/// Of all kernels of chapter 11, 12 or 15 for `batch_count` products in so many launches. The prediction of
/// split_launch.cuh says that multiplying takes `cycles` in all.
Cost split_cost(const Splitting& splitting, const PredictedShape& shape, std::int64_t batch_count,
                std::int64_t launches, double cycles);

/// The same where so many numbers of A and B are packed. They are not split, and the product takes at least the time in
/// which memory gives their terms.
Cost packed_cost(Cost cost, const Splitting& splitting, double packed);

double microseconds(const BoardModel& board, const Cost& cost);

/// Of the reproducible class's kernels for tall products, fitted to an H200. One reads the bytes of the long operand by
/// so many blocks, and the other one reads them again and multiplies for so many cycles of the busiest multiprocessor.
Cost thin_cost(double bytes, double blocks, double cycles, std::int64_t launches);

/// The time that `passes` over tiles of C take in one call, which compute elements without tensor cores.
double recomputed_microseconds(const PredictedShape& shape, double passes);

}  // namespace sgemm
