#include "single_block.hpp"

#include "instructions.cuh"
#include "launch.cuh"

namespace simt::test {
namespace {

constexpr std::size_t SMEM_BYTES = 1024;

template <class Kernel, class... Arguments>
void run(Kernel* kernel, int threads, Arguments... arguments) {
  launch(kernel, 1, dim3(static_cast<unsigned>(threads)), SMEM_BYTES, nullptr, arguments...);
}

__global__ void exit_before_barrier_kernel(float* out) {
  if (threadIdx.x == 255) {
    return;
  }
  __syncthreads();
  out[threadIdx.x] = 1.0F;
}

__global__ void different_barriers_kernel(float* out) {
  bar_sync(threadIdx.x < 64 ? 1 : 2, 128);
  out[threadIdx.x] = 1.0F;
}

__global__ void disagreement_kernel(float* out) {
  bar_sync(1, threadIdx.x < 64 ? 128 : 64);
  out[threadIdx.x] = 1.0F;
}

__global__ void odd_barrier_kernel(float* out) {
  bar_sync(1, 48);
  out[threadIdx.x] = 1.0F;
}

__global__ void exit_before_shuffle_kernel(float* out) {
  if (threadIdx.x == 35) {
    return;
  }
  out[threadIdx.x] = __shfl_sync(0xFFFFFFFF, static_cast<float>(threadIdx.x), 0);
}

__global__ void fail_last_kernel(float* out) {
  out[threadIdx.x] = 1.0F;
  if (threadIdx.x == 31) {
    cp_async<16>(shared_address(dynamic_smem() + 1), out);
  }
}

__global__ void different_masks_kernel(float* out) {
  if (threadIdx.x < 3) {
    __syncwarp(threadIdx.x == 0 ? 0x3 : 0x7);
  }
  out[threadIdx.x] = 1.0F;
}

__global__ void exit_before_half_warp_kernel(float* out) {
  if (threadIdx.x == 3 || threadIdx.x == 20) {
    return;
  }
  if (threadIdx.x >= 16) {
    __syncwarp(0xFFFF0000);
  }
  out[threadIdx.x] = 1.0F;
}

__global__ void leave_copy_kernel(const float* in, float* out) {
  float* const smem = dynamic_smem();
  cp_async_commit_group();
  cp_async_wait_group<0>();
  out[blockIdx.x * 32 + threadIdx.x] = smem[threadIdx.x];
  cp_async<4>(shared_address(smem + threadIdx.x), in + threadIdx.x);
}

__global__ void unmodelled_kernel(float*) { simt::not_supported("thread block clusters"); }

__global__ void aligned_kernel(float* out) {
  __shared__ __align__(16384) float values[32];
  auto address = reinterpret_cast<std::uintptr_t>(values);
  asm volatile("" : "+r"(address));  // the compiler would take the alignment for granted
  *out = static_cast<float>(address % 16384);
}

__global__ void ones_kernel(float* out) { out[threadIdx.x] = 1.0F; }

__global__ void misaligned_copy_kernel(float* out) { cp_async<16>(shared_address(dynamic_smem() + 1), out); }

__global__ void misaligned_source_kernel(float* out) {
  const std::size_t past_a_multiple = reinterpret_cast<std::uintptr_t>(out) % 16 == 0 ? 1 : 0;
  cp_async<16>(shared_address(dynamic_smem()), out + past_a_multiple);
}

__global__ void barrier_16_kernel(float* out) {
  bar_sync(16, 64);
  out[threadIdx.x] = 1.0F;
}

__global__ void shuffle_from_outside_kernel(float* out) {
  if (threadIdx.x < 16) {
    out[threadIdx.x] = __shfl_sync(0xFFFF, 1.0F, 16);
  }
}

__global__ void mask_without_caller_kernel(float* out) {
  __syncwarp(0xFFFFFFFE);
  out[threadIdx.x] = 1.0F;
}

__global__ void rotate_kernel(float* out, int delta) {
  const int lane = static_cast<int>(threadIdx.x % 16);
  out[threadIdx.x] = __shfl_sync(0xFFFFFFFF, static_cast<float>(threadIdx.x), lane + delta, 16);
}

__global__ void sum_lanes_kernel(float* out) {
  double sum = threadIdx.x;
  const unsigned first = threadIdx.x / 32 * 32;
  const unsigned lanes = 70 - first < 32 ? 70 - first : 32;
  const unsigned mask = lanes == 32 ? 0xFFFFFFFF : (1U << lanes) - 1;
  if (lanes == 32) {
    for (int step = 1; step < 32; step *= 2) {
      sum += __shfl_xor_sync(mask, sum, step);
    }
  } else {
    double total = 0.0;
    for (int source = 0; source < static_cast<int>(lanes); ++source) {
      total += __shfl_sync(mask, sum, source);
    }
    sum = total;
  }
  out[threadIdx.x] = static_cast<float>(sum);
}

__global__ void pass_to_second_warp_kernel(float* out) {
  __shared__ float passed[32];
  const unsigned lane = threadIdx.x % 32;
  if (threadIdx.x >= 64) {
    out[threadIdx.x] = 0.0F;
    return;
  }
  if (threadIdx.x >= 32) {
    bar_sync(3, 64);
    out[threadIdx.x] = passed[31 - lane];
  } else {
    passed[lane] = static_cast<float>(lane);
    bar_sync(3, 64);
    out[threadIdx.x] = 0.0F;
  }
}

__global__ void read_before_wait_kernel(const float* in, float* out) {
  float* const smem = dynamic_smem();
  const unsigned thread = threadIdx.x;
  cp_async<4>(shared_address(smem + thread), in + thread);
  cp_async_commit_group();
  cp_async<4>(shared_address(smem + 32 + thread), in + 32 + thread);
  cp_async_commit_group();
  cp_async_wait_group<1>();
  out[thread] = smem[thread];
  out[32 + thread] = smem[32 + thread];
  cp_async_wait_group<0>();
  out[64 + thread] = smem[32 + thread];
}

__global__ void read_uninitialised_kernel(float* out) { out[threadIdx.x] = dynamic_smem()[threadIdx.x]; }

}  // namespace

void exit_before_barrier(float* out) { run(exit_before_barrier_kernel, 256, out); }
void wait_at_different_barriers(float* out) { run(different_barriers_kernel, 128, out); }
void disagree_about_barrier(float* out) { run(disagreement_kernel, 128, out); }
void odd_barrier(float* out) { run(odd_barrier_kernel, 128, out); }
void exit_before_shuffle(float* out) { run(exit_before_shuffle_kernel, 64, out); }
void fail_last(float* out) { run(fail_last_kernel, 32, out); }
void meet_with_different_masks(float* out) { run(different_masks_kernel, 32, out); }
void exit_before_half_warp(float* out) { run(exit_before_half_warp_kernel, 32, out); }
void leave_copies(const float* in, float* out, int blocks) {
  launch(leave_copy_kernel, static_cast<unsigned>(blocks), dim3(32), SMEM_BYTES, nullptr, in, out);
}
void unmodelled(float* out) { run(unmodelled_kernel, 32, out); }
void too_many_threads(float* out) { run(ones_kernel, 1025, out); }
void too_many_layers(float* out) { launch(ones_kernel, 1, dim3(1, 1, 65), SMEM_BYTES, nullptr, out); }
void misaligned_copy(float* out) { run(misaligned_copy_kernel, 32, out); }
void misaligned_source(float* out) { run(misaligned_source_kernel, 32, out); }
void barrier_16(float* out) { run(barrier_16_kernel, 64, out); }
void shuffle_from_outside(float* out) { run(shuffle_from_outside_kernel, 32, out); }
void mask_without_caller(float* out) { run(mask_without_caller_kernel, 32, out); }
void align_to_four_pages(float* out) { run(aligned_kernel, 1, out); }
void rotate_half_warps(float* out, int delta) { run(rotate_kernel, 96, out, delta); }
void sum_lanes(float* out) { run(sum_lanes_kernel, 70, out); }
void pass_to_second_warp(float* out) { run(pass_to_second_warp_kernel, 96, out); }
void read_before_wait(const float* in, float* out) { run(read_before_wait_kernel, 32, in, out); }
void read_uninitialised(float* out) { run(read_uninitialised_kernel, 32, out); }

}  // namespace simt::test
