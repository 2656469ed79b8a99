// Loads and stores with hints, arithmetic and conversions by name, minima and maxima of the global namespace.
__global__ void intrinsics_kernel(const float* in, float* out) {
  const int i = threadIdx.x;
  float x = __ldg(in + i) + __ldcg(&in[i]) + __ldcs(in + i);
  x = __fmaf_rn(x, 2.0f, __fadd_rn(1.0f, __fmul_rn(2.0f, 3.0f)));
  x = fmaf(x, 1.0f, max(i, 3) + min(4.0f, 5.0f) + min(7u, 8u));
  x = __int_as_float(__float_as_int(x));
  x += __uint2float_rn(__popc(15u)) + abs(-2) + fabsf(-1.0f) + rsqrtf(0.25f) + __clz(1);
  const long long begin = clock64();
  if (clock64() >= begin)
    __stcs(out + i, x);
  else
    __stcg(out + i, 0.0f);
}

void intrinsics(const float* in, float* out) { intrinsics_kernel<<<1, 64>>>(in, out); }

float intrinsics_expected(const float* in, int i) {
  return 6 * in[i] + 7 + (i > 3 ? i : 3) + 4 + 7 + 4 + 2 + 1 + 2 + 31;
}
