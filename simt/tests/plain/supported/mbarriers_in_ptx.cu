// Inline PTX: mbarrier, with a loop around its try_wait.
__global__ void mbarriers_in_ptx_kernel(const float* in, float* out) {
  __shared__ unsigned long long barrier;
  __shared__ float values[64];
  const unsigned address = (unsigned)__cvta_generic_to_shared(&barrier);
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address), "r"(64));
  }
  __syncthreads();
  values[threadIdx.x] = in[threadIdx.x];
  asm volatile("{ .reg .b64 state; mbarrier.arrive.shared::cta.b64 state, [%0]; }" ::"r"(address));
  asm volatile(
      "{\n"
      ".reg .pred P1;\n"
      "LAB_WAIT:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 P1, [%0], %1;\n"
      "@P1 bra DONE;\n"
      "bra LAB_WAIT;\n"
      "DONE:\n"
      "}\n" ::"r"(address),
      "r"(0));
  out[threadIdx.x] = values[63 - threadIdx.x];
}

void mbarriers_in_ptx(const float* in, float* out) { mbarriers_in_ptx_kernel<<<1, 64>>>(in, out); }

float mbarriers_in_ptx_expected(const float* in, int i) { return in[63 - i]; }
