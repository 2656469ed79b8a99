#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <vector>

/// Takes the memory of the current GPU, down to pieces of 2 MiB, until it is destroyed.
class AllMemory {
 public:
  AllMemory() {
    for (std::size_t bytes = std::size_t{1} << 36U; bytes >= std::size_t{1} << 21U;) {
      void* memory = nullptr;
      if (cudaMalloc(&memory, bytes) == cudaSuccess) {
        taken_.push_back(memory);
        bytes_ += bytes;
      } else {
        cudaGetLastError();
        bytes /= 2;
      }
    }
  }
  ~AllMemory() {
    for (void* const memory : taken_) {
      cudaFree(memory);
    }
  }
  AllMemory(const AllMemory&) = delete;
  AllMemory& operator=(const AllMemory&) = delete;

  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_ = 0;
  std::vector<void*> taken_;
};

namespace sgemm::test {

/// A stream that waits for no other one.
class OwnStream {
 public:
  OwnStream() { EXPECT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess); }
  ~OwnStream() { cudaStreamDestroy(stream_); }
  OwnStream(const OwnStream&) = delete;
  OwnStream& operator=(const OwnStream&) = delete;
  operator cudaStream_t() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

/// A graph of what `enqueue` enqueues on a stream.
class CapturedGraph {
 public:
  CapturedGraph(cudaStream_t stream, const std::function<void()>& enqueue) : stream_(stream) {
    EXPECT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
    enqueue();
    EXPECT_EQ(cudaStreamEndCapture(stream, &graph_), cudaSuccess);
    EXPECT_EQ(cudaGraphInstantiate(&executable_, graph_, 0), cudaSuccess);
  }
  ~CapturedGraph() {
    cudaGraphExecDestroy(executable_);
    cudaGraphDestroy(graph_);
  }
  CapturedGraph(const CapturedGraph&) = delete;
  CapturedGraph& operator=(const CapturedGraph&) = delete;

  cudaError_t replay() const { return cudaGraphLaunch(executable_, stream_); }

 private:
  cudaStream_t stream_;
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t executable_ = nullptr;
};

}  // namespace sgemm::test
