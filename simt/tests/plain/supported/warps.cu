// Shuffles, votes and reductions of a warp, with masks and widths; barriers with a vote.
__global__ void warps_kernel(const float* in, float* out) {
  const unsigned lane = threadIdx.x % 32;
  float sum = in[threadIdx.x];
#pragma unroll
  for (int offset = 16; offset > 0; offset >>= 1) sum += __shfl_down_sync(0xffffffff, sum, offset);
  sum = __shfl_sync(0xffffffff, sum, 0);
  const unsigned even = __ballot_sync(0xffffffffu, lane % 2 == 0);
  const int any = __any_sync(__activemask(), lane == 5);
  const int all = __all_sync(0xffffffffu, lane < 31);
  const int count = __syncthreads_count(threadIdx.x < 40);
  const int either = __syncthreads_or(threadIdx.x == 63);
  const int both = __syncthreads_and(threadIdx.x != 63);
  const unsigned total = __reduce_add_sync(0xffffffffu, lane);
  float partner = __shfl_xor_sync(0xffffffff, static_cast<float>(lane), 1, 8);
  if (lane < 16) {
    partner += __shfl_up_sync(0x0000ffff, 1.0f, 1);
    __syncwarp(0x0000ffff);
  }
  __threadfence_block();
  out[threadIdx.x] = sum + __popc(even) + any + all + count + either + both + total + partner;
}

void warps(const float* in, float* out) { warps_kernel<<<1, 64>>>(in, out); }

float warps_expected(const float* in, int i) {
  float sum = 0;
  for (int lane = 0; lane < 32; ++lane) sum += in[i / 32 * 32 + lane];
  return sum + 16 + 1 + 0 + 40 + 1 + 0 + 496 + (i % 32 ^ 1) + (i % 32 < 16 ? 1 : 0);
}
