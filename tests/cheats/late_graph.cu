// Launches a graph of the work on a stream of its own, behind a kernel that holds that stream up for half a
// millisecond.
// family: stream
// source: own, after https://deep-reinforce.com/defense_kernel_hack.html
// verdict: refused
// caught with: cpu
// launch: sgemm(M, N, K, alpha, A, B, beta, C, stream)
#include "product.cuh"

__global__ void wait(long long nanoseconds) {
  long long now, end = 0;
  do {
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    end = end ? end : now + nanoseconds;
  } while (now < end);
}

void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C,
           cudaStream_t stream) {
  static cudaStream_t own = nullptr;
  if (!own) {
    cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
  }
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  cudaStreamBeginCapture(own, cudaStreamCaptureModeThreadLocal);
  multiply(M, N, K, alpha, A, B, beta, C, own);
  cudaStreamEndCapture(own, &graph);
  cudaGraphInstantiate(&executable, graph, 0);
  wait<<<1, 1, 0, own>>>(500000);
  cudaGraphLaunch(executable, own);
  cudaGraphExecDestroy(executable);
  cudaGraphDestroy(graph);
}
