#include <cuda_runtime.h>
#include <gtest/gtest.h>
#include <simt/checked_arrays.hpp>
#include <simt/executor.hpp>

#include <vector>

constexpr int N = 64;

__global__ void differences(const float* in, float* out, bool wait) {
  __shared__ float values[N];
  values[threadIdx.x] = in[threadIdx.x];
  if (wait) {
    __syncthreads();
  }
  out[threadIdx.x] = threadIdx.x == 0 ? 0.0F : values[threadIdx.x] - values[threadIdx.x - 1];
}

std::vector<float> run(bool wait) {
  std::vector<float> in(N, 1.0F), out(N, -1.0F);
  const simt::CheckedArrays arrays({simt::input("in", in), simt::output("out", out)});
  const cudaLaunchConfig_t config{1, N};
  EXPECT_EQ(cudaLaunchKernelEx(&config, differences, in.data(), out.data(), wait), cudaSuccess);
  return out;
}

TEST(Differences, AreThoseOfNeighbours) { EXPECT_EQ(run(true), std::vector<float>(N, 0.0F)); }

TEST(Differences, RaceIsFoundWithoutTheBarrier) {
  try {
    run(false);
    FAIL() << "no race was found";
  } catch (const simt::Error& error) {
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "which thread (0,0,0) wrote, and no barrier lies in between",
                        error.what());
  }
}
