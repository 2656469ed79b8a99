#pragma once

#include <string>

namespace sgemm {

/// Fits libsgemm's predictions to the current device, and returns the file that it wrote: `path`, or if that is empty
/// the one that libsgemm looks for. Throws UsageError where the file can not be written.
std::string calibrate_library(const std::string& path);

}  // namespace sgemm
