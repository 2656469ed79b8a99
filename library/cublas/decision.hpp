#pragma once

#include <sgemm/sgemm.h>

#include <cstddef>
#include <string>

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

/// Takes the library for what it plans to do with a kernel of its own.
Decision decide(const sgemm_plan_t& plan);

}  // namespace drop_in
