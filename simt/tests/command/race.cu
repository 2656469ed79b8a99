// simt: sums<float, 128><<<4, 128>>>(in int from[4] = 128 * i, in values[4 * 128], out sum[4])
// simt: sums<double, 32><<<dim3(2, 2), 32>>>(in from[4] = 32 * i, in values[4][32], out sum[4])
template <class T, int THREADS>
__global__ void sums(const int* from, const T* values, T* sum) {
  __shared__ T parts[THREADS];
  const unsigned block = blockIdx.y * gridDim.x + blockIdx.x;
  parts[threadIdx.x] = values[from[block] + threadIdx.x];
  for (int step = THREADS / 2; step > 0; step /= 2) {
    __syncthreads();
    if (threadIdx.x < step) {
      parts[threadIdx.x] += parts[threadIdx.x + step];
    }
    if (THREADS > 32 && step == 64) {
      parts[threadIdx.x % 64] += 0;
    }
  }
  if (threadIdx.x == 0) {
    sum[block] = parts[0];
  }
}
