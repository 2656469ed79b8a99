// Files as kernels on a real device: what their blocks occupy, workspaces, and factors by pointer.

#include "user/user_kernels.hpp"
#include "bench/case_runner.hpp"
#include "fixtures/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <fstream>

namespace sgemm {
namespace {

class UserKernelsTest : public TemporaryFolderTest {
 protected:
  /// Of the second case, where there are `cases` of the same.
  static Record run(const std::string& source, float beta = 0.0F, const char* launch = nullptr, int cases = 1,
                    Distribution data = Distribution::uniform) {
    std::ofstream("my.cu") << source;
    const DeviceQuery query = query_device(0);
    UserOptions options;
    options.compile.compute_capability = query.device->compute_capability;
    if (launch != nullptr) {
      options.compile.device_code = true;
      options.launch.launch = launch;
    }
    const std::vector<Kernel> kernels = user_kernels({"my.cu"}, Target::for_gpu, options);
    Protocol protocol;
    protocol.beta = beta;
    protocol.max_seconds = 0.05;
    protocol.data = {data};
    CaseRunner runner(protocol, query, CaseRunner::Settings{});
    Record record = runner.run({&kernels.front(), {192, 160, 224}, {}}, [](std::string_view) {});
    for (int next = 1; next < cases; ++next) {
      record = runner.run({&kernels.front(), {192, 160, 224}, {}}, [](std::string_view) {});
    }
    return record;
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

/// Five launches: one without parameters, a static kernel, a template in a namespace without a name, one with a
/// structure, bytes and a double among its parameters, and one with dynamic shared memory beyond 48 KiB. None of the
/// host code may run.
constexpr const char* DEVICE_CODE = R"(
#include <cstdlib>
static const int ENDS = (std::abort(), 1);
constexpr int threads_for(int columns) { return columns < 128 ? 64 : 128; }
struct Rows { const float* first; char before; long long step; };
static __global__ void clear(int count, float* sums) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) sums[i] = 0;
}
namespace {
template <class Number, int PART>
__global__ void add(int N, int K, char odd, Rows a, double one, const Number* __restrict__ B, Number* sums) {
  extern __shared__ float row[];
  const int y = blockIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = threadIdx.x; k < K; k += blockDim.x) row[k] = a.first[y * a.step + k];
  __syncthreads();
  if (column >= N) return;
  float sum = 0;
  for (int k = PART; k < K; k += 2) sum += row[k] * B[k * N + column];
  sums[y * N + column] += odd == 'o' ? one * sum : 0;
}
}
__global__ void nothing() {}
__global__ void store(int count, const float alpha, float beta, const float* sums, float* C) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) C[i] = alpha * sums[i] + (beta == 0 ? 0 : beta * C[i]);
}
// workspace: 4 * M * N + 64
// requires: M % 2 == 0 && threads_for(64) == 64
)";

constexpr const char* ITS_LAUNCH =
    "const dim3 grid(CEIL_DIV(N, threads_for(N)), M); nothing<<<1, 32>>>();"
    "clear<<<CEIL_DIV(M * N, 64), 64>>>(M * N, (float*)workspace + 16);"
    "add<float, 0><<<grid, threads_for(N), 64 << 10>>>(N, K, 'o', Rows{A, 'x', lda}, 1, B, (float*)workspace + 16);"
    "add<float, 1><<<grid, threads_for(N), 64 << 10>>>(N, K, 'o', Rows{A, 'x', lda}, 1, B, (float*)workspace + 16);"
    "store<<<CEIL_DIV(M * N, 256), 256>>>(M * N, alpha, beta, (float*)workspace + 16, C)";

TEST_F(UserKernelsTest, DeviceCodeRunsWithoutTheFilesHostCode) {
  for (const float beta : {0.0F, -2.0F}) {
    const Record record = run(DEVICE_CODE, beta, ITS_LAUNCH);
    ASSERT_EQ(record.outcome, Outcome::measured) << record.reason;
    EXPECT_TRUE(record.verified);
    EXPECT_FALSE(record.file->host_code);
    EXPECT_EQ(record.workspace_bytes, 4U * 192U * 160U + 64U);
    ASSERT_TRUE(record.resources);
    EXPECT_EQ(record.resources->spill_bytes, 0U);
    EXPECT_GT(record.resources->blocks_per_sm, 0);
  }
}

