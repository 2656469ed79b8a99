#include "ranks/launch.hpp"

#include "base/usage_error.hpp"
#include "cli/options.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

#include <fmt/format.h>

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

void require_ranks(const Launch& launch, const KernelTerms& terms, const std::vector<const Kernel*>& selected,
                   const RankOptions& ranks) {
  const auto of_one_gpu =
      std::find_if(selected.begin(), selected.end(), [](const Kernel* kernel) { return kernel->local_kernel.empty(); });
  if (!terms.files.empty() || of_one_gpu != selected.end()) {
    throw UsageError(
        fmt::format("{} is for products on several GPUs (--kernel many_gpus): start the runner by itself "
                    "for {}",
                    launch.launcher, terms.files.empty() ? (*of_one_gpu)->id() : terms.files.front()));
  }
  if (ranks.gpus.value_or(launch.size) != launch.size) {
    throw UsageError(fmt::format("--{} takes {} ranks, {} started {}", ranks.grid ? "grid" : "gpus", *ranks.gpus,
                                 launch.launcher, launch.size));
  }
  if (ranks.exchange == GpuExchange::peer) {
    throw UsageError("--exchange peer: a process can not copy from the GPU of another one, nccl can");
  }
}

}  // namespace sgemm
