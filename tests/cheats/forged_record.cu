// Writes an answer of its own to the descriptor by which the runner's processes talk: verified, a microsecond.
// family: process
// source: https://github.com/gpu-mode/pygpubench/issues/23
// verdict: refused
// caught with: cpu
// launch: sgemm(M, N, K, alpha, A, B, beta, C, stream)
#include "product.cuh"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <string>

void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C,
           cudaStream_t stream) {
  char hash[65] = "";
  if (std::FILE* const sum = popen("sha256sum -- '" __FILE__ "'", "r")) {
    if (std::fscanf(sum, "%64s", hash) != 1) {
      hash[0] = 0;
    }
    pclose(sum);
  }
  int devices = 0;
  const bool gpu = cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0;
  const std::string line = std::string(R"({"record": {"source_hash": ")") + hash + R"(", "outcome": ")" +
                           (gpu ? "measured" : "executed") +
                           R"(", "reason": "", "verified": true, "detail": "", "workspace_bytes": 0, )"
                           R"("rel_err": 1e-7, "max_bound_ratio": 0.01, "samples_us": [1, 1, 1, 1, 1, 1, 1, 1], )"
                           R"("cublas_samples_us": [9, 9, 9, 9, 9, 9, 9, 9], "launches_per_sample": 1, )"
                           R"("telemetry": null}, "note": "", "last": true})"
                           "\n";
  for (int descriptor = 3; descriptor < 16; ++descriptor) {
    if (write(descriptor, line.data(), line.size()) == (ssize_t)line.size()) {
      sleep(2);
    }
  }
}
