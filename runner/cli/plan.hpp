#pragma once

#include "problem/case.hpp"

#include <string_view>
#include <vector>

namespace sgemm {

/// Every kernel on every size and, with --accuracy, on each of `data`: all kernels on the first operands, then all on
/// the next, so that what belongs to operands is made once. Of them, those whose name `filter` matches somewhere, or
/// those it does not match when it begins with
/// '-'; an empty filter and "all" keep every case. This is what --benchmark_filter means, applied to the names as
/// documented: Google Benchmark itself would add "/iterations:1/manual_time" to them. Throws UsageError where the
/// filter is no regular expression (POSIX extended).
std::vector<Case> make_plan(const std::vector<const Kernel*>& kernels, const std::vector<Size>& sizes,
                            const std::vector<Distribution>& data, std::string_view filter);

}  // namespace sgemm
