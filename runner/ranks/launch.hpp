#pragma once

#include <optional>
#include <string>

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

}  // namespace sgemm
