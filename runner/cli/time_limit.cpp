#include "cli/time_limit.hpp"

namespace sgemm {

std::optional<double> seconds_per_case(const Options& options, bool on_gpu, bool several_gpus) {
  constexpr double ON_GPU = 60.0;
  constexpr double ON_EXECUTOR = 300.0;      // five times what is run without --force
  constexpr double ON_SEVERAL_GPUS = 300.0;  // operands of tens of gigabytes are made on the host
  if (options.timeout || (options.force && !on_gpu)) {
    return options.timeout;
  }
  return !on_gpu ? ON_EXECUTOR : several_gpus ? ON_SEVERAL_GPUS : ON_GPU + 2 * options.protocol.max_seconds;
}

}  // namespace sgemm
