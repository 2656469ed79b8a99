#pragma once

#include "bench/tuning_file.hpp"
#include "host/kernel.hpp"
#include "record/record.hpp"

#include <string>
#include <vector>

namespace sgemm {

/// A configuration, and how it was chosen, for the record.
struct ConfigurationChoice {
  Configuration configuration;
  std::string detail;  ///< "128x256 stream-k, tuned"; empty where there is no choice
  std::string note;    ///< why the tuned one was not taken; empty where there is nothing to say
};

/// The one of `configurations` that `tuned` names. If `tuned` is null or names none of them, the result is the first
/// one, which is the kernel's own choice. `configurations` is not empty.
ConfigurationChoice choose(const std::vector<Configuration>& configurations, const TuningEntry* tuned);

/// Records a kernel's own choice: "128x256, by cost model", or the description that a library gives of its choice.
void describe_own_choice(const Kernel& kernel, const Configuration& configuration, Record& record);

}  // namespace sgemm
