// Macros that tell the compiler and the architecture, printf and assert.
#include <assert.h>
#include <stdio.h>
#ifndef __CUDACC__
#error this is for nvcc
#endif

__global__ void architectures_kernel(const float* in, float* out) {
#if __CUDA_ARCH__ >= 800
  const float added = 1;
#else
  const float added = 2;
#endif
#if 0
  this is no code (
#endif
  assert(in != nullptr);
  if (in[threadIdx.x] < 0) printf("thread %d: '%f'\n", threadIdx.x, in[threadIdx.x]);
  out[threadIdx.x] = in[threadIdx.x] + added;
}

void architectures(const float* in, float* out) { architectures_kernel<<<1, 64>>>(in, out); }

float architectures_expected(const float* in, int i) { return in[i] + 1; }
