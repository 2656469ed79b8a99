#pragma once

#include "exchange/patience.hpp"
#include "ranks/rank_device.hpp"

#include <memory>

namespace sgemm {

/// CUDA device number `index`, for which a rank waits with `patience`, which outlives it. Throws CudaError.
std::unique_ptr<RankDevice> make_gpu_rank_device(int index, const Patience& patience);

}  // namespace sgemm
