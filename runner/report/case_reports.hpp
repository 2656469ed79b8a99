#pragma once

#include "record/record.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace sgemm {

/// The counts of a case, as lines for a terminal of `width` columns (0 for unlimited).
std::vector<std::string> count_report(const Record& record, std::size_t width);

}  // namespace sgemm
