#pragma once

#include "bench/tuning_file.hpp"
#include "host/kernel.hpp"
#include "record/record.hpp"

#include <string>
#include <vector>

namespace sgemm {

/// A configuration, and for the record how it came to be chosen.
struct ConfigurationChoice {
  Configuration configuration;
  std::string detail;  ///< "128x256 stream-k, tuned"; empty where there is no choice
  std::string note;    ///< why the tuned one was not taken; empty where there is nothing to say
};

/// The one of `configurations`, which are not empty, that `tuned` names; the first, which is the kernel's own choice,
/// where that is null or names none of them.
ConfigurationChoice choose(const std::vector<Configuration>& configurations, const TuningEntry* tuned);

/// Takes down a kernel's own choice: "128x256, by cost model", or what a library says of its.
void describe_own_choice(const Kernel& kernel, const Configuration& configuration, Record& record);

}  // namespace sgemm
