#pragma once

#include "common/problem.hpp"

#include <string>

namespace sgemm {

/// What a wrong C looks like, in one sentence that begins with "; ": another product of the same operands, a product
/// without a factor or a part of the sum, with rounded operands, or a C that was not written. Empty where nothing fits.
///
/// The problem is the host's, with C0 as its C where beta is not 0. `c` holds the result, without gaps between rows.
std::string cause_of_wrong(const Problem& problem, const float* c);

}  // namespace sgemm
