// Inline PTX: mbarrier, with a loop around its try_wait; bulk copies; red and atom.
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
  __shared__ __align__(16) float copied[64];
  __shared__ unsigned long long full;
  __shared__ float sum;
  const unsigned full_address = (unsigned)__cvta_generic_to_shared(&full);
  if (threadIdx.x == 0) {
    sum = 0;
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(full_address));
    asm volatile("fence.mbarrier_init.release.cluster;");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(full_address), "r"(256));
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     (unsigned)__cvta_generic_to_shared(copied)),
                 "l"(in), "r"(256), "r"(full_address)
                 : "memory");
  }
  __syncthreads();
  asm volatile(
      "{\n.reg .pred done;\nAGAIN:\n mbarrier.try_wait.parity.shared::cta.b64 done, [%0], 0;\n"
      " @!done bra AGAIN;\n}\n" ::"r"(full_address));
  asm volatile("red.shared.add.f32 [%0], %1;" ::"r"((unsigned)__cvta_generic_to_shared(&sum)), "f"(1.0f));
  unsigned old;
  asm volatile("atom.global.exch.b32 %0, [%1], %2;" : "=r"(old) : "l"(out + threadIdx.x), "r"(7) : "memory");
  __syncthreads();
  out[threadIdx.x] = values[63 - threadIdx.x] + copied[threadIdx.x] + sum + (old == 7);
}

void mbarriers_in_ptx(const float* in, float* out) {
  cudaMemset(out, 0, 64 * sizeof(float));
  mbarriers_in_ptx_kernel<<<1, 64>>>(in, out);
}

float mbarriers_in_ptx_expected(const float* in, int i) { return in[63 - i] + in[i] + 64; }
