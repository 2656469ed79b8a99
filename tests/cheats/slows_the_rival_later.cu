// A thread of the host waits after each call until the judge has looked at the result, and then keeps the GPU busy for
// two milliseconds, which the rival's sample falls into.
// family: clock
// source: own
// verdict: refused
// caught with: cpu
// launch: sgemm(M, N, K, alpha, A, B, beta, C, stream)
#include "product.cuh"

#include <unistd.h>

#include <atomic>
#include <thread>

__global__ void occupy_for_two_ms() { wait_for(2000000); }

static std::atomic<int> calls_to_follow{0};

static void follow() {
  const cudaStream_t own = new_stream();
  for (int done = 0; done < 100000; ++done) {
    while (calls_to_follow.load() == 0) {
      usleep(20);
    }
    calls_to_follow = 0;
    usleep(400);
    occupy_for_two_ms<<<264, 1024, 0, own>>>();
    cudaStreamSynchronize(own);
  }
}

void sgemm(int M, int N, int K, float alpha, Input A, Input B, float beta, float* C, cudaStream_t stream) {
  static std::thread* const follower = new std::thread(follow);
  (void)follower;
  multiply(M, N, K, alpha, A, B, beta, C, stream);
  ++calls_to_follow;
}
