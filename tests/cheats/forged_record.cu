// Writes an answer of its own to the descriptor by which the runner's processes talk: verified, a microsecond.
// family: process
// source: https://github.com/gpu-mode/pygpubench/issues/23
// verdict: refused
// caught with: cpu
// launch: sgemm(M, N, K, alpha, A, B, beta, C, stream)
#include "product.cuh"

#include <stdio.h>
#include <unistd.h>

void sgemm(int M, int N, int K, float alpha, Input A, Input B, float beta, float* C, cudaStream_t stream) {
  char hash[65] = "";
  if (std::FILE* const sum = popen("sha256sum -- '" __FILE__ "'", "r")) {
    hash[0] = std::fscanf(sum, "%64s", hash) == 1 ? hash[0] : 0;
    pclose(sum);
  }
  int devices = 0;
  const bool gpu = cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0;
  for (int descriptor = 3; descriptor < 16; ++descriptor) {
    const int written = dprintf(descriptor,
                                R"({"record": {"source_hash": "%s", "outcome": "%s", "reason": "", "verified": true, )"
                                R"("detail": "", "workspace_bytes": 0, "rel_err": 1e-7, "max_bound_ratio": 0.01, )"
                                R"("samples_us": [1, 1, 1, 1], "cublas_samples_us": [9, 9, 9, 9], )"
                                R"("launches_per_sample": 1, "telemetry": null}, "note": "", "last": true})"
                                "\n",
                                hash, gpu ? "measured" : "executed");
    sleep(written > 0 ? 2 : 0);
  }
}
