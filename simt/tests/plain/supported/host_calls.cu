// What hosts call: memory, copies, streams, events, attributes, errors, the device's properties; cuBLAS mentioned.
#include <cublas_v2.h>
#include <cuda.h>
#include <device_launch_parameters.h>

#define CHECK(call)                                                                  \
  do {                                                                               \
    const cudaError_t error = (call);                                                \
    if (error != cudaSuccess) {                                                      \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error)); \
      exit(EXIT_FAILURE);                                                            \
    }                                                                                \
  } while (0)

__global__ void host_calls_kernel(const float* in, float* out, size_t pitch) {
  out[threadIdx.x] = in[threadIdx.x] + static_cast<float>(pitch);
}

__global__ void add_kernel(const float* in, float* out) { atomicAdd(&out[threadIdx.x], in[threadIdx.x]); }

inline cublasStatus_t multiply_with_cublas(cublasHandle_t handle, float* c) {
  return cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_T, 1, 1, 1, nullptr, c, 1, c, 1, nullptr, c, 1);
}

void host_calls(const float* in, float* out) {
  float on_host[64];
  float *from, *to;
  cudaDeviceProp properties;
  cudaGetLastError();  // of launches that were refused before
  CHECK(cudaGetDeviceProperties(&properties, 0));
  CHECK(cudaMalloc((void**)&from, 64 * sizeof(float)));
  CHECK(cudaMalloc(&to, 64 * sizeof(float)));
  CHECK(cudaMemcpy(on_host, in, sizeof on_host, cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpy(from, on_host, sizeof on_host, cudaMemcpyHostToDevice));
  CHECK(cudaMemset(to, 0, 64 * sizeof(float)));
  cudaStream_t stream;
  cudaEvent_t begin, end;
  int least, greatest, blocks, threads;
  CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  CHECK(cudaStreamCreateWithPriority(&stream, cudaStreamDefault, greatest));
  CHECK(cudaDeviceSetCacheConfig(cudaFuncCachePreferL1));
  CHECK(cudaOccupancyMaxPotentialBlockSize(&blocks, &threads, add_kernel, 0, properties.warpSize * 2));
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  CHECK(cudaEventRecord(begin));
  const int grid = blocks > 0 && threads > 0 ? 1 : 0;
  host_calls_kernel<<<grid, properties.warpSize * 2, 0, stream>>>(from, to, 3);
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));
  float milliseconds = -1;
  CHECK(cudaEventElapsedTime(&milliseconds, begin, end));
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemset(out, 0, 32 * sizeof(float)));  // so that a kernel may add to it
  CHECK(cudaMemcpy(out + 32, from + 32, 32 * sizeof(float), cudaMemcpyDefault));
  CHECK(cudaMemset(to + 32, 0, 32 * sizeof(float)));
  add_kernel<<<1, 64>>>(to, out);
  CHECK(cudaMemcpy(to, out, 64 * sizeof(float), cudaMemcpyDefault));
  CHECK(cudaMemcpy(on_host, to, sizeof on_host, cudaMemcpyDefault));
  on_host[0] += milliseconds < 0 ? 1 : 0;
  CHECK(cudaMemcpy(out, on_host, sizeof on_host, cudaMemcpyDefault));
  CHECK(cudaFree(from));
  CHECK(cudaFree(to));
  CHECK(cudaEventDestroy(begin));
  CHECK(cudaEventDestroy(end));
  CHECK(cudaStreamDestroy(stream));
}

float host_calls_expected(const float* in, int i) { return i < 32 ? in[i] + 3 : in[i]; }
