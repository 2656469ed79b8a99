#pragma once

#include "cli/options.hpp"
#include "cli/selection.hpp"

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

/// Throws UsageError where the command line asks for other than products on several GPUs with the processes of `launch`
/// as their ranks. `terms` and `selected` are what --kernel names.
void require_ranks(const Launch& launch, const KernelTerms& terms, const std::vector<const Kernel*>& selected,
                   const RankOptions& ranks);

}  // namespace sgemm
