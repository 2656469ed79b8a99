#pragma once

#include <string>

namespace drop_in {

/// What the environment asks for.
struct Settings {
  /// SGEMM_ACCURACY=fp32|componentwise|normwise|rowwise|reproducible. SGEMM_DROP_IN_OFF where its value is none of
  /// these: cuBLAS gets all calls then.
  int accuracy;
  /// SGEMM_LOG: where the table of calls goes at exit. Empty: nowhere. "1": to standard error. Otherwise a file, which
  /// the table is appended to.
  std::string log;

  bool logs() const { return !log.empty(); }
};

/// Reads the environment. A wrong value is named on standard error.
Settings read_settings();

/// Of an sgemm_accuracy_t.
const char* accuracy_name(int accuracy);

}  // namespace drop_in