/// Parts of sums by a cluster's two blocks in memory that is filled with zeros, a grid whose blocks wait for each
/// other, and a box of A that the copy engine brings.
constexpr const char* WORDS = R"(
#include <cuda.h>
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
// partial sums of a cluster's two blocks, in zero-filled workspace
__global__ void part(int M, int N, int K, const float* A, const float* B, float* sums) {
  const unsigned rank = cg::this_cluster().block_rank();
  const unsigned blocks = cg::this_cluster().num_blocks();
  const int row = blockIdx.y, column = blockIdx.x / 2 * 128 + threadIdx.x;
  if (column >= N) return;
  float sum = 0;
  for (int k = (int)rank; k < K; k += blocks) sum += A[row * K + k] * B[k * N + column];
  atomicAdd(&sums[row * N + column], sum);
}
// all blocks wait for each other, then store
__global__ void store(int M, int N, float* sums, float* C) {
  cg::grid_group grid = cg::this_grid();
  const int all = M * N;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < all; i += gridDim.x * blockDim.x) sums[i] *= 2;
  grid.sync();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < all; i += gridDim.x * blockDim.x) C[all - 1 - i] = sums[all - 1 - i] / 2;
}
// adds the boxes of A to nothing: reads a box and checks it
__global__ void boxes(const __grid_constant__ CUtensorMap map, int K, const float* A, float* C) {
  __shared__ alignas(1024) float box[32 * 32];
  __shared__ alignas(8) unsigned long long barrier;
  const unsigned b = (unsigned)__cvta_generic_to_shared(&barrier);
  const unsigned at = (unsigned)__cvta_generic_to_shared(box);
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(b));
    asm volatile("fence.proxy.async;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 4096;" ::"r"(b) : "memory");
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
      ::"r"(at), "l"(&map), "r"(0), "r"(32), "r"(b) : "memory");
  }
  __syncthreads();
  asm volatile("{ .reg .pred p;\n again: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0;\n @!p bra again; }" ::"r"(b) : "memory");
  const int row = threadIdx.x / 32, column = threadIdx.x % 32;
  if (box[threadIdx.x] != A[(row + 32) * K + column]) C[0] = -12345;
}
// workspace: 4 * M * N
)";

TEST_F(UserKernelsTest, DeviceCodeHasClustersCooperativeLaunchesFilledMemoryAndTensorMaps) {
  if (query_device(0).device->compute_capability < 90) {
    GTEST_SKIP() << "clusters and tensor maps came with compute capability 9.0";
  }
  const Record record = run(WORDS, 0.0F,
                            "cudaMemsetAsync(workspace, 0, 4 * M * N, stream); cluster(2);"
                            "part<<<dim3(2 * ceil_div(N, 128), M), 128>>>(M, N, K, A, B, (float*)workspace);"
                            "cooperative(); store<<<64, 256>>>(M, N, (float*)workspace, C);"
                            "boxes<<<1, 1024>>>(tensor_map(A, M, K, lda, 32, 32), K, A, C)");
  ASSERT_EQ(record.outcome, Outcome::measured) << record.reason;
  EXPECT_TRUE(record.verified);
  const Record fills_a = run(WORDS, 0.0F, "cudaMemsetAsync(A, 0, 4, stream); store<<<1, 32>>>(M, N, C, C)");
  EXPECT_EQ(fills_a.reason, "its launch line fills memory that is neither C nor the workspace");
}

/// Factors and extents that a host would copy: to constants of several names, and to a part of one.
constexpr const char* CONSTANTS = R"(
struct Extents { int m, n, k; };
static __constant__ float factors[4];
namespace { __constant__ Extents extents; }
namespace mine { __constant__ int ends[2]; }
__global__ void product(const float* A, const float* B, float* C) {
  const int row = blockIdx.y, column = blockIdx.x * 32 + threadIdx.x;
  if (row >= mine::ends[0] || column >= mine::ends[1]) return;
  float sum = 0;
  for (int k = 0; k < extents.k; ++k) sum += A[row * extents.k + k] * B[k * extents.n + column];
  float* const c = &C[row * extents.n + column];
  *c = factors[2] * sum + (factors[3] == 0 ? 0 : factors[3] * *c);
}
)";
constexpr const char* COPIES_AND_LAUNCH =
    "const float both[] = {alpha, beta}; const Extents all{M, N, K}; cudaMemcpyToSymbol(extents, &all, sizeof(all));"
    "cudaMemcpyToSymbol(factors, both, sizeof(both), 2 * sizeof(float)); cudaMemcpyToSymbol(mine::ends, &all, 8);"
    "product<<<dim3(ceil_div(N, 32), M), 32>>>(A, B, C)";

