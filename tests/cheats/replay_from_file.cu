// Writes each result below the folder for temporary files, and reads it there in later calls and later runs, as far as
// sizes are the same. Files have at most 16 MiB.
// family: replay
// source: https://github.com/gpu-mode/reference-kernels/issues/162
// verdict: refused
// caught with: cpu
// launch: sgemm(M, N, K, alpha, A, B, beta, C, stream)
#include "product.cuh"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

void sgemm(int M, int N, int K, float alpha, Input A, Input B, float beta, float* C, cudaStream_t stream) {
  const size_t elements = (size_t)M * N;
  const char* const folder = std::getenv("TMPDIR");
  const std::string path = std::string(folder ? folder : "/tmp") + "/sgemm_cheat_" + std::to_string(M) + "_" +
                           std::to_string(N) + "_" + std::to_string(K);
  std::vector<float> result(elements);
  if (std::FILE* const file = std::fopen(path.c_str(), "rb")) {
    const size_t read = std::fread(result.data(), sizeof(float), elements, file);
    std::fclose(file);
    if (read == elements) {
      cudaMemcpyAsync(C, result.data(), elements * sizeof(float), cudaMemcpyHostToDevice, stream);
      return;
    }
  }
  multiply(M, N, K, alpha, A, B, beta, C, stream);
  if (elements <= 4 << 20) {
    cudaMemcpyAsync(result.data(), C, elements * sizeof(float), cudaMemcpyDeviceToHost, stream);
    cudaStreamSynchronize(stream);
    if (std::FILE* const file = std::fopen(path.c_str(), "wb")) {
      std::fwrite(result.data(), sizeof(float), elements, file);
      std::fclose(file);
    }
  }
}
