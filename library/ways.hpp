#pragma once

// The ways to compute a product by a chapter, on the current device. A problem has m, n and k from 1 to 2^31 - 1 here.
// A list is empty if the chapter can not compute the problem on the device. Predicted times are those of `batch_count`
// such products, one launch after the other.

#include "gemm_problem.hpp"
#include "way.hpp"

#include <cstdint>
#include <vector>

namespace sgemm {

/// Chapter 09, which reads operands that are not transposed, with scalars on the host.
std::vector<Way> every_shape_ways(const GemmProblem& p, std::int64_t batch_count = 1);

/// Chapters 11, 12 and 13 for operands of any layout and scalars on either side, planned for so many multiprocessors.
std::vector<Way> bf16x6_ways(const GemmProblem& p, int multiprocessors, std::int64_t batch_count = 1);
std::vector<Way> fp16x3_ways(const GemmProblem& p, int multiprocessors, std::int64_t batch_count = 1);
std::vector<Way> int8x6_ways(const GemmProblem& p, int multiprocessors, std::int64_t batch_count = 1);

}  // namespace sgemm
