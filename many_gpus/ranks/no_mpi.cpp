// The answer to mpirun and srun of a build without MPI.

#include "base/usage_error.hpp"
#include "ranks/launch.hpp"

#include <fmt/format.h>

namespace sgemm {

std::unique_ptr<MpiWorld> MpiWorld::join(const Launch& launch) {
  if (launch.rank > 0) {
    return nullptr;
  }
  throw UsageError(
      fmt::format("{} started {} processes, and this build has no MPI: apt-get install libopenmpi-dev, and build again "
                  "(products on the GPUs of one machine need no {})",
                  launch.launcher, launch.size, launch.launcher));
}

}  // namespace sgemm
