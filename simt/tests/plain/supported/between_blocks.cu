// Blocks that pass data on to one another in global memory, in the ways that order it.
#include <cooperative_groups.h>
#include <cuda/atomic>

/// The block that takes the last ticket reads what all others wrote; it sets the counter back by a plain store.
__device__ unsigned tickets;
__global__ void last_block_kernel(const float* in, float* parts, float* out) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    parts[blockIdx.x] = in[blockIdx.x];
    cuda::atomic_ref<unsigned, cuda::thread_scope_device> counter(tickets);
    last = counter.fetch_add(1, cuda::memory_order_acq_rel) == gridDim.x - 1;
  }
  __syncthreads();
  if (last) {
    out[threadIdx.x] = parts[threadIdx.x % gridDim.x];
    if (threadIdx.x == 1) tickets = 0;
  }
}

/// Blocks add to the same elements in the order of their index, by a semaphore.
__global__ void in_turn_kernel(const float* in, int* turn, float* out) {
  if (threadIdx.x == 0) {
    while (*reinterpret_cast<volatile int*>(turn) != static_cast<int>(blockIdx.x))
      ;
  }
  __syncthreads();
  out[threadIdx.x] += in[blockIdx.x];
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(turn, 1);
}

/// A block waits for the one before it, and for nobody else, and so knows of all before.
__global__ void look_back_kernel(const float* in, float* sums, int* states, float* out) {
  const int block = blockIdx.x;
  if (threadIdx.x == 0) {
    if (block > 0) {
      int state = 0;
      do {
        asm volatile("ld.global.acquire.gpu.s32 %0, [%1];" : "=r"(state) : "l"(states + block - 1) : "memory");
      } while (state == 0);
    }
    sums[block] = (block > 0 ? sums[block - 1] : 0) + in[block];
    asm volatile("st.release.gpu.global.s32 [%0], %1;" ::"l"(states + block), "r"(1) : "memory");
  }
  __syncthreads();
  if (block == 3 && threadIdx.x < 4) out[threadIdx.x] += sums[threadIdx.x];
}

/// A lock, which threads of one block take as well as those of others.
__global__ void lock_kernel(int* lock, float* out) {
  for (bool done = false; !done;) {
    if (atomicCAS(lock, 0, 1) == 0) {
      out[63] += 1;
      __threadfence();
      atomicExch(lock, 0);
      done = true;
    }
  }
}

/// A thread waits for another one of its block.
__global__ void flag_kernel(int* flag, float* out) {
  if (threadIdx.x == 0) {
    while (atomicAdd(flag, 0) == 0)
      ;
    out[62] += 1;
  } else {
    atomicExch(flag, 1);
  }
}

/// What a block writes between two barriers of the grid is read behind the second one.
__global__ void phases_kernel(float* values, float* out) {
  const cooperative_groups::grid_group grid = cooperative_groups::this_grid();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int phase = 0; phase < 3; ++phase) {
    values[i] = phase;
    grid.sync();
    const float other = values[63 - i];
    grid.sync();
    values[i] = other;
  }
  out[i] += values[i];
}

__global__ void __cluster_dims__(2) cluster_memory_kernel(float* values, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  values[i] = 10;
  cooperative_groups::this_cluster().sync();
  out[i] += values[i ^ 32];
}

void between_blocks(const float* in, float* out) {
  float* parts;
  int* flags;
  cudaMalloc(&parts, 64 * sizeof(float));
  cudaMalloc(&flags, 8 * sizeof(int));
  cudaMemset(flags, 0, 8 * sizeof(int));
  last_block_kernel<<<4, 64>>>(in, parts, out);
  in_turn_kernel<<<4, 64>>>(in, flags, out);
  look_back_kernel<<<4, 32>>>(in, parts, flags + 1, out);
  lock_kernel<<<2, 32>>>(flags + 5, out);
  flag_kernel<<<1, 2>>>(flags + 6, out);
  void* arguments[] = {&parts, &out};
  cudaLaunchCooperativeKernel((void*)phases_kernel, 64, 1, arguments);
  cluster_memory_kernel<<<2, 32>>>(parts, out);
  cudaFree(parts);
  cudaFree(flags);
}

float between_blocks_expected(const float* in, int i) {
  float expected = in[i % 4] + in[0] + in[1] + in[2] + in[3] + 2 + 10;
  for (int j = 0; i < 4 && j <= i; ++j) expected += in[j];
  return expected + (i == 63 ? 64 : i == 62 ? 1 : 0);
}
