#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <vector>

/// What a graph holds, and calls back when it is destroyed.
struct FakeUserObject {
  void* argument;
  cudaHostFn_t destroy;
};

/// A pool of memory. Memory that is freed stays in it, in the pieces that it was allocated in, up to its threshold.
struct FakePool {
  std::size_t threshold = 0;
  std::size_t most = 0;  ///< that it may have; 0: no limit
  std::size_t in_use = 0;
  std::multiset<std::size_t> idle;     ///< bytes of pieces
  std::multiset<std::size_t> pending;  ///< of those that work on FakeCuda::busy still uses
  bool may_wait = true;                ///< an allocation for another stream than that

  std::size_t reserved() const;
  void trim(std::size_t bytes);
};

/// What the tests have instead of a GPU and its driver: some calls of CUDA's runtime, with the rules that matter here.
struct FakeCuda {
  int calls = 0;                    ///< of all functions
  int device = 0;                   ///< the current one, of all threads
  cudaError_t error = cudaSuccess;  ///< what cudaGetLastError() returns
  /// Streams whose work some thread captures in cudaStreamCaptureModeGlobal. A call that is not allowed meanwhile
  /// fails, and breaks the captures.
  std::set<cudaStream_t> captured;
  int broken_captures = 0;

  // Memory of the device. Of each device there is as much.
  std::size_t total = 0;
  std::size_t of_others = 0;  ///< that others have
  std::vector<std::unique_ptr<FakePool>> pools;
  std::map<void*, std::pair<FakePool*, std::size_t>> allocations;
  bool knows_limits = true;        ///< of pools, as drivers from 12.2 on
  cudaStream_t busy = nullptr;     ///< a stream whose work does not end
  int waits = 0;                   ///< of other streams for it
  std::set<cudaStream_t> waiting;  ///< those that wait
  int waits_of_host = 0;           ///< for one of these
  int refused_allocations = 0;
  int memory_nodes = 0;       ///< allocations that were captured
  int questions = 0;          ///< for the memory that is free
  int device_of_stream = -1;  ///< that was made last

  // The graph that streams are captured into, and what it holds.
  unsigned long long capture = 1;
  bool graph_refuses = false;
  std::vector<FakeUserObject> held;

  /// The graph is destroyed, and the next capture is another one.
  void destroy_graph();
  /// The program waits for the GPU: pools give back what is beyond their thresholds.
  void synchronize();
  std::size_t free() const;

  static constexpr double FIRST_MS = 5.0;  ///< between the two events of a pair
  static constexpr double LATER_MS = 0.1;  ///< when they are recorded again
};

/// Of the library that has the fake. Exported under this name.
extern "C" FakeCuda* fake_cuda();
