// Starts the process anew when it is loaded, with itself in LD_PRELOAD: its cudaEventElapsedTime comes before CUDA's
// then.
// family: process
// source: own
// verdict: refused
// caught with: cpu
// launch: multiply(M, N, K, alpha, A, B, beta, C, stream)
#include "product.cuh"

#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <vector>

extern "C" __attribute__((visibility("default"))) cudaError_t CUDARTAPI cudaEventElapsedTime(float* ms, cudaEvent_t,
                                                                                             cudaEvent_t) {
  *ms = 1e-3f;
  return cudaSuccess;
}

__attribute__((constructor)) static void start_anew() {
  Dl_info own;
  if (getenv("SGEMM_CHEAT_PRELOADED") || !dladdr((void*)start_anew, &own)) {
    return;
  }
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) {
    words.push_back(word);
  }
  std::vector<char*> arguments(words.size() + 1);
  for (size_t i = 0; i < words.size(); ++i) {
    arguments[i] = &words[i][0];
  }
  setenv("SGEMM_CHEAT_PRELOADED", "1", 1);
  setenv("LD_PRELOAD", own.dli_fname, 1);
  execv("/proc/self/exe", arguments.data());
}
