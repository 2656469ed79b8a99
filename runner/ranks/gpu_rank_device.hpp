#pragma once

#include "ranks/rank_device.hpp"

#include <memory>

namespace sgemm {

/// CUDA device number `index`. Throws CudaError.
std::unique_ptr<RankDevice> make_gpu_rank_device(int index);

}  // namespace sgemm
