#pragma once

#include "algorithm.hpp"
#include "gemm_problem.hpp"
#include "sgemm/sgemm.h"

#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace sgemm {

/// No limit to the workspace.
constexpr std::size_t ANY_WORKSPACE = std::numeric_limits<std::size_t>::max();

/// The algorithm that a batch takes, and why.
struct Choice {
  std::optional<Algorithm> algorithm;  ///< nothing: cuBLAS
  double cublas_us = 0.0;              ///< predicted time of cuBLAS for the whole batch
  double algorithm_us =
      0.0;             ///< predicted time of the fastest of the algorithms for the whole batch; 0 if there is none
  std::string reason;  ///< for people
};

/// The fastest of the algorithms, all made for one batch, that fits into a workspace of `workspace_limit` bytes.
/// `without` is the reason for none where there are no algorithms.
Choice choose_fastest(const std::vector<Algorithm>& algorithms, std::size_t workspace_limit,
                      const std::string& without);

/// The fastest of the algorithms, all made for one batch, if it fits into a workspace of `workspace_limit` bytes and is
/// predicted to be faster than cuBLAS by more than the board's margin; otherwise cuBLAS. `without` is the reason for
/// cuBLAS where there are no algorithms. Algorithms that fill gaps come after all others.
Choice choose(const std::vector<Algorithm>& algorithms, double cublas_us, std::size_t workspace_limit,
              const std::string& without);

/// The choice for a batch on so many multiprocessors: one of all algorithms of its accuracy, beside the time that
/// cuBLAS needs at least. What `fp32` would take, or what fills gaps, is taken by that accuracy's rule as well. cuBLAS
/// gets no call of the reproducible class.
Choice choose_for(const GemmBatch& batch, sgemm_accuracy_t accuracy, std::vector<Algorithm> algorithms,
                  int multiprocessors, std::size_t workspace_limit, const std::string& without);

}  // namespace sgemm
