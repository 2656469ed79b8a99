#pragma once

// The exchange among GPUs by NCCL, within one process or among several. In builds with the CUDA toolkit alone.

#include "exchange/patience.hpp"
#include "schedule/exchange.hpp"

#include <array>
#include <memory>

namespace sgemm {

/// What ranks find one another by.
using NcclId = std::array<char, 128>;

/// For one team of ranks. Throws CaseStopped (not supported) in a build without NCCL, std::runtime_error for an error
/// of NCCL.
NcclId make_nccl_id();

/// One rank's end, on CUDA device number `device`. The first start() connects all ranks. Where the patience ends, which
/// outlives the exchange, or NCCL reports an error, later starts are refused. Throws std::runtime_error for an error of
/// NCCL, CudaError.
std::unique_ptr<Exchange> make_nccl_exchange(const NcclId& id, int ranks, int rank, int device,
                                             const Patience& patience);

}  // namespace sgemm
