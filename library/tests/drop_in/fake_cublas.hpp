#pragma once

#include <cublas_v2.h>

#include <map>
#include <string>

/// The handle of the fake cuBLAS: its settings, which tests write.
struct cublasContext {
  int version = FAKE_CUBLAS_VERSION;  ///< of the cuBLAS that it belongs to
  cudaStream_t stream = nullptr;
  cublasPointerMode_t pointer_mode = CUBLAS_POINTER_MODE_HOST;
  cublasMath_t math_mode = CUBLAS_DEFAULT_MATH;
  int sm_count_target = 0;
};

/// What the tests have instead of cuBLAS: two libraries of its names whose matrices are in the memory of the host.
struct FakeCublas {
  std::map<std::string, int> calls;
  cublasHandle_t handle = nullptr;  // of the last product
  /// Products that ask for another function of cuBLAS on their way, as cublasSgemm does with cublasLtMatmul.
  bool products_call_lt_matmul = false;

  int products() const {
    int sum = 0;
    for (const auto& [name, count] : calls) {
      sum += count;
    }
    return sum;
  }
};

FakeCublas& fake_cublas();

/// C = alpha * op(A) * op(B) + beta * C, column-major, on the host.
void host_gemm(bool transa, bool transb, long m, long n, long k, float alpha, const float* a, long lda, const float* b,
               long ldb, float beta, float* c, long ldc);
