#pragma once

// How pieces get from rank to rank: by the GPUs' copy engines, by NCCL, or by MPI.

#include "schedule/schedule.hpp"

#include <cuda_runtime_api.h>

#include <cstddef>

namespace sgemm {

/// A rank's panels: what it owns of A and B, and room for the pieces of other ranks (struct Panels).
struct PanelMemory {
  float* a = nullptr;
  float* b = nullptr;

  float* of(Operand operand) const { return operand == Operand::a ? a : b; }
};

/// One rank's end of the exchange. All ranks start together, when their own blocks are in place, and leave these alone
/// until all have finished.
class Exchange {
 public:
  virtual ~Exchange() = default;

  /// Starts all transfers of this rank, in order.
  virtual void start(const PanelMemory& panels, const Transfers& transfers) = 0;
  /// What is enqueued on `stream` from now on waits until the first `count` incoming transfers have ended; without a
  /// stream, this call does.
  virtual void await(std::size_t count, cudaStream_t stream) = 0;
  /// Waits until no transfer needs this rank's memory any more.
  virtual void finish() = 0;
};

}  // namespace sgemm
