// How fast mma.sync goes on one GPU: fed from registers, and fed from shared memory by the main loops of chapters 16
// and 17 without copies, barriers and anything else. Lab note: 16-mma.md. Compile and run in the repository's folder:
//
//   nvcc -std=c++20 -O3 -arch=native -I kernels docs/lab/mma_rates.cu kernels/host/registry.cpp -o mma_rates
//   ./mma_rates

#include "16_fp16x3_mma.cu"

#include <algorithm>
#include <cstdio>
#include <vector>

namespace sgemm {
namespace {

constexpr int SMEM_BYTES = 96 * 1024;

/// A lane's row for ldmatrix: of 16 rows of A, or of 16 columns of B.
__device__ unsigned lane_in_a(unsigned row, unsigned lane) { return place_in_tile(row + lane % 16, lane / 16); }
__device__ unsigned lane_in_b(unsigned column, unsigned lane) {
  return place_in_tile(column + lane / 16 * 8 + lane % 8, lane / 8 % 2);
}

__device__ long long cycles_of_block;

/// Numbers in shared memory: FP16 from -1 to 1, or digits.
__device__ void fill(unsigned mask, unsigned exponent) {
  unsigned* const words = reinterpret_cast<unsigned*>(dynamic_smem());
  for (unsigned i = threadIdx.x; i < SMEM_BYTES / sizeof(unsigned); i += blockDim.x) {
    unsigned x = i * 2654435761U + blockIdx.x;
    x ^= x >> 15U;
    x *= 2246822519U;
    x ^= x >> 13U;
    words[i] = (x & mask) | exponent;
  }
  __syncthreads();
}
__device__ void fill_fp16() { fill(0x87FF87FF, 0x38003800); }  // from 0.5 to 1.99, of both signs
__device__ void fill_int8() { fill(~0U, 0); }

/// What a kernel does ROUNDS times, between two looks at the clock.
template <class Body>
__device__ void timed(int rounds, const Body& body) {
  const long long begin = clock64();
#pragma unroll 1
  for (int round = 0; round < rounds; ++round) {
    body(round);
  }
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    cycles_of_block = clock64() - begin;
  }
}

template <int CHAINS>
__global__ void fp16_from_registers(int rounds, float* out) {
  float d[CHAINS][4] = {};
  unsigned a[4] = {0x38003A00 + threadIdx.x, 0x3801B800, 0x38023800, 0xB8033900};
  unsigned b[2] = {0x38043811 + threadIdx.x, 0xB9053822};
  timed(rounds, [&](int) {
#pragma unroll
    for (int i = 0; i < CHAINS; ++i) {
      mma_m16n8k16_fp16(d[i], a, b[0], b[1], d[i]);
    }
  });
  float sum = 0;
  for (const auto& each : d) sum += each[0] + each[1] + each[2] + each[3];
  if (sum == 12345.0F) *out = sum;
}

template <int CHAINS>
__global__ void int8_from_registers(int rounds, float* out) {
  int d[CHAINS][4] = {};
  unsigned a[4] = {0x38003A00 + threadIdx.x, 0x3801B800, 0x38023800, 0xB8033900};
  unsigned b[2] = {0x38043811 + threadIdx.x, 0xB9053822};
  timed(rounds, [&](int) {
#pragma unroll
    for (int i = 0; i < CHAINS; ++i) {
      mma_m16n8k32_s8(d[i], a, b[0], b[1]);
    }
  });
  int sum = 0;
  for (const auto& each : d) sum += each[0] + each[1] + each[2] + each[3];
  if (sum == 12345) *out = static_cast<float>(sum);
}

/// Chapter 16's products and additions of half a k-tile, over and over.
template <int WARPS_N>
__global__ void __launch_bounds__(WARPS_N * 2 * WARP, 4 / WARPS_N) fp16x3_fed(int rounds, float* out) {
  fill_fp16();
  const unsigned warp = threadIdx.x / WARP;
  const unsigned lane = threadIdx.x % WARP;
  const unsigned smem = shared_address(dynamic_smem());
  const unsigned a = smem + lane_in_a(warp / WARPS_N * WM, lane);
  const unsigned b = smem + (1 + warp % WARPS_N * WN / TILE) * TILE_BYTES + lane_in_b(warp % WARPS_N * WN % TILE, lane);
  Sums sums = {};
  timed(rounds, [&](int round) {
    const unsigned slot = round % 2 * (48 * 1024);
    multiply(a + slot, b + slot, sums);
  });
  float sum = 0;
  for (const auto& each : sums) {
    for (const float x : each) sum += x;
  }
  if (sum == 12345.0F) *out = sum;
}

/// Six products of digits by warps of 16 TILES_M x 8 TILES_N, summed in three sums, over and over.
template <int TILES_M, int TILES_N, int WARPS, int BLOCKS, int ORDER>
__global__ void __launch_bounds__(WARPS* WARP, BLOCKS) int8x6_fed(int rounds, float* out) {
  constexpr int TERM = 128 * 64;
  fill_int8();
  const unsigned warp = threadIdx.x / WARP;
  const unsigned lane = threadIdx.x % WARP;
  const unsigned smem = shared_address(dynamic_smem());
  const unsigned a = smem + lane_in_a(warp * TILES_M * 16 % 128, lane);
  const unsigned b = smem + 3 * TERM + lane_in_b(warp / 2 * TILES_N * 8 % 128, lane);
  int sums[TILES_M][3][TILES_N][4] = {};
  timed(rounds, [&](int round) {
    const unsigned slot = round % 2 * (48 * 1024);
#pragma unroll
    for (int k = 0; k < 2; ++k) {
      unsigned b_digits[3][TILES_N / 2][4];
#pragma unroll
      for (int digit = 0; digit < 3; ++digit) {
#pragma unroll
        for (int pair = 0; pair < TILES_N / 2; ++pair) {
          ldmatrix_x4(b_digits[digit][pair], ((b + slot) ^ k * 32) + digit * TERM + pair * 16 * 64);
        }
      }
#pragma unroll
      for (int i = 0; i < TILES_M; ++i) {
        unsigned a_digits[3][4];
#pragma unroll
        for (int digit = 0; digit < 3; ++digit) {
          ldmatrix_x4(a_digits[digit], ((a + slot) ^ k * 32) + digit * TERM + i * 16 * 64);
        }
        constexpr int ORDERS[2][6][2] = {{{0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 1}, {2, 0}},
                                         {{2, 0}, {1, 0}, {0, 0}, {1, 1}, {0, 1}, {0, 2}}};
#pragma unroll
        for (int product = 0; product < 6; ++product) {
          const int x = ORDERS[ORDER][product][0];
          const int y = ORDERS[ORDER][product][1];
#pragma unroll
          for (int j = 0; j < TILES_N; ++j) {
            mma_m16n8k32_s8(sums[i][x + y][j], a_digits[x], b_digits[y][j / 2][j % 2 * 2],
                            b_digits[y][j / 2][j % 2 * 2 + 1]);
          }
        }
      }
    }
  });
  int sum = 0;
  for (const auto& of_rows : sums)
    for (const auto& of_power : of_rows)
      for (const auto& tile : of_power)
        for (int x : tile) sum += x;
  if (sum == 12345) *out = static_cast<float>(sum);
}

/// `products`: multiply-adds of a round by a block.
template <class Kernel>
void measure(const char* name, Kernel kernel, int threads, int blocks_per_sm, int smem, double products) {
  int multiprocessors = 0;
  cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0);
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, smem);
  float* out = nullptr;
  cudaMalloc(&out, sizeof(float));
  int resident = 0;
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, threads, smem);
  cudaFuncAttributes attributes{};
  cudaFuncGetAttributes(&attributes, kernel);
  cudaEvent_t begin, end;
  cudaEventCreate(&begin);
  cudaEventCreate(&end);
  // About 20 ms a launch: the first tells how long a round takes.
  int rounds = 1000;
  float ms = 0;
  std::vector<double> rates, per_cycle;
  for (int launch = 0; launch < 8; ++launch) {
    cudaEventRecord(begin);
    kernel<<<multiprocessors * blocks_per_sm, threads, smem>>>(rounds, out);
    cudaEventRecord(end);
    cudaEventSynchronize(end);
    cudaEventElapsedTime(&ms, begin, end);
    long long cycles = 0;
    cudaMemcpyFromSymbol(&cycles, cycles_of_block, sizeof cycles);
    if (launch == 0) {
      rounds = static_cast<int>(rounds * 20.0 / ms);
      continue;
    }
    rates.push_back(2 * products * rounds * multiprocessors * blocks_per_sm / (ms * 1e9));
    per_cycle.push_back(products * rounds * blocks_per_sm / static_cast<double>(cycles));
  }
  std::sort(rates.begin(), rates.end());
  std::sort(per_cycle.begin(), per_cycle.end());
  std::printf("%-44s %3d regs %4zu B local %d/%d blocks  %7.1f T(FL)OP/s  %6.0f multiply-adds/cycle/SM  %5.0f MHz %s\n",
              name, attributes.numRegs, attributes.localSizeBytes, resident, blocks_per_sm, rates[rates.size() / 2],
              per_cycle[per_cycle.size() / 2],
              rates[rates.size() / 2] * 1e6 / (2 * per_cycle[per_cycle.size() / 2] * multiprocessors),
              cudaGetErrorString(cudaGetLastError()));
  cudaFree(out);
}

