#pragma once

#include <cuda_runtime_api.h>

#include <map>
#include <set>

/// What the tests have instead of a GPU and its driver: some calls of CUDA's runtime, with the rules that matter here.
struct FakeCuda {
  int calls = 0;                    ///< of all functions
  int device = 0;                   ///< the current one, of all threads
  cudaError_t error = cudaSuccess;  ///< what cudaGetLastError() returns
  /// Streams whose work some thread captures in cudaStreamCaptureModeGlobal. A call that is not allowed meanwhile
  /// fails, and breaks the captures.
  std::set<cudaStream_t> captured;
  int broken_captures = 0;

  static constexpr double FIRST_MS = 5.0;  ///< between the two events of a pair
  static constexpr double LATER_MS = 0.1;  ///< when they are recorded again
};

/// Of the library that has the fake. Exported under this name.
extern "C" FakeCuda* fake_cuda();
