// More than 48 KiB of dynamic shared memory, after cudaFuncSetAttribute(); a variable of it outside of functions.
extern __shared__ float large_smem[];

__global__ void large_shared_memory_kernel(const float* in, float* out) {
  large_smem[threadIdx.x * 256] = in[threadIdx.x];
  __syncthreads();
  float* const first = large_smem;
  out[threadIdx.x] = first[(63 - threadIdx.x) * 256];
}

void large_shared_memory(const float* in, float* out) {
  const int bytes = 64 * 1024;
  cudaFuncSetAttribute(large_shared_memory_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  large_shared_memory_kernel<<<1, 64, bytes>>>(in, out);
}

float large_shared_memory_expected(const float* in, int i) { return in[63 - i]; }
