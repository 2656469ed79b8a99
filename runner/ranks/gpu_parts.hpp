#pragma once

// Ranks on GPUs of this machine. In builds with the CUDA toolkit alone.

#include "ranks/thread_team.hpp"

namespace sgemm {

/// Rank r has GPU r % `gpus`: ranks may share one, which shows that they are right and not how fast they are. Pieces
/// are copied by the copy engines of the GPU that receives them. Throws CudaError.
RankParts gpu_parts(int gpus);

}  // namespace sgemm
