#pragma once

#include "kernel.hpp"
#include "sizes.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace sgemm {

struct Case {
  const Kernel* kernel = nullptr;
  Size size;
  std::string name;  ///< "sgemm/<kernel id>/<M>x<N>x<K>"
};

/// Every kernel on every size: all kernels of the first size, then all of the next, so that what belongs to a size is
/// made once. Of them, those whose name `filter` matches somewhere, or those it does not match when it begins with
/// '-'; an empty filter and "all" keep every case. This is what --benchmark_filter means, applied to the names as
/// documented: Google Benchmark itself would add "/iterations:1/manual_time" to them. Throws UsageError where the
/// filter is no regular expression (POSIX extended).
std::vector<Case> make_plan(const std::vector<const Kernel*>& kernels, const std::vector<Size>& sizes,
                            std::string_view filter);

}  // namespace sgemm
