#pragma once

// The file that sgemm_calibrate() writes: the constants of one board, as it was measured with one driver and one
// cuBLAS.

#include "board.hpp"

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace sgemm {

/// The margin of a board with a calibration. Fitted predictions err to both sides: where the library is to gain less
/// than this, it would be slower than cuBLAS as often as faster.
constexpr double CALIBRATED_MARGIN = 1.03;

/// What a calibration holds for: names and values, which all have to be those of the process that reads the file.
using CalibrationKey = std::vector<std::pair<std::string, std::string>>;

struct Calibration {
  CalibrationKey key;
  std::string date;
  BoardModel board;
};

/// What is wrong with a file. The text goes on after its path and a colon.
class CalibrationError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::string text_of(const Calibration& calibration);
/// Throws CalibrationError for a text that is no whole calibration, or has numbers that no board has.
Calibration calibration_of(const std::string& text);

/// The file for a key, of which the first two are enough: the one that SGEMM_CALIBRATION names, or else
/// sgemm/<device>-<multiprocessors>.txt in the user's folder for caches. Empty: SGEMM_CALIBRATION is 0, or there is no
/// such folder.
std::string calibration_path(const CalibrationKey& key);

/// Puts a file in its place as a whole, and makes the folder that it is in. Throws CalibrationError.
void write_whole(const std::string& path, const std::string& text);
/// Throws CalibrationError where write_whole() would.
void require_writable(const std::string& path);

/// A file, and what it says, or why it is not used.
struct FoundCalibration {
  std::string path;
  std::optional<Calibration> calibration;
  std::string why_not;
};
/// The key is asked for where there is a calibration: to know the version of cuBLAS, it is loaded.
FoundCalibration find_calibration(const std::string& path, CalibrationKey (*key)());

/// What a calibration of the current device is for.
CalibrationKey current_key();

/// sgemm_calibrate() and sgemm_calibration(), with their texts. The executor has nothing to measure, so tests on it
/// bring implementations of their own. Throws CudaError, StatusError and CalibrationError.
std::string calibrate(const std::string& path);
std::string calibration_text();

/// For people: which file, and of when, or why there is none.
std::string describe(const FoundCalibration& found);

}  // namespace sgemm
