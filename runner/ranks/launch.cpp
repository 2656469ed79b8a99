#include "ranks/launch.hpp"

#include <array>
#include <cstdlib>

namespace sgemm {
namespace {

/// Variables of a launcher that hold a process's rank and the number of processes.
struct Variables {
  const char* launcher;
  const char* rank;
  const char* size;
};

// A script that sbatch runs has SLURM_NTASKS and no SLURM_STEP_NUM_TASKS: it is not a step of srun.
constexpr std::array LAUNCHERS{
    Variables{"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    Variables{"srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},
    Variables{"mpirun", "PMI_RANK", "PMI_SIZE"},
};

}  // namespace

std::optional<Launch> find_launch() {
  for (const Variables& variables : LAUNCHERS) {
    const char* const rank = std::getenv(variables.rank);
    const char* const size = std::getenv(variables.size);
    if (rank != nullptr && size != nullptr && std::atoi(size) > 1) {
      return Launch{variables.launcher, std::atoi(rank), std::atoi(size)};
    }
  }
  return std::nullopt;
}

}  // namespace sgemm
