// What libsgemm leaves to the program on a GPU: captures of other threads, errors, graphs that can be cloned, and
// memory. With an older libsgemm.so.0 in LD_LIBRARY_PATH these tests say what was wrong with it.

#include "device/cuda_handles.hpp"
#include "device/device_buffer.hpp"
#include "gemm_case.hpp"
#include "gpu/streams_and_memory.hpp"

#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

/// Launches of the libsgemm of tests/, which finds the function below before that of CUDA's runtime. The installed one
/// has a runtime of its own. One of the launches may fail.
struct Launches {
  bool seen = false;       ///< any
  int until_failure = -1;  ///< so many succeed, the next one fails, and all others succeed; -1: none fails
};
Launches launches;

}  // namespace

extern "C" __attribute__((visibility("default"))) cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config,
                                                                                  const void* kernel,
                                                                                  void** arguments) {
  static const auto real = reinterpret_cast<decltype(&cudaLaunchKernelExC)>(dlsym(RTLD_NEXT, "cudaLaunchKernelExC"));
  launches.seen = true;
  int& left = launches.until_failure;
  if (left >= 0 && left-- == 0) {
    cudaLaunchConfig_t no_blocks = *config;
    no_blocks.gridDim = {0, 0, 0};
    return real(&no_blocks, kernel, arguments);  // as CUDA fails: the error stays until somebody asks for it
  }
  return real(config, kernel, arguments);
}

namespace sgemm::test {
namespace {

constexpr std::size_t MIB = std::size_t{1} << 20U;

std::size_t free_bytes() {
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  return free_device_bytes();
}

/// Operands without managed memory, which would need room on the GPU itself. All numbers are 1.
class Square {
 public:
  explicit Square(std::int64_t size, std::int64_t batch = 1) : size_(size), batch_(batch) {
    const std::vector<float> ones(static_cast<std::size_t>(size * size * batch), 1.0F);
    for (DeviceBuffer<float>* const matrix : {&a_, &b_, &c_}) {
      *matrix = DeviceBuffer<float>(ones.size());
      matrix->copy_from_host(ones);
    }
  }

  sgemm_status_t multiply(sgemm_handle_t handle, float beta = 0.0F) {
    const float one = 1.0F;
    sgemm_product_t product = product_of(size_, size_, size_, SGEMM_OP_N, SGEMM_OP_N, batch_);
    product.alpha = &one;
    product.beta = &beta;
    product.a.x = a_.data();
    product.b.x = b_.data();
    product.d = c_.data();
    product.a.stride = product.b.stride = product.stride_of_d = size_ * size_;
    return sgemm_run(handle, &product);
  }
  /// Makes the first row of A infinite, or puts it back.
  void poison() { fill_first_row(INF); }
  void heal() { fill_first_row(1.0F); }
  /// The last element of C.
  float last() const {
    float value = 0.0F;
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(&value, c_.data() + c_.size() - 1, sizeof value, cudaMemcpyDeviceToHost), cudaSuccess);
    return value;
  }

 private:
  void fill_first_row(float value) {
    const std::vector<float> row(static_cast<std::size_t>(size_), value);
    EXPECT_EQ(cudaMemcpy(a_.data(), row.data(), row.size() * sizeof(float), cudaMemcpyHostToDevice), cudaSuccess);
  }

  std::int64_t size_;
  std::int64_t batch_;
  DeviceBuffer<float> a_;
  DeviceBuffer<float> b_;
  DeviceBuffer<float> c_;
};

TEST(NeverWorseTest, HandlesComeAndGoWhileAnotherThreadCaptures) {
  Square square(2048);
  const OwnStream captured;
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamBeginCapture(captured, cudaStreamCaptureModeGlobal), cudaSuccess);
  const auto intact = [&] {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    return cudaStreamIsCapturing(captured, &status) == cudaSuccess && status == cudaStreamCaptureStatusActive;
  };
  std::thread([&] {
    cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    cudaThreadExchangeStreamCaptureMode(&mode);  // for the test's own stream
    const OwnStream stream;
    cudaThreadExchangeStreamCaptureMode(&mode);
    EXPECT_TRUE(intact()) << "before";
    {
      const Handle handle;
      EXPECT_TRUE(intact()) << "create";
      EXPECT_EQ(sgemm_set_stream(handle, stream), SGEMM_STATUS_SUCCESS);
      EXPECT_EQ(square.multiply(handle), SGEMM_STATUS_SUCCESS);
      EXPECT_TRUE(intact()) << "multiply";
      EXPECT_EQ(sgemm_trim(handle), SGEMM_STATUS_SUCCESS);
      EXPECT_TRUE(intact()) << "trim";
    }
    EXPECT_TRUE(intact()) << "destroy";
    cudaThreadExchangeStreamCaptureMode(&mode);  // and for its end
  }).join();
  EXPECT_EQ(cudaStreamEndCapture(captured, &graph), cudaSuccess) << "the capture was broken";
  cudaGraphDestroy(graph);
  EXPECT_EQ(square.last(), 2048.0F);
}

