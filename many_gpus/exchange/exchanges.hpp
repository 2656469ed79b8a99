#pragma once

// The exchanges among GPUs, in builds with the CUDA toolkit alone, and what all have in common.

#include "exchange/patience.hpp"
#include "schedule/product.hpp"

#include <array>
#include <functional>
#include <memory>

namespace sgemm {

/// Where a rank has its panels.
using PanelsOf = std::function<PanelMemory(int rank)>;

/// Among GPUs of one process by their copy engines, which take no multiprocessor from a kernel. For a rank on CUDA
/// device number `device`; `device_of` has that of every rank. The receiver copies: the owner leaves its own blocks
/// alone while a product is computed, and need not take part. Throws CudaError.
std::unique_ptr<Exchange> make_peer_exchange(int device, std::function<int(int rank)> device_of,
                                             PanelsOf panels_of_rank);

/// What ranks find one another by.
using NcclId = std::array<char, 128>;

/// For one team of ranks. Throws CaseStopped (not supported) in a build without NCCL, std::runtime_error for an error
/// of NCCL.
NcclId make_nccl_id();

/// By NCCL, within one process or among several: one rank's end, on CUDA device number `device`. The first start()
/// connects all ranks. Where the patience ends, which outlives the exchange, or NCCL reports an error, later starts are
/// refused. Throws std::runtime_error for an error of NCCL, CudaError.
std::unique_ptr<Exchange> make_nccl_exchange(const NcclId& id, int ranks, int rank, int device,
                                             const Patience& patience);

}  // namespace sgemm
