// Fused multiplications and additions, which count as two operations.
__global__ void fused_kernel(const float* in, float* out) {
  out[threadIdx.x] = __fmaf_rn(in[threadIdx.x], in[threadIdx.x], 1.0f);
}

void fused(const float* in, float* out) { fused_kernel<<<1, 64>>>(in, out); }

float fused_expected(const float* in, int i) { return in[i] * in[i] + 1; }
