#pragma once

// Ranks that are processes, on one machine or several. MPI starts them, gives them orders, and on the CPU carries the
// pieces; between GPUs NCCL does.

#include "cli/options.hpp"
#include "cli/selection.hpp"
#include "ranks/team.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace sgemm {

/// This process's place among those that mpirun or srun has started together, as its environment says.
struct Launch {
  std::string launcher;  ///< "mpirun" or "srun"
  int rank = 0;
  int size = 1;
  bool has_pmi = false;  ///< whether there is a process manager (PMI or PMIx) by which the processes find each other
};

/// Nothing for a process that was started by itself, or as the only one.
std::optional<Launch> find_launch();

/// What one of the processes of a launch does: process 0 does the work of the leader and gives all its status, the
/// others obey until then. Process 0 alone has a command line to follow, prints, and writes results. It is a rank as
/// well, and makes teams of all processes, one at a time, while it leads. Initialises MPI; all processes call this
/// first. Where they do not fit together, or where this build has no MPI, process 0 throws UsageError, and there is
/// nothing to do for the others but to end.
int run_in_world(const Launch& launch, const std::function<int(const TeamMaker&)>& lead);

/// Throws UsageError where the command line asks for other than products on several GPUs with the processes of `launch`
/// as their ranks. `terms` and `selected` are what --kernel names.
void require_ranks(const Launch& launch, const KernelTerms& terms, const std::vector<const Kernel*>& selected,
                   const RankOptions& ranks);

}  // namespace sgemm
