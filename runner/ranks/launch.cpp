#include "ranks/launch.hpp"

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string_view>

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

/// PMI_RANK, PMI_FD, PMIX_RANK and others are variables of process managers.
bool has_pmi() {
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (std::string_view(*variable).starts_with("PMI")) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::optional<Launch> find_launch() {
  for (const Variables& variables : LAUNCHERS) {
    const char* const rank = std::getenv(variables.rank);
    const char* const size = std::getenv(variables.size);
    if (rank != nullptr && size != nullptr && std::atoi(size) > 1) {
      return Launch{variables.launcher, std::atoi(rank), std::atoi(size), has_pmi()};
    }
  }
  return std::nullopt;
}

}  // namespace sgemm
