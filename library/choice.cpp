#include "choice.hpp"

#include <cstdio>

namespace sgemm {
namespace {

std::string microseconds(double time) {
  char text[32];
  std::snprintf(text, sizeof text, "%.*f us", time < 10 ? 1 : 0, time);
  return text;
}

std::string times(double factor) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f times", factor);
  return text;
}

/// The fastest of the algorithms, if it is faster than cuBLAS.
Choice choose_beside_cublas(const std::vector<Algorithm>& algorithms, double cublas_us, std::size_t workspace_limit,
                            const std::string& without, double margin) {
  Choice choice = choose_fastest(algorithms, workspace_limit, without);
  choice.cublas_us = cublas_us;
  if (choice.algorithm) {
    choice.reason += ", at least " + microseconds(cublas_us) + " by cuBLAS" +
                     (margin > 1.0 ? ", and has to be " + times(margin) + " as fast" : "");
    if (margin * choice.algorithm_us >= cublas_us) {
      choice.algorithm.reset();
    }
  }
  return choice;
}

}  // namespace

Choice choose_fastest(const std::vector<Algorithm>& algorithms, std::size_t workspace_limit,
                      const std::string& without) {
  Choice choice;
  for (const Algorithm& algorithm : algorithms) {
    if (algorithm.workspace_bytes <= workspace_limit &&
        (!choice.algorithm || algorithm.microseconds() < choice.algorithm->microseconds())) {
      choice.algorithm = algorithm;
    }
  }
  if (!choice.algorithm) {
    choice.reason = algorithms.empty() ? without : "the workspace is too small for the library's own kernels";
    return choice;
  }
  choice.algorithm_us = choice.algorithm->microseconds();
  const std::int64_t launches = choice.algorithm->launches;
  choice.reason = "predicted " + microseconds(choice.algorithm_us) + " by " +
                  (launches > 1 ? std::to_string(launches) + " launches of " : "") + choice.algorithm->kernel +
                  (choice.algorithm->reads_packed ? " from packed operands" : "");
  return choice;
}

Choice choose(const std::vector<Algorithm>& algorithms, double cublas_us, std::size_t workspace_limit,
              const std::string& without, double margin) {
  std::vector<Algorithm> usual;
  std::vector<Algorithm> for_gaps;
  for (const Algorithm& algorithm : algorithms) {
    (algorithm.fills_gap ? for_gaps : usual).push_back(algorithm);
  }
  Choice choice = choose_beside_cublas(usual, cublas_us, workspace_limit, without, margin);
  if (!choice.algorithm && !for_gaps.empty()) {
    Choice filled = choose_beside_cublas(for_gaps, cublas_us, workspace_limit, without, margin);
    if (filled.algorithm || usual.empty()) {
      return filled;
    }
  }
  return choice;
}

}  // namespace sgemm
