#include "baselines/calibration.hpp"

#include "base/usage_error.hpp"
#include "sgemm/sgemm.h"

#include <stdexcept>

namespace sgemm {

std::string calibrate_library(const std::string& path) {
  const char* text = "";
  switch (sgemm_calibrate(path.empty() ? nullptr : path.c_str(), &text)) {
    case SGEMM_STATUS_SUCCESS:
      return text;
    case SGEMM_STATUS_INVALID_VALUE:
      throw UsageError(std::string("--calibrate: ") + text);
    default:
      throw std::runtime_error(std::string("--calibrate: ") + text);
  }
}

}  // namespace sgemm
