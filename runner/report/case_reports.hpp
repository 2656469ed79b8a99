#pragma once

#include "record/record.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace sgemm {

/// The counts of a case, as lines for a terminal of `width` columns (0 for unlimited).
std::vector<std::string> count_report(const Record& record, std::size_t width);

/// What a GPU's counters say of a profiled case: a column for each launch, at most `width` characters wide (0 for as
/// wide as needed). Rows without a value are left out.
std::vector<std::string> profile_report(const Record& record, std::size_t width);

}  // namespace sgemm