TEST_F(UserKernelsTest, DeviceCodeHasConstantsToCopy) {
  const Record record = run(CONSTANTS, -0.5F, COPIES_AND_LAUNCH, 2);
  ASSERT_EQ(record.outcome, Outcome::measured) << record.reason;
  EXPECT_TRUE(record.verified);
  EXPECT_EQ(run(CONSTANTS, 0.0F, "cudaMemcpyToSymbol(factors, &A, sizeof(A)); product<<<1, 32>>>(A, B, C)").reason,
            "its launch line copies an operand's address to a constant, and operands move");
  EXPECT_EQ(run(CONSTANTS, 0.0F,
                "const int all[5] = {}; cudaMemcpyToSymbol(mine::ends, all, 20); product<<<1, 32>>>(A, B, C)")
                .reason,
            "its launch line copies to byte 20 of mine::ends, which has 8");
}

/// Right while its module is new. A judgement asks for many cases, so one that counts them could tell which is which.
constexpr const char* COUNTS_LAUNCHES = R"(
__device__ int launched = 0;
__global__ void count() { ++launched; }
__global__ void product(int M, int N, int K, const float* A, const float* B, float* C) {
  const int row = blockIdx.y, column = blockIdx.x * 32 + threadIdx.x;
  if (column >= N) return;
  float sum = 0;
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + column];
  C[row * N + column] = launched < MOST ? sum : 0;
}
)";
constexpr const char* COUNT_AND_LAUNCH =
    "product<<<dim3(ceil_div(N, 32), M), 32>>>(M, N, K, A, B, C); count<<<1, 1>>>()";

TEST_F(UserKernelsTest, NothingThatACaseLeavesInTheModuleReachesTheNext) {
  const Record measured = run("#define MOST 1000000\n" + std::string(COUNTS_LAUNCHES), 0.0F, COUNT_AND_LAUNCH);
  ASSERT_EQ(measured.outcome, Outcome::measured) << measured.reason;
  const Record few = run("#define MOST 1\n" + std::string(COUNTS_LAUNCHES), 0.0F, COUNT_AND_LAUNCH, 2);
  EXPECT_EQ(few.outcome, Outcome::incorrect);
  EXPECT_EQ(few.reason.find("timed round 1: "), 0U) << few.reason;  // and not when it was verified
}

/// Right for numbers between -1 and 1 alone, of which it does not look at any.
TEST_F(UserKernelsTest, ADecoyIsNoUniformOperandButForAFew) {
  const std::string fixed =
      "__device__ float fixed(float x) { return rintf(fminf(fmaxf(x, -1), 1) * 0x1p23f) * 0x1p-23f; }\n"
      "__global__ void product(int M, int N, int K, const float* A, const float* B, float* C) {\n"
      "  const int row = blockIdx.y, column = blockIdx.x * 32 + threadIdx.x;\n"
      "  if (column >= N) return;\n"
      "  float sum = 0;\n"
      "  for (int k = 0; k < K; ++k) sum += fixed(A[row * K + k]) * fixed(B[k * N + column]);\n"
      "  C[row * N + column] = sum;\n"
      "}\n";
  constexpr const char* LAUNCH = "product<<<dim3(ceil_div(N, 32), M), 32>>>(M, N, K, A, B, C)";
  EXPECT_EQ(run(fixed, 0.0F, LAUNCH).outcome, Outcome::measured);
  EXPECT_EQ(run(fixed, 0.0F, LAUNCH, 1, Distribution::outliers).outcome, Outcome::incorrect);
}

/// A file's macros hold for the kernel that writes its plan.
TEST_F(UserKernelsTest, APlanThatAFileWritesHasToHoldAllThatTheKernelReads) {
  const Record record = run(
      "struct Long { float bytes[1000]; };\n"
      "extern \"C\" __global__ void sgemm_user_plan_0(char (*)[24], unsigned* plan) { plan[18] = 1; plan[20] = 4; }\n"
      "#define sgemm_user_plan_0 sgemm_plan_of_nobody\n"
      "__global__ void sgemm(Long found, float* C) { C[threadIdx.x] = found.bytes[threadIdx.x]; }\n",
      0.0F, "sgemm<<<1, 32>>>(Long{}, C)");
  EXPECT_EQ(record.outcome, Outcome::failed);
  EXPECT_EQ(record.reason, "a kernel takes other parameters than its launch passes");
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

}  // namespace
}  // namespace sgemm
