#pragma once

#include "algorithm.hpp"

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
/// predicted to be more than `margin` times as fast as cuBLAS; otherwise cuBLAS. `without` is the reason for cuBLAS
/// where there are no algorithms. Algorithms that fill gaps come after all others.
Choice choose(const std::vector<Algorithm>& algorithms, double cublas_us, std::size_t workspace_limit,
              const std::string& without, double margin = 1.0);

}  // namespace sgemm
