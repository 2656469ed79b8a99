// Atomic operations on global and shared memory, of every type.
__device__ float sum_of_floats;
__device__ double sum_of_doubles;
__device__ unsigned long long large;
__device__ unsigned ring;

__global__ void atomics_kernel(const float* in, float* out) {
  __shared__ int counts[2];
  __shared__ unsigned bits;
  __shared__ int lowest, highest, lock;
  __shared__ float swapped;
  const int thread = threadIdx.x;
  if (thread == 0) {
    counts[0] = counts[1] = 0;
    bits = 0;
    lowest = 1000;
    highest = -1;
    lock = 0;
    swapped = 0;
  }
  __syncthreads();
  atomicAdd(&counts[thread % 2], 1);
  atomicSub(&counts[0], 1);
  atomicOr(&bits, 1u << thread % 32);
  atomicXor(&bits, 0u);
  atomicAnd(&bits, 0xFFFFFFFFu);
  atomicMin(&lowest, thread + 7);
  atomicMax(&highest, thread);
  atomicExch(&swapped, 2.0f);
  int old = 0, assumed;
  do {
    assumed = old;
    old = atomicCAS(&lock, assumed, assumed + 1);
  } while (assumed != old);
  atomicAdd(&sum_of_floats, in[thread]);
  atomicAdd(&sum_of_doubles, 0.5);
  atomicAdd(&large, 1ull << 33);
  atomicInc(&ring, 9u);
  __syncthreads();
  const float results[8] = {float(counts[0]),
                            float(counts[1]),
                            float(bits == 0xFFFFFFFFu),
                            float(lowest),
                            float(highest),
                            float(lock),
                            swapped,
                            0};
  out[thread] = results[thread % 8];
}

__global__ void atomics_of_the_device(float* out) {
  out[7] = sum_of_floats;
  out[15] = static_cast<float>(sum_of_doubles);
  out[23] = static_cast<float>(large >> 33);
  out[31] = ring;
}

void atomics(const float* in, float* out) {
  const float none = 0;
  const double none_either = 0;
  const unsigned long long zeros = 0;
  cudaMemcpyToSymbol(sum_of_floats, &none, sizeof none);
  cudaMemcpyToSymbol(sum_of_doubles, &none_either, sizeof none_either);
  cudaMemcpyToSymbol(large, &zeros, sizeof zeros);
  cudaMemcpyToSymbol(ring, &zeros, sizeof(unsigned));
  atomics_kernel<<<1, 64>>>(in, out);
  atomics_of_the_device<<<1, 1>>>(out);
}

float atomics_expected(const float*, int i) {
  const float results[8] = {-32, 32, 1, 7, 63, 64, 2, 0};
  return i == 7 ? 64 * 65 / 2 : i == 15 ? 32 : i == 23 ? 64 : i == 31 ? 4 : results[i % 8];
}
