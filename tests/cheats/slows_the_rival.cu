// Leaves a kernel on all multiprocessors for a millisecond, so that the rival's next sample finds them taken. The own
// next sample tells it to end.
// family: clock
// source: own
// verdict: refused
// caught with: cpu
// launch: sgemm(M, N, K, alpha, A, B, beta, C, stream)
#include "product.cuh"

__global__ void occupy(const volatile int* number, int own) {
  long long now, end = 0;
  do {
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    end = end ? end : now + 1000000;
  } while (now < end && *number == own);
}

__global__ void release(int* number, int next) { *number = next; }

void sgemm(int M, int N, int K, float alpha, Input A, Input B, float beta, float* C, cudaStream_t stream) {
  static cudaStream_t own = nullptr;
  static cudaEvent_t done;
  static int* number;
  static int calls = 0;
  if (!own) {
    cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
    cudaMalloc(&number, sizeof(int));
    cudaMemset(number, 0, sizeof(int));
  }
  release<<<1, 1, 0, stream>>>(number, ++calls);
  multiply(M, N, K, alpha, A, B, beta, C, stream);
  cudaEventRecord(done, stream);
  cudaStreamWaitEvent(own, done, 0);
  occupy<<<264, 1024, 0, own>>>(number, calls);
}
