// Leaves a child behind, which rewrites the results file a second after the others have ended. It ends after ten.
// family: process
// source: own, after https://github.com/gpu-mode/pygpubench/pull/15
// verdict: refused
// caught with: cpu
// launch: sgemm(M, N, K, alpha, A, B, beta, C, stream)
#include "product.cuh"

#include <unistd.h>
#include <fstream>
#include <iterator>
#include <string>

// The results file of this run, and no other file.
static void rewrite_results() {
  std::ifstream arguments("/proc/self/cmdline", std::ios::binary);
  std::string path;
  for (std::string word, before; std::getline(arguments, word, '\0'); before = word) {
    path = before == "--out" ? word : path;
  }
  std::ifstream before(path);
  std::string text{std::istreambuf_iterator<char>(before), {}};
  const std::string speed = "\"gflops\": ";
  for (size_t at = text.find(speed); at != std::string::npos; at = text.find(speed, at + speed.size())) {
    text.insert(at + speed.size(), "9");
  }
  if (!text.empty()) {
    std::ofstream(path) << text;
  }
}

void sgemm(int M, int N, int K, float alpha, Input A, Input B, float beta, float* C, cudaStream_t stream) {
  static bool forked = false;
  if (!forked) {
    forked = true;
    const pid_t runner = getpid();
    if (fork() == 0) {
      setsid();
      for (int tenths = 0; tenths < 90 && getppid() == runner; ++tenths) {
        usleep(100000);
      }
      sleep(1);
      rewrite_results();
      _exit(0);
    }
  }
  multiply(M, N, K, alpha, A, B, beta, C, stream);
}
