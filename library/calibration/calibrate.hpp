#pragma once

#include "board.hpp"
#include "calibration/calibration.hpp"

#include <string>

namespace sgemm {

/// The constants of the current device with so many of its multiprocessors, from products that are measured for at most
/// so many seconds. Throws CudaError and StatusError.
BoardModel measured_board(int multiprocessors, double seconds);

/// What a calibration of the current device is for.
CalibrationKey current_key();

/// sgemm_calibrate() and sgemm_calibration(), with their texts. The executor has nothing to measure, so tests on it
/// bring implementations of their own. Throws CalibrationError as well.
std::string calibrate(const std::string& path);
std::string calibration_text();

}  // namespace sgemm
