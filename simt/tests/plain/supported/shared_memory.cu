// Shared memory: several variables in a declaration, sizes from template parameters, alignments, dynamic shared memory
// of any type, declared inside and outside of functions. A variable with a size is the kernel's own, although it says
// extern. The alignment is 1024 bytes: an H200 does not keep one of 16384.
extern __shared__ unsigned char bytes_outside[];

struct Begin {
  double value;
};

template <int THREADS>
__global__ void shared_memory_kernel(const float* in, float* out) {
  __shared__ __align__(16) float front[THREADS][2], back[THREADS + 1];
  extern __shared__ __align__(128) double dynamic[];
  extern __shared__ Begin own;
  extern __shared__ float own_too[THREADS];
  __shared__ __align__(1024) char far[4];
  __shared__ struct {
    int first;
    float second;
  } both;
  const int thread = threadIdx.x;
  front[thread][0] = in[thread];
  front[thread][1] = 1.0f;
  back[THREADS - thread] = in[thread];
  own_too[thread] = in[thread];
  dynamic[thread] = 0;
  reinterpret_cast<double*>(bytes_outside)[thread] = in[thread];
  if (thread == 0) {
    far[0] = reinterpret_cast<size_t>(far) % 1024 == 0 && __cvta_generic_to_shared(far) % 1024 == 0;
    own.value = 0;
    both.first = 3;
    both.second = 4.0f;
  }
  __syncthreads();
  const float2 pair = *reinterpret_cast<const float2*>(front[THREADS - 1 - thread]);
  out[thread] = pair.x + pair.y + back[thread + 1] +
                static_cast<float>(((double*)bytes_outside)[(thread + 1) % THREADS]) + both.first * both.second +
                far[0] + static_cast<float>(own.value) + own_too[thread] - in[thread];
}

void shared_memory(const float* in, float* out) { shared_memory_kernel<64><<<1, 64, 64 * sizeof(double)>>>(in, out); }

float shared_memory_expected(const float* in, int i) { return in[63 - i] + 1 + in[63 - i] + in[(i + 1) % 64] + 13; }
