// simt: n = 1000; saxpy<<<(n + 127) / 128, 128>>>(n, 2.0f, in x[n], inout y[n])
__global__ void saxpy(int n, float a, const float* x, float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= n) {
    y[i] += a * x[i];
  }
}
