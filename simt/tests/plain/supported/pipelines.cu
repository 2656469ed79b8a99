// Asynchronous copies in C++: cuda::pipeline of a thread and of a block, cuda::barrier, <cuda_pipeline.h>,
// cooperative_groups::memcpy_async.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda_pipeline.h>
#include <cuda/barrier>
#include <cuda/pipeline>

__global__ void pipelines_kernel(const float* in, float* out) {
  constexpr int STAGES = 2;
  __shared__ __align__(16) float stages[STAGES][16], one[64], two[64], three[64];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, STAGES> state;
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
  auto block = cooperative_groups::this_thread_block();
  auto pipe = cuda::make_pipeline(block, &state);
  float sum = 0;
  for (int next = 0, now = 0; now < 4; ++now) {
    for (; next < 4 && next < now + STAGES; ++next) {
      pipe.producer_acquire();
      cuda::memcpy_async(block, stages[next % STAGES], in + next * 16, cuda::aligned_size_t<16>(64), pipe);
      pipe.producer_commit();
    }
    pipe.consumer_wait();
    sum += stages[now % STAGES][15 - threadIdx.x % 16];
    pipe.consumer_release();
  }

  if (threadIdx.x == 0) init(&barrier, blockDim.x);
  __syncthreads();
  cuda::memcpy_async(&one[threadIdx.x], &in[threadIdx.x], sizeof(float), barrier);
  auto token = barrier.arrive();
  barrier.wait(std::move(token));
  sum += one[63 - threadIdx.x];

  __pipeline_memcpy_async(&two[threadIdx.x], &in[threadIdx.x], sizeof(float));
  __pipeline_commit();
  __pipeline_wait_prior(0);
  sum += two[threadIdx.x];

  cooperative_groups::memcpy_async(block, three, in, sizeof three);
  cooperative_groups::wait(block);
  out[threadIdx.x] = sum + three[63 - threadIdx.x];
}

void pipelines(const float* in, float* out) { pipelines_kernel<<<1, 64>>>(in, out); }

float pipelines_expected(const float* in, int i) {
  float sum = 0;
  for (int stage = 0; stage < 4; ++stage) sum += in[stage * 16 + 15 - i % 16];
  return sum + 2 * in[63 - i] + in[i];
}
