// simt: add<<<1, 32>>>(in x[32], out y[32])
// simt: shared<<<1, 32>>>(out y[32])
__global__ void add(const float* x, float* y) { y[threadIdx.x] += x[threadIdx.x]; }
__global__ void shared(float* y) {
  __shared__ float values[33];
  values[threadIdx.x] = 1.0f;
  __syncthreads();
  y[threadIdx.x] = values[threadIdx.x + 1];
}
