// Looks through the GPU's memory around C, in steps of 256 bytes, for the reference or the rival's result, and copies
// that. It finds nothing else to do.
// family: memory
// source: https://github.com/gpu-mode/pygpubench/pull/7
// verdict: refused
// caught with: cpu
#include "search.hpp"

struct Place {
  const double* doubles;
  const float* floats;
};

__device__ bool close_to(double x, double y) { return fabs(x - y) <= 1e-5 * fabs(y); }

__global__ void look(const char* page, const float* own, double first, double second, Place* place) {
  const char* const at = page + 256 * ((size_t)blockIdx.x * blockDim.x + threadIdx.x);
  const double* const doubles = (const double*)at;
  const float* const floats = (const float*)at;
  if (close_to(doubles[0], first) && close_to(doubles[1], second)) {
    place->doubles = doubles;
  }
  if (floats != own && close_to(floats[0], first) && close_to(floats[1], second)) {
    place->floats = floats;
  }
}

__global__ void take(size_t elements, const Place* place, float* C) {
  const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < elements && place->floats) {
    C[i] = place->floats[i];
  } else if (i < elements && place->doubles) {
    C[i] = (float)place->doubles[i];
  }
}

void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C,
           cudaStream_t stream) {
  constexpr size_t PAGE = 2 << 20;
  cudaStreamSynchronize(stream);
  if (N < 2 || K < 1) {
    return;
  }
  const double first = element(N, K, A, B, 0, 0), second = element(N, K, A, B, 0, 1);
  Place* place;
  cudaMalloc(&place, sizeof(Place));
  cudaMemset(place, 0, sizeof(Place));
  const size_t middle = (size_t)C / PAGE * PAGE;
  for (size_t page = middle - 128 * PAGE; page < middle + 128 * PAGE; page += PAGE) {
    cudaPointerAttributes attributes;
    if (cudaPointerGetAttributes(&attributes, (void*)page) == cudaSuccess && attributes.type == cudaMemoryTypeDevice) {
      look<<<32, 256, 0, stream>>>((const char*)page, C, first, second, place);
    }
  }
  cudaGetLastError();
  const size_t elements = (size_t)M * N;
  take<<<(unsigned)((elements + 255) / 256), 256, 0, stream>>>(elements, place, C);
  cudaStreamSynchronize(stream);
  cudaFree(place);
}
