#pragma once

#include "cli/options.hpp"
#include "problem/case.hpp"

#include <string_view>
#include <vector>

namespace sgemm {

/// Makes a case of every kernel on every size and, with --accuracy, on each of `data`. All kernels on the same operands
/// follow one another, so that operands and reference are made once. The plan keeps the cases whose name `filter`
/// matches somewhere, or does not match if `filter` begins with "-". An empty filter and "all" keep every case. Google
/// Benchmark's --benchmark_filter means the same, but would add "/iterations:1/manual_time" to the names. Throws
/// UsageError if the filter is no regular expression (POSIX extended).
std::vector<Case> make_plan(const std::vector<const Kernel*>& kernels, const std::vector<Size>& sizes,
                            const std::vector<Distribution>& data, std::string_view filter);

/// The plan of a command line: `kernels` on the sizes that it names or, where it names none, on the mode's own. Throws
/// UsageError as parse_sizes() and make_plan() do, where no case is left, and for a page that several cases would fill.
std::vector<Case> plan_of(const Options& options, const std::vector<const Kernel*>& kernels, bool on_gpu,
                          std::string_view filter);

/// Whether a kernel of the plan is for GPUs.
bool is_for_gpus(const std::vector<Case>& plan);

}  // namespace sgemm
