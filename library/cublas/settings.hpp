#pragma once

#include <sgemm/sgemm.h>

#include <string>

#include "accuracies.hpp"

namespace drop_in {

/// What the environment asks for.
struct Settings {
  /// SGEMM_ACCURACY=fp32|componentwise|normwise|rowwise|reproducible. Empty where its value is none of these: cuBLAS
  /// gets all calls then.
  Accuracy accuracy;
  /// SGEMM_LOG: where the table of calls goes at exit. Empty: nowhere. "1": to standard error. Otherwise a file, which
  /// the table is appended to.
  std::string log;

  bool logs() const { return !log.empty(); }
};

/// Reads the environment. A wrong value is named on standard error.
Settings read_settings();

const char* accuracy_name(sgemm_accuracy_t accuracy);

}  // namespace drop_in
