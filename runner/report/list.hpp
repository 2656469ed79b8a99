#pragma once

#include "base/kernel.hpp"
#include "cli/options.hpp"

#include <ostream>
#include <vector>

namespace sgemm {

/// Prints the kernels in the order given; nothing for ListFormat::none.
///
/// ListFormat::table is for people: a line for each kernel's default variant with the kernel's number ("-" without
/// one), name and summary, then its other variants as ":variant". CC is the minimum compute capability, or "CPU".
/// Summaries are wrapped so that lines have at most `terminal_width` characters where the words allow it; 0 does not
/// wrap.
///
/// ListFormat::json is an array with one object per kernel:
///
///     [ { "number": 6, "name": "coarse_2d", "id": "06_coarse_2d",
///         "variants": [ { "variant": "", "id": "06_coarse_2d", "default": true, "summary": "...", "source": "...",
///                         "platform": "gpu", "accuracy_class": "fp32", "min_compute_capability": "7.5",
///                         "max_compute_capability": null },
///                       { "variant": "vectorized", "id": "06_coarse_2d:vectorized", "default": false, ... } ] } ]
///
/// "number" is null for kernels without one, "min_compute_capability" for CPU kernels and "max_compute_capability" for
/// kernels that later GPUs run as well.
void print_list(std::ostream& out, const std::vector<Kernel>& kernels, ListFormat mode, int terminal_width);

}  // namespace sgemm
