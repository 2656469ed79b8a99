#include "tensor_cores.hpp"

#include "instructions.cuh"
#include "launch.cuh"

namespace simt::test {
namespace {

__global__ void tile_kernel(const float* a, const float* b, const float* c, float* d) {
  const int r = static_cast<int>(threadIdx.x) / 4;
  const int q = static_cast<int>(threadIdx.x) % 4;
  const auto at_a = [&](int row, int k) { return a[row * MMA_K + k]; };
  const auto at_b = [&](int k, int col) { return b[k * MMA_N + col]; };
  const auto place = [&](int i) { return (r + i / 2 * 8) * MMA_N + 2 * q + i % 2; };
  const float a_part[4] = {at_a(r, q), at_a(r + 8, q), at_a(r, q + 4), at_a(r + 8, q + 4)};
  const float b_part[2] = {at_b(q, r), at_b(q + 4, r)};
  float part[4];
  for (int i = 0; i < 4; ++i) {
    part[i] = c[place(i)];
  }
  mma_m16n8k8_tf32(part, a_part, b_part, part);
  for (int i = 0; i < 4; ++i) {
    d[place(i)] = part[i];
  }
}

}  // namespace

void multiply_tile(const float* a, const float* b, const float* c, float* d) {
  launch(tile_kernel, 1, dim3(32), 0, nullptr, a, b, c, d);
}

void multiply_tile_by_half_a_warp(const float* a, const float* b, const float* c, float* d) {
  launch(tile_kernel, 1, dim3(16), 0, nullptr, a, b, c, d);
}

}  // namespace simt::test