TEST(NeverWorseTest, AnErrorOfTheProgramStays) {
  const Handle handle;
  Square square(4096);
  ASSERT_EQ(square.multiply(handle), SGEMM_STATUS_SUCCESS);
  ASSERT_EQ(square.last(), 4096.0F);
  Square larger(8192);
  const AllMemory taken;
  cudaGetLastError();
  ASSERT_NE(cudaSetDevice(1000), cudaSuccess);
  ASSERT_NE(cudaPeekAtLastError(), cudaSuccess);
  EXPECT_EQ(larger.multiply(handle), SGEMM_STATUS_SUCCESS);  // by cuBLAS
  EXPECT_NE(cudaGetLastError(), cudaSuccess);
  EXPECT_EQ(larger.multiply(handle), SGEMM_STATUS_SUCCESS);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "an error of the library";
  EXPECT_EQ(larger.last(), 8192.0F);
}

TEST(NeverWorseTest, GraphsCanBeClonedNestedAndInstantiatedTwice) {
  const Handle handle;
  const OwnStream stream;
  ASSERT_EQ(sgemm_set_stream(handle, stream), SGEMM_STATUS_SUCCESS);
  Square square(2048);
  ASSERT_EQ(square.multiply(handle), SGEMM_STATUS_SUCCESS);
  ASSERT_EQ(sgemm_trim(handle), SGEMM_STATUS_SUCCESS);
  const std::size_t before = free_bytes();
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  EXPECT_EQ(square.multiply(handle, 0.0F), SGEMM_STATUS_SUCCESS);
  EXPECT_EQ(square.multiply(handle, 1.0F), SGEMM_STATUS_SUCCESS);
  ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);

  std::size_t count = 0;
  ASSERT_EQ(cudaGraphGetNodes(graph, nullptr, &count), cudaSuccess);
  std::vector<cudaGraphNode_t> nodes(count);
  ASSERT_EQ(cudaGraphGetNodes(graph, nodes.data(), &count), cudaSuccess);
  for (const cudaGraphNode_t node : nodes) {
    cudaGraphNodeType type{};
    ASSERT_EQ(cudaGraphNodeGetType(node, &type), cudaSuccess);
    EXPECT_NE(type, cudaGraphNodeTypeMemAlloc);
    EXPECT_NE(type, cudaGraphNodeTypeMemFree);
  }
  cudaGraph_t clone = nullptr;
  cudaGraph_t parent = nullptr;
  cudaGraphNode_t child = nullptr;
  EXPECT_EQ(cudaGraphClone(&clone, graph), cudaSuccess);
  ASSERT_EQ(cudaGraphCreate(&parent, 0), cudaSuccess);
  EXPECT_EQ(cudaGraphAddChildGraphNode(&child, parent, nullptr, 0, graph), cudaSuccess);
  std::vector<cudaGraphExec_t> executables;
  for (const cudaGraph_t each : {graph, graph, clone, parent}) {
    cudaGraphExec_t executable = nullptr;
    if (each != nullptr && cudaGraphInstantiate(&executable, each, 0) == cudaSuccess) {
      executables.push_back(executable);
    }
  }
  EXPECT_EQ(executables.size(), 4U);
  for (cudaGraph_t each : {graph, clone, parent}) {
    cudaGraphDestroy(each);
  }
  for (const cudaGraphExec_t executable : executables) {  // the memory goes on with the last of them
    EXPECT_EQ(cudaGraphLaunch(executable, stream), cudaSuccess);
    EXPECT_EQ(square.last(), 2 * 2048.0F);
    cudaGraphExecDestroy(executable);
  }
  cudaGetLastError();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));  // CUDA tells of the end on a thread of its own
  EXPECT_EQ(sgemm_trim(handle), SGEMM_STATUS_SUCCESS);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(sgemm_trim(handle), SGEMM_STATUS_SUCCESS);
  EXPECT_GE(free_bytes() + 32 * MIB, before) << "the graph is gone, and its memory is not";
}

TEST(NeverWorseTest, HandlesShareThePoolAndGiveItBack) {
  Square square(8192);  // 0.8 GB of terms
  const auto use_six = [&] {
    for (const Handle& handle : std::array<Handle, 6>()) {
      ASSERT_EQ(square.multiply(handle), SGEMM_STATUS_SUCCESS);
      ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    }
  };
  use_six();  // handles of cuBLAS stay, with some memory, for the next ones
  const std::size_t before = free_bytes();
  use_six();
  EXPECT_GE(free_bytes() + 32 * MIB, before);

  const std::array<Handle, 6> handles;
  for (const Handle& handle : handles) {
    ASSERT_EQ(square.multiply(handle), SGEMM_STATUS_SUCCESS);
  }
  EXPECT_GE(free_bytes() + 1100 * MIB, before) << "each handle keeps the terms of its products";
}

