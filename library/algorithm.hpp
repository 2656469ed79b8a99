#pragma once

#include "gemm_epilogue.hpp"
#include "gemm_problem.hpp"
#include "predicted_time.hpp"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

namespace sgemm {

/// An algorithm to compute a batch of products on the current device: a configuration of a chapter.
struct Algorithm {
  std::string kernel;         ///< "11_bf16x6"
  std::string configuration;  ///< "128x256 stream-k"
  std::size_t workspace_bytes = 0;
  Cost cost;                  ///< for the batch
  std::int64_t launches = 1;  ///< of the chapter, one after the other
  int kernels = 1;            ///< in each of them
  bool reads_packed = false;  ///< an operand was packed for it
  /// It is there for products that would be cuBLAS's: taken only where no other algorithm is predicted to be faster
  /// than that.
  bool fills_gap = false;
  /// Enqueues a batch of the size, shapes, layouts and packed operands that the algorithm was made for. The workspace
  /// may hold anything. Throws CudaError.
  std::function<void(const GemmBatch&, void* workspace, cudaStream_t)> launch = nullptr;
  /// The same for one product with an epilogue, which the kernel applies where it stores D. Empty: it has none.
  std::function<void(const GemmBatch&, const GemmEpilogue&, void* workspace, cudaStream_t)> launch_with_epilogue =
      nullptr;

  /// Whether the kernel applies epilogues.
  bool has_epilogues() const { return static_cast<bool>(launch_with_epilogue); }

  /// Predicted for the batch on the current device.
  double microseconds() const { return sgemm::microseconds(board_model(), cost); }
};

/// Enqueues a batch by an algorithm, or one product with its epilogue, which is null for an algorithm without them.
/// Returns false if CUDA refused, and cuBLAS can compute the batch instead. It can not where products are in C already,
/// because C would get them twice: that is a StatusError of SGEMM_STATUS_EXECUTION_FAILED.
bool enqueue(const Algorithm& algorithm, const GemmBatch& batch, const GemmEpilogue* epilogue, void* workspace,
             cudaStream_t stream);

/// Algorithm::launch of a chapter that computes one product at a time, by `launch(problem, workspace, stream)`.
template <class Launch>
auto one_after_the_other(Launch launch) {
  return [launch = std::move(launch)](const GemmBatch& batch, void* workspace, cudaStream_t stream) {
    for (std::int64_t i = 0; i < batch.count; ++i) {
      launch(batch.problem(i), workspace, stream);
    }
  };
}

/// Sets both launches of a chapter that computes one product at a time, by `run(problem, epilogue, workspace, stream)`
/// with the epilogue or null.
template <class Run>
void launch_by(Algorithm& algorithm, const Run& run) {
  algorithm.launch = one_after_the_other([=](const GemmProblem& problem, void* workspace, cudaStream_t stream) {
    run(problem, nullptr, workspace, stream);
  });
  algorithm.launch_with_epilogue = [=](const GemmBatch& of, const GemmEpilogue& epilogue, void* workspace,
                                       cudaStream_t stream) { run(of.first, &epilogue, workspace, stream); };
}

}  // namespace sgemm
