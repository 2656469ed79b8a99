#pragma once

// What the product on the CPU that stands for cuBLAS was asked for, by the calling thread.

#include "board.hpp"

#include <cstddef>
#include <cstdint>

#include <cuda_runtime_api.h>

namespace sgemm::test {

struct BlasCalls {
  int handles = 0;   ///< that were made
  int products = 0;  ///< calls of Blas::gemm()
  std::int64_t batch_count = 0;
  // During the last product.
  cudaStream_t stream = nullptr;
  void* workspace = nullptr;
  std::size_t workspace_bytes = 0;
  bool refuses = false;   ///< products, as cuBLAS may
  bool missing = false;   ///< as where there is no cuBLAS
  bool no_room = false;   ///< for a handle
  bool captured = false;  ///< the stream, so that no handle can be made
  int multiprocessors = 0;
};
BlasCalls& blas_calls();

/// Whether another thread captures into a graph, so that calls as the making of a handle of cuBLAS are forbidden.
struct CaptureState {
  bool elsewhere = false;
  int broken = 0;             ///< captures, by such calls
  std::uint64_t context = 1;  ///< its number: another one after a reset of the device
  int relaxed = 0;            ///< 1 where this thread may make them all the same

  /// Whether a call is forbidden. It breaks the capture then.
  bool forbids();
};
CaptureState& capture_state();

/// The board that predictions are for; an H200 at first.
BoardModel& host_board();

/// Whether allocations of the pool succeed, and how many bytes were allocated and not freed.
struct PoolState {
  bool full = false;
  int allocations = 0;
  int live = 0;
  int kept_freed = 0;  ///< how often the memory that stays was to be freed
};
PoolState& pool_state();

}  // namespace sgemm::test
