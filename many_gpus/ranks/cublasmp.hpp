#pragma once

// Products on several GPUs by cuBLASMp, for comparison with chapter 14.

#include "exchange/nccl_exchange.hpp"
#include "host/kernel.hpp"
#include "ranks/block_cyclic.hpp"
#include "ranks/rank_device.hpp"

#include <string>

namespace sgemm {

/// "0.10.0". Throws CaseStopped (not supported) in a build without cuBLASMp.
std::string cublasmp_version();

/// One rank's end, on a GPU. The first launch connects all ranks that have `id`, and so it waits for them; so does the
/// destruction of the last copy. A launch's problem has the shape of the whole product, and the rank's blocks: `lda`
/// numbers in a row of A, which are the columns that `dealt` says, the rows of B that it says, and C. The device
/// outlives the copies.
Prepared make_cublasmp_product(const NcclId& id, const BlockCyclic& dealt, int rank, RankDevice& device);

}  // namespace sgemm
