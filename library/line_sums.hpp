#pragma once

#include "gemm_epilogue.hpp"
#include "gemm_problem.hpp"

#include <cuda_runtime_api.h>

#include <cstdint>

namespace sgemm {

/// Lines of a matrix in the GPU's memory, whose numbers are to be added up: rows of op(A), columns of op(B), rows or
/// columns of D.
struct Lines {
  const float* data = nullptr;
  std::int64_t count = 0;
  std::int64_t depth = 0;   ///< numbers of each
  std::int64_t stride = 0;  ///< between lines if `along`, otherwise between the numbers of a line
  bool along = true;        ///< whether the numbers of a line are neighbours in memory; otherwise lines are
};

/// The lines that an epilogue adds up; none without sums.
Lines summed_lines(const GemmProblem& p, const GemmEpilogue& epilogue);

// An epilogue's sums: those of A or B, before anything is written, and those of D behind all else. The order of
// additions depends on how many lines there are, on their length and on where they lie. add_up_operand() throws
// CudaError, and add_up_d() a StatusError of SGEMM_STATUS_EXECUTION_FAILED, as nothing can be begun again.
void add_up_operand(const GemmProblem& p, const GemmEpilogue& epilogue, cudaStream_t stream);
void add_up_d(const GemmProblem& p, const GemmEpilogue& epilogue, cudaStream_t stream);

}  // namespace sgemm
