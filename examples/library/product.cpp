// A product of two matrices of ones by libsgemm: prints one element of it, and what computed it.
#include <sgemm/sgemm.h>

#include <cuda_runtime_api.h>

#include <cstdint>
#include <cstdio>
#include <vector>

int main() {
  constexpr std::int64_t N = 2048;
  constexpr std::size_t BYTES = N * N * sizeof(float);
  const std::vector<float> ones(N * N, 1.0F);
  float* matrices[3] = {};  // A, B and C, which is overwritten
  for (float*& matrix : matrices) {
    cudaMalloc(reinterpret_cast<void**>(&matrix), BYTES);
    cudaMemcpy(matrix, ones.data(), BYTES, cudaMemcpyHostToDevice);
  }

  sgemm_handle_t handle = nullptr;
  sgemm_plan_t plan = {};
  const float alpha = 1.0F;
  const float beta = 0.0F;
  sgemm_status_t status = sgemm_create(&handle);
  if (status == SGEMM_STATUS_SUCCESS) {
    sgemm_set_accuracy(handle, SGEMM_ACCURACY_COMPONENTWISE);
    sgemm_product_t product{};
    product.size = sizeof product;
    product.order = SGEMM_ORDER_ROW_MAJOR;
    product.m = product.n = product.k = product.a.ld = product.b.ld = product.ldd = N;
    product.b.op = SGEMM_OP_T;
    product.a.x = matrices[0];
    product.b.x = matrices[1];
    product.d = matrices[2];
    product.alpha = &alpha;
    product.beta = &beta;
    product.batch_count = 1;
    sgemm_plan(handle, &product, &plan);
    status = sgemm_run(handle, &product);  // or sgemm_gemm(), with the arguments of cublasSgemm()
    sgemm_destroy(handle);
  }
  if (status != SGEMM_STATUS_SUCCESS) {
    std::fprintf(stderr, "%s\n", sgemm_status_string(status));
    return 1;
  }

  float element = 0.0F;
  cudaMemcpy(&element, matrices[2], sizeof element, cudaMemcpyDeviceToHost);  // waits for the product
  std::printf("%g by %s %s: %s\n", element, plan.kernel, plan.configuration, plan.reason);
  for (float* const matrix : matrices) {
    cudaFree(matrix);
  }
  return element == N ? 0 : 1;
}
