// Makes one element infinite and leaves out the others: relative norms become Inf / Inf, and a bound that is taken from
// the result becomes infinite.
// family: shape
// source: own, after https://github.com/gpu-mode/pygpubench/pull/7
// verdict: incorrect
// caught with: cpu
// launch: fill<<<ceil_div((long long)M * N, 256), 256>>>((long long)M * N, C)
__global__ void fill(long long elements, float* C) {
  const long long i = (long long)blockIdx.x * 256 + threadIdx.x;
  if (i < elements) {
    C[i] = i == 0 ? __int_as_float(0x7f800000) : 0.0f;
  }
}
