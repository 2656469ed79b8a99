// The answer to mpirun and srun of a build without MPI.

#include "base/usage_error.hpp"
#include "cli/options.hpp"
#include "ranks/launch.hpp"

#include <fmt/format.h>

namespace sgemm {

int run_in_world(const Launch& launch, const std::function<int(const TeamMaker&)>&) {
  if (launch.rank > 0) {
    return BAD_USAGE;
  }
  throw UsageError(
      fmt::format("{} started {} processes, and this build has no MPI: apt-get install libopenmpi-dev, and build again "
                  "(products on the GPUs of one machine need no {})",
                  launch.launcher, launch.size, launch.launcher));
}

}  // namespace sgemm
