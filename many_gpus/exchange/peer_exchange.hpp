#pragma once

// The exchange among GPUs of one process by their copy engines, which take no multiprocessor from a kernel.

#include "exchange/host_exchange.hpp"
#include "schedule/exchange.hpp"

#include <functional>
#include <memory>

namespace sgemm {

/// For a rank on CUDA device number `device`; `device_of` has that of every rank. The receiver copies: the owner leaves
/// its own blocks alone while a product is computed, and need not take part. Throws CudaError.
std::unique_ptr<Exchange> make_peer_exchange(int device, std::function<int(int rank)> device_of,
                                             PanelsOf panels_of_rank);

}  // namespace sgemm
