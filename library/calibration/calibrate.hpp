#pragma once

#include "calibration/calibration.hpp"

#include <string>

namespace sgemm {

/// What a calibration of the current device is for.
CalibrationKey current_key();

/// sgemm_calibrate() and sgemm_calibration(), with their texts. The executor has nothing to measure, so tests on it
/// bring implementations of their own. Throws CudaError, StatusError and CalibrationError.
std::string calibrate(const std::string& path);
std::string calibration_text();

}  // namespace sgemm