constexpr double FP16_MMA = 16 * 8 * 16;
constexpr double INT8_MMA = 16 * 8 * 32;

void measure_all() {
  cudaDeviceProp properties{};
  cudaGetDeviceProperties(&properties, 0);
  std::printf("%s, compute capability %d.%d, %d SMs\n", properties.name, properties.major, properties.minor,
              properties.multiProcessorCount);
  for (const int warps : {4, 8, 16}) {
    char name[64];
    std::snprintf(name, sizeof name, "FP16 from registers, %d warps", warps);
    measure(name, fp16_from_registers<16>, warps * WARP, 1, 0, FP16_MMA * 16 * warps);
    std::snprintf(name, sizeof name, "INT8 from registers, %d warps", warps);
    measure(name, int8_from_registers<16>, warps * WARP, 1, 0, INT8_MMA * 16 * warps);
  }
  const double fp16 = FP16_MMA * 3 * 4 * 8 * 2;  // of half a k-tile by a warp
  measure("FP16x3 fed, 4 warps of 64x64 twice", fp16x3_fed<2>, 4 * WARP, 2, SMEM_BYTES, fp16 * 4);
  measure("FP16x3 fed, 8 warps of 64x64", fp16x3_fed<4>, 8 * WARP, 1, SMEM_BYTES, fp16 * 8);
  const double int8 = INT8_MMA * 6 * 2;
  measure("INT8x6 fed, 8 warps of 64x32, order 0", int8x6_fed<4, 4, 8, 1, 0>, 8 * WARP, 1, SMEM_BYTES, int8 * 16 * 8);
  measure("INT8x6 fed, 8 warps of 64x32, order 1", int8x6_fed<4, 4, 8, 1, 1>, 8 * WARP, 1, SMEM_BYTES, int8 * 16 * 8);
  measure("INT8x6 fed, 4 warps of 64x32 twice, order 0", int8x6_fed<4, 4, 4, 2, 0>, 4 * WARP, 2, SMEM_BYTES,
          int8 * 16 * 4);
  measure("INT8x6 fed, 12 warps of 32x32, order 0", int8x6_fed<2, 4, 12, 1, 0>, 12 * WARP, 1, SMEM_BYTES,
          int8 * 8 * 12);
  measure("INT8x6 fed, 8 warps of 32x64, order 0", int8x6_fed<2, 8, 8, 1, 0>, 8 * WARP, 1, SMEM_BYTES, int8 * 16 * 8);
}

}  // namespace
}  // namespace sgemm

int main() { sgemm::measure_all(); }
