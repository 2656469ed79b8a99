#pragma once

#include <sgemm/sgemm.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "epilogue.hpp"

namespace drop_in {

/// Times on the GPU in microseconds, the epilogue included. 0: there is no prediction.
struct Prediction {
  double us = 0;
  double cublas_us = 0;
};

/// Who computes a product, and why, in words for the log.
struct Decision {
  bool by_library = false;
  std::string by;  // "cublas" or a chapter
  std::string why;
  size_t workspace_bytes = 0;  // that the chapter works in
  Prediction prediction;
};

/// The time that a pass of the epilogue over an m x n matrix takes on a GPU, in microseconds.
double epilogue_us(const Epilogue& epilogue, int64_t m, int64_t n, double peak_bytes_per_us);

/// Takes the library for what it plans to do with a kernel of its own, unless the pass of the epilogue eats up what
/// that gains: cuBLASLt applies an epilogue before it stores the product, and needs no time for it. That does not
/// matter where the product is `for_library_alone`.
Decision decide(const sgemm_plan_t& plan, const Epilogue& epilogue, double pass_us, bool for_library_alone = false);

}  // namespace drop_in
