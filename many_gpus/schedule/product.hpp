#pragma once

#include "common/problem.hpp"
#include "schedule/schedule.hpp"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>
#include <vector>

namespace sgemm {

/// A rank's panels: what it owns of A and B, and room for the pieces of other ranks (struct Panels).
struct PanelMemory {
  float* a = nullptr;
  float* b = nullptr;

  float* of(Operand operand) const { return operand == Operand::a ? a : b; }
};

/// One rank's end of the exchange, in which pieces get from rank to rank: by the GPUs' copy engines, by NCCL, or by
/// MPI. All ranks start together, when their own blocks are in place, and leave these alone until all have finished.
class Exchange {
 public:
  virtual ~Exchange() = default;

  /// Starts all transfers of this rank, in order.
  virtual void start(const PanelMemory& panels, const Transfers& transfers) = 0;
  /// What is enqueued on `stream` from now on waits until the first `count` incoming transfers have ended; without a
  /// stream, this call does.
  virtual void await(std::size_t count, cudaStream_t stream) = 0;
  /// Waits until no transfer needs this rank's memory any more.
  virtual void finish() {}
};

/// A step of the schedule with its operands and the kernel that multiplies them.
struct LocalProduct {
  Problem problem;
  std::function<void(const Problem&, cudaStream_t)> kernel;
  std::size_t pieces = 0;
};

/// The steps' problems in a rank's panels, with C of the rank's own; the first one has the product's beta.
std::vector<Problem> problems_of(const Schedule& schedule, const Shape& shape, const Panels& panels,
                                 const PanelMemory& memory, float* c);

/// Computes one rank's block of C: enqueues the local products on `stream`, each behind the pieces that it needs. All
/// ranks call this together.
void multiply(const std::vector<LocalProduct>& products, const PanelMemory& memory, const Transfers& transfers,
              Exchange& exchange, cudaStream_t stream);

}  // namespace sgemm
