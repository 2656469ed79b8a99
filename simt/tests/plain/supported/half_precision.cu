// FP16 and BF16: conversions, operators, fused operations, pairs. FP8: conversions.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

__global__ void half_precision_kernel(const float* in, float* out) {
  const int i = threadIdx.x;
  half x = __float2half(in[i]);
  x = __hfma(x, __float2half(2.0f), (half)1.0f);
  x += x * half(0.5f);
  half2 pair = __floats2half2_rn(1.0f, in[i]);
  pair = __hfma2(pair, __float2half2_rn(2.0f), __half2half2(x));
  const float2 both = __half22float2(pair);
  __nv_bfloat16 y = __float2bfloat16(in[i]);
  y = __hmul(y, __float2bfloat16(0.5f));
  const bool less = x < __float2half(10.0f);
  // To 24 bits and then to 11, this would be rounded up to 1 + 2^-9.
  const half close = half(in[i] / in[i] + 0x1p-10f);
  const bool once = (float)__hfma(close, half((1 - 0x1p-10f) * 0x1p-11f), close) == 1 + 0x1p-10f;
  const half2 roots = h2rsqrt(half2(half(0.25f), hrcp(half(4.0f))));
  const half third = __shfl_sync(0xffffffff, half(i % 32), 3);
  const float of_8_bits = float(__nv_fp8_e4m3(1.0625f)) + static_cast<float>(__nv_fp8_e5m2(half(1.125f)));  // 1 each
  const float functions = (float)third + (float)(roots.x + roots.y * hexp(half(0.0f)));
  out[i] =
      functions + of_8_bits - 2 + once + both.x + both.y + __bfloat162float(y) + __half2float(__hmax(x, pair.x)) + less;
}

void half_precision(const float* in, float* out) { half_precision_kernel<<<1, 64>>>(in, out); }

float half_precision_expected(const float* in, int i) {
  const float x = (2 * in[i] + 1) * 1.5f;
  return 7 + 1 + 2 + x + 2 * in[i] + x + in[i] / 2 + x + 2 + (x < 10);
}
