#include "choice.hpp"

#include "predicted_time.hpp"

#include <cstdio>
#include <utility>

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
                            const std::string& without) {
  const double margin = board_model().margin;
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
  const BoardModel& board = board_model();
  for (const Algorithm& algorithm : algorithms) {
    const double us = microseconds(board, algorithm.cost);
    if (algorithm.workspace_bytes <= workspace_limit && (!choice.algorithm || us < choice.algorithm_us)) {
      choice.algorithm = algorithm;
      choice.algorithm_us = us;
    }
  }
  if (!choice.algorithm) {
    choice.reason = algorithms.empty() ? without : "the workspace is too small for the library's own kernels";
    return choice;
  }
  const std::int64_t launches = choice.algorithm->launches;
  choice.reason = "predicted " + microseconds(choice.algorithm_us) + " by " +
                  (launches > 1 ? std::to_string(launches) + " launches of " : "") + choice.algorithm->kernel +
                  (choice.algorithm->reads_packed ? " from packed operands" : "");
  return choice;
}

Choice choose(const std::vector<Algorithm>& algorithms, double cublas_us, std::size_t workspace_limit,
              const std::string& without) {
  std::vector<Algorithm> usual;
  std::vector<Algorithm> for_gaps;
  for (const Algorithm& algorithm : algorithms) {
    (algorithm.fills_gap ? for_gaps : usual).push_back(algorithm);
  }
  Choice choice = choose_beside_cublas(usual, cublas_us, workspace_limit, without);
  if (!choice.algorithm && !for_gaps.empty()) {
    Choice filled = choose_beside_cublas(for_gaps, cublas_us, workspace_limit, without);
    if (filled.algorithm || usual.empty()) {
      return filled;
    }
  }
  return choice;
}

Choice choose_for(const GemmBatch& batch, sgemm_accuracy_t accuracy, std::vector<Algorithm> algorithms,
                  int multiprocessors, std::size_t workspace_limit, const std::string& without) {
  const GemmProblem& p = batch.first;
  const BoardModel& board = board_model();
  const PredictedShape shape{p.m, p.n, p.k, multiprocessors,
                             CublasTable::layout(p.a_transposed, p.b_transposed, batch.count)};
  const double cublas_us = cublas_microseconds(board, shape, batch.count);
  if (accuracy == SGEMM_ACCURACY_REPRODUCIBLE) {
    Choice choice = choose_fastest(algorithms, workspace_limit, without);
    choice.cublas_us = cublas_us;
    return choice;
  }
  const double beside_every_shape_us = cublas_microseconds_beside_every_shape(board, shape, batch.count);
  std::erase_if(algorithms, [&](const Algorithm& one) { return !board.knows(one.cost.method); });
  Choice choice =
      choose(algorithms, accuracy == SGEMM_ACCURACY_FP32 ? beside_every_shape_us : cublas_us, workspace_limit, without);
  if (!choice.algorithm) {
    std::erase_if(algorithms,
                  [](const Algorithm& one) { return one.cost.method != Method::every_shape && !one.fills_gap; });
    Choice closer = choose(algorithms, beside_every_shape_us, workspace_limit, without);
    if (closer.algorithm) {
      choice = std::move(closer);
    }
  }
  return choice;
}

}  // namespace sgemm
