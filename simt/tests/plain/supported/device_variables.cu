// __constant__ and __device__ variables, copied to and from; device functions with every qualifier.
__constant__ float factors[2];
__device__ int threads_seen = 0;
static __device__ float table[64];
__device__ volatile int flag;

__device__ __noinline__ float scaled(float x) { return x * factors[1]; }
__device__ __forceinline__ float shifted(float x) { return x + factors[0]; }
__host__ __device__ constexpr int twice(int x) { return 2 * x; }

__global__ void __launch_bounds__(64, 1) device_variables_kernel(const float* __restrict__ in, float* __restrict__ out,
                                                                 const __grid_constant__ int3 offsets) {
  table[threadIdx.x] = scaled(in[threadIdx.x]);
  atomicAdd(&threads_seen, 1);
  __syncthreads();
  out[threadIdx.x] = shifted(table[63 - threadIdx.x]) + twice(offsets.y) + threads_seen + flag;
}

void device_variables(const float* in, float* out) {
  const float host[2] = {5.0f, 3.0f};
  const int none = 0;
  cudaMemcpyToSymbol(factors, host, sizeof host);
  cudaMemcpyToSymbol(threads_seen, &none, sizeof none);
  cudaMemcpyToSymbol(flag, &none, sizeof none);
  device_variables_kernel<<<1, 64>>>(in, out, make_int3(1, 10, 100));
}

float device_variables_expected(const float* in, int i) { return 3 * in[63 - i] + 5 + 20 + 64; }
