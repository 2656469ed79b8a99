#pragma once

// Ranks on GPUs of this machine. In builds with the CUDA toolkit alone.

#include "exchange/exchanges.hpp"
#include "ranks/thread_team.hpp"

#include <functional>

namespace sgemm {

/// Ranks of one process. Rank r has GPU r % `gpus`: ranks may share one, which shows that they are right and not how
/// fast they are. Pieces are copied by the copy engines of the GPU that receives them. Throws CudaError.
RankParts peer_parts(int gpus);

/// Ranks of one process or of several, each on the GPU that `device_of` says; no two share one. NCCL carries the pieces
/// of the team that `id` is for, of so many ranks. Throws CudaError.
RankParts nccl_parts(const NcclId& id, int ranks, const std::function<int(int rank)>& device_of);

}  // namespace sgemm
