#pragma once

#include "common/problem.hpp"
#include "schedule/exchange.hpp"
#include "schedule/schedule.hpp"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>
#include <vector>

namespace sgemm {

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
