#pragma once

#include "cli/options.hpp"
#include "device/device.hpp"
#include "record/environment.hpp"

#include <iosfwd>
#include <string>
#include <vector>

namespace sgemm {

/// Paragraphs that say what the reader of a mode's table or report needs to know. `executing`: GPU kernels run on the
/// CPU; `file`: where results go.
std::vector<std::string> heading(const Options& options, const DeviceQuery& query, const GpuFacts& facts,
                                 bool executing, const std::string& file);

/// Prints what the run does otherwise than its command line lets one expect.
void print_remarks(std::ostream& out, const Options& options, bool executing, const std::string& gpu_error);

}  // namespace sgemm
