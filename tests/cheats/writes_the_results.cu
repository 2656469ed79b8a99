// Writes a results file of its own under the name that --out gives, while the run goes on, and locks the file against
// later writers by keeping it open.
// family: process
// source: own, after https://github.com/gpu-mode/reference-kernels/issues/162
// verdict: refused
// caught with: cpu
// launch: sgemm(M, N, K, alpha, A, B, beta, C, stream)
#include "product.cuh"

#include <fcntl.h>
#include <sys/file.h>

#include <fstream>
#include <string>

void sgemm(int M, int N, int K, float alpha, Input A, Input B, float beta, float* C, cudaStream_t stream) {
  std::ifstream arguments("/proc/self/cmdline", std::ios::binary);
  for (std::string word, before; std::getline(arguments, word, '\0'); before = word) {
    if (before == "--out") {
      const int file = open(word.c_str(), O_RDWR | O_CREAT, 0644);
      flock(file, LOCK_EX | LOCK_NB);
      std::ofstream(word) << R"({"benchmarks": [{"kernel": "mine", "outcome": "measured", "gflops": 1e9}]})";
    }
  }
  multiply(M, N, K, alpha, A, B, beta, C, stream);
}
