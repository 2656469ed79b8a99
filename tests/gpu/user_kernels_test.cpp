// Files as kernels on a real device: what their blocks occupy, workspaces, and factors by pointer.

#include "user/user_kernels.hpp"
#include "bench/case_runner.hpp"
#include "cpu/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

namespace sgemm {
namespace {

class UserKernelsTest : public TemporaryFolderTest {
 protected:
  static Record run(const std::string& source, float beta = 0.0F) {
    std::ofstream("my.cu") << source;
    const DeviceQuery query = query_device(0);
    UserOptions options;
    options.compile.compute_capability = query.device->compute_capability;
    const std::vector<Kernel> kernels = user_kernels({"my.cu"}, Target::for_gpu, options);
    Protocol protocol;
    protocol.beta = beta;
    protocol.max_seconds = 0.05;
    CaseRunner runner(protocol, query, CaseRunner::Settings{});
    return runner.run({&kernels.front(), {192, 160, 224}, {}}, [](std::string_view) {});
  }
};

/// Two kernels, of which the first has few registers. Both are launched by a host function, the second is a template.
constexpr const char* SPLIT = R"(
__global__ void clear(int count, float* sums) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) sums[i] = 0;
}
template <int THREADS>
__global__ void product(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C,
                        float* sums) {
  __shared__ float row_of_a[THREADS];
  extern __shared__ float unused[];
  const int row = blockIdx.y, column = blockIdx.x * THREADS + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < K; k += THREADS) {
    __syncthreads();
    row_of_a[threadIdx.x] = k + threadIdx.x < K ? A[row * K + k + threadIdx.x] : 0;
    __syncthreads();
    for (int i = 0; i < THREADS && k + i < K && column < N; ++i) sum += row_of_a[i] * B[(k + i) * N + column];
  }
  if (column < N) {
    sums[row * N + column] += sum;
    C[row * N + column] = alpha * sums[row * N + column] + (beta == 0 ? 0 : beta * C[row * N + column]);
  }
}
void multiply(int M, int N, int K, const float* alpha, const float* A, const float* B, const float* beta, float* C,
              float* sums, cudaStream_t on) {
  clear<<<(M * N + 63) / 64, 64, 0, on>>>(M * N, sums);
  product<128><<<dim3((N + 127) / 128, M), 128, 2048, on>>>(M, N, K, *alpha, A, B, *beta, C, sums);
}
// launch: multiply(M, N, K, &alpha, A, B, &beta, C, (float*)workspace, stream)
// workspace: 4 * M * N
)";

/// A right kernel with something else in its host function.
std::string product_and(const std::string& rest) {
  return R"(
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
__global__ void product(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  const int row = blockIdx.y, column = blockIdx.x * 64 + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < K && column < N; ++k) sum += A[row * K + k] * B[k * N + column];
  if (column < N) C[row * N + column] = alpha * sum + (beta == 0 ? 0 : beta * C[row * N + column]);
}
__global__ void wait(long long ns) {
  long long begin, now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin));
  do asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now)); while (now < begin + ns);
}
static int calls = 0;
void multiply(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C,
              cudaStream_t stream) {
  ++calls;
  product<<<dim3((N + 63) / 64, M), 64, 0, stream>>>(M, N, K, alpha, A, B, beta, C);
)" + rest +
         "}\n";
}

TEST_F(UserKernelsTest, AProcessThatEndsIsACaseThatFailed) {
  Record record = run(product_and("if (calls == 3) raise(SIGSEGV);"));
  EXPECT_EQ(record.outcome, Outcome::failed);
  EXPECT_EQ(record.reason, "crashed: Segmentation fault (signal 11)");
  record = run(product_and("if (calls == 3) exit(7);"));
  EXPECT_EQ(record.outcome, Outcome::failed);
  EXPECT_EQ(record.reason, "called exit(7)");
}

TEST_F(UserKernelsTest, ClocksAgreeAboutHonestWork) {
  const Record record = run(product_and(""));
  ASSERT_EQ(record.outcome, Outcome::measured) << record.reason;
  ASSERT_TRUE(record.clocks);
  EXPECT_LT(record.clocks->told_us, record.clocks->judged_us);
  EXPECT_LE(record.clocks->unexplained_us(), record.clocks->allowed_us());
}

TEST_F(UserKernelsTest, WorkThatIsLeftForLaterIsFound) {
  const Record record = run(product_and(R"(
  static cudaStream_t own = nullptr;
  static cudaEvent_t done;
  if (!own) {
    cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
  }
  cudaEventRecord(done, stream);
  cudaStreamWaitEvent(own, done, 0);
  wait<<<264, 512, 0, own>>>(1000000);
)"));
  EXPECT_EQ(record.outcome, Outcome::implausible) << record.reason;
}

TEST_F(UserKernelsTest, TellWhatABlockOfTheLargestKernelOccupies) {
  const Record record = run(SPLIT, 0.5F);
  ASSERT_EQ(record.outcome, Outcome::measured) << record.reason;
  EXPECT_TRUE(record.verified);
  EXPECT_EQ(record.workspace_bytes, 4U * 192U * 160U);
  ASSERT_TRUE(record.resources);
  EXPECT_EQ(record.resources->threads_per_block, 128);
  EXPECT_EQ(record.resources->smem_bytes, 128 * sizeof(float) + 2048);
  EXPECT_EQ(record.resources->spill_bytes, 0U);
  EXPECT_GT(record.resources->registers, 8);
  EXPECT_GE(record.resources->blocks_per_sm, 8);
  EXPECT_GT(*record.occupancy, 0.25);
}

TEST_F(UserKernelsTest, TakeFactorsByPointer) {
  const Record record = run(
      "__global__ void k(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {\n"
      "  const int row = blockIdx.y, column = blockIdx.x * 32 + threadIdx.x;\n"
      "  if (column >= N) return;\n"
      "  float sum = 0;\n"
      "  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + column];\n"
      "  C[row * N + column] = alpha * sum + beta * C[row * N + column];\n"
      "}\n"
      "void run(int M, int N, int K, const float* alpha, const float* A, const float* B, const float* beta, float* C) "
      "{\n"
      "  k<<<dim3((N + 31) / 32, M), 32>>>(M, N, K, *alpha, A, B, *beta, C);\n"
      "}\n",
      -2.0F);
  ASSERT_EQ(record.outcome, Outcome::measured) << record.reason;
  EXPECT_TRUE(record.verified);
  ASSERT_TRUE(record.resources);
  EXPECT_EQ(record.resources->threads_per_block, 32);
}

}  // namespace
}  // namespace sgemm
