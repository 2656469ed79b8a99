#pragma once

#include "count/count.hpp"
#include "host/kernel.hpp"
#include "problem/sizes.hpp"

#include <string>

namespace sgemm {

/// A page of HTML that steps through the requests of `counts.traced`, which has to be there, beside the source and the
/// counts of its whole launch. It loads nothing. Source files that can not be read are missing in it, and it says so.
std::string trace_page(const Kernel& kernel, const Size& size, const Counts& counts);

}  // namespace sgemm