/// As PyTorch does when it needs all memory.
TEST(NeverWorseTest, AProgramGetsWhatThePoolKeeps) {
  const Handle handle;
  Square square(8192);
  Square small(1024);  // its terms need memory
  ASSERT_EQ(square.multiply(handle), SGEMM_STATUS_SUCCESS);
  ASSERT_EQ(small.multiply(handle), SGEMM_STATUS_SUCCESS);
  const std::size_t free_beside_the_pool = free_bytes();
  const AllMemory taken;
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  const Square* const still = &square;
  ASSERT_EQ(small.multiply(handle), SGEMM_STATUS_SUCCESS);
  // CUDA takes what pools keep where cudaMalloc() would fail, and the call gives back what is left.
  EXPECT_GE(taken.bytes() + free_bytes(), free_beside_the_pool + 500 * MIB);
  cudaGetLastError();
  EXPECT_EQ(still->last(), 8192.0F);
}

/// Run with SGEMM_MEMORY=256M.
TEST(NeverWorseTest, SgemmMemoryIsALimit) {
  const char* const limit = std::getenv("SGEMM_MEMORY");
  if (limit == nullptr || std::string(limit) != "256M") {
    GTEST_SKIP() << "run it with SGEMM_MEMORY=256M";
  }
  const Handle handle;
  Square square(2048);
  Square large(8192);
  EXPECT_EQ(square.multiply(handle), SGEMM_STATUS_SUCCESS);
  EXPECT_EQ(large.multiply(handle), SGEMM_STATUS_SUCCESS);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  const std::size_t before = free_bytes();
  EXPECT_EQ(sgemm_trim(handle), SGEMM_STATUS_SUCCESS);
  EXPECT_LE(free_bytes(), before + 258 * MIB);
  EXPECT_LE(planned(handle, product_of(8192, 8192, 8192)).workspace_bytes, 256 * MIB);
  const sgemm_plan_t plan = planned(handle, product_of(2048, 2048, 2048));
  if (has_wgmma()) {
    EXPECT_STREQ(plan.kernel, "11_bf16x6");
  }
}

/// A row of Inf makes the library compute some of C without tensor cores. From the second call on that is known.
TEST(NeverWorseTest, OperandsThatAreSlowGoToCublas) {
  if (!has_wgmma() || std::getenv("SGEMM_REPEATABLE") != nullptr) {
    GTEST_SKIP() << "chapter 11 needs wgmma, and detours may not be switched off";
  }
  const Handle handle;
  Square square(2048);
  const auto milliseconds = [&](int calls) {
    const Event begin = make_event();
    const Event end = make_event();
    EXPECT_EQ(cudaEventRecord(begin.get(), nullptr), cudaSuccess);
    for (int call = 0; call < calls; ++call) {
      EXPECT_EQ(square.multiply(handle), SGEMM_STATUS_SUCCESS);
    }
    EXPECT_EQ(cudaEventRecord(end.get(), nullptr), cudaSuccess);
    EXPECT_EQ(cudaEventSynchronize(end.get()), cudaSuccess);
    float time = 0.0F;
    EXPECT_EQ(cudaEventElapsedTime(&time, begin.get(), end.get()), cudaSuccess);
    return time / static_cast<float>(calls);
  };
  milliseconds(20);  // clocks, and code
  const float fast = milliseconds(20);
  square.poison();
  milliseconds(1);
  milliseconds(1);
  const float detour = milliseconds(6);
  milliseconds(100);
  const float later = milliseconds(100);
  square.heal();
  for (int call = 0; call < 600; ++call) {
    square.multiply(handle);
    cudaDeviceSynchronize();
  }
  const float healed = milliseconds(20);
  std::printf("2048, ms: %.3f, with Inf %.3f and %.3f later, and without it again %.3f\n", fast, detour, later, healed);
  EXPECT_GT(detour, 1.7F * fast) << "cuBLAS takes more than twice as long as chapter 11";
  EXPECT_LT(later, 1.12F * detour) << "an H100 clocks a hundred calls of cuBLAS 6 % lower than six";
  EXPECT_LT(healed, 1.2F * fast);
}

TEST(NeverWorseTest, ALaunchThatFailsIsMadeUpForOrNamed) {
  if (!has_wgmma()) {
    GTEST_SKIP() << "chapter 11 needs wgmma";
  }
  const Handle handle;
  Square batch(4096, 3);  // two launches of two kernels each: the first one computes two products
  launches.seen = false;  // those of tests before, which need not be the library's
  ASSERT_EQ(batch.multiply(handle), SGEMM_STATUS_SUCCESS);
  ASSERT_EQ(batch.last(), 4096.0F);
  if (!launches.seen) {
    GTEST_SKIP() << "run it with the libsgemm of tests/ in LD_PRELOAD";
  }
  launches.until_failure = 2;
  EXPECT_EQ(batch.multiply(handle), SGEMM_STATUS_SUCCESS) << "C is not read";
  launches.until_failure = -1;
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_EQ(batch.last(), 4096.0F);
  launches.until_failure = 0;
  EXPECT_EQ(batch.multiply(handle), SGEMM_STATUS_SUCCESS);
  launches.until_failure = 2;
  EXPECT_EQ(batch.multiply(handle, 1.0F), SGEMM_STATUS_EXECUTION_FAILED) << "the first product is in C";
  launches.until_failure = -1;
  EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "an error of the library";
}

}  // namespace
}  // namespace sgemm::test
