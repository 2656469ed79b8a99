#include "choice.hpp"

#include <cstdio>

namespace sgemm {
namespace {

std::string microseconds(double time) {
  char text[32];
  std::snprintf(text, sizeof text, "%.*f us", time < 10 ? 1 : 0, time);
  return text;
}

}  // namespace

Choice choose(const std::vector<Algorithm>& algorithms, double cublas_us, std::size_t workspace_limit,
              const std::string& without, double margin) {
  Choice choice;
  choice.cublas_us = cublas_us;
  const Algorithm* best = nullptr;
  for (const Algorithm& algorithm : algorithms) {
    if (algorithm.workspace_bytes <= workspace_limit &&
        (best == nullptr || algorithm.microseconds() < best->microseconds())) {
      best = &algorithm;
    }
  }
  if (best == nullptr) {
    choice.reason = algorithms.empty() ? without : "the workspace is too small for the library's own kernels";
    return choice;
  }
  choice.algorithm_us = best->microseconds();
  const std::string launches = best->launches > 1 ? std::to_string(best->launches) + " launches of " : "";
  choice.reason = "predicted " + microseconds(choice.algorithm_us) + " by " + launches + best->kernel + ", at least " +
                  microseconds(cublas_us) + " by cuBLAS" + (margin > 1.0 ? ", on a board that was not measured" : "");
  if (margin * choice.algorithm_us < cublas_us) {
    choice.algorithm = *best;
  }
  return choice;
}

}  // namespace sgemm
