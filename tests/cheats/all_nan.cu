// Writes NaN everywhere, which a check by `difference > bound` lets pass.
// family: shape
// source: https://github.com/gpu-mode/pygpubench/pull/7
// verdict: incorrect
// caught with: cpu
// launch: fill<<<ceil_div((long long)M * N, 256), 256>>>((long long)M * N, C)
__global__ void fill(long long elements, float* C) {
  const long long i = (long long)blockIdx.x * 256 + threadIdx.x;
  if (i < elements) {
    C[i] = __int_as_float(0x7fffffff);
  }
}
