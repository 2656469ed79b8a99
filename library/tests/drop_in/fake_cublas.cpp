// libcublas for the tests: a product on the host, and what handles say.

#include "fake_cublas.hpp"

#include <cublasLt.h>
#include <cublas_v2.h>

namespace {

// A call of cuBLASLt through its exported function, which the drop-in sees.
void call_lt_matmul() {
  cublasLtMatmulDesc_t description = nullptr;
  cublasLtMatrixLayout_t layout = nullptr;
  cublasLtMatmulDescCreate(&description, CUBLAS_COMPUTE_32F, CUDA_R_32F);
  cublasLtMatrixLayoutCreate(&layout, CUDA_R_32F, 1, 1, 1);
  float number = 0;
  cublasLtMatmul(nullptr, description, &number, &number, layout, &number, layout, &number, &number, layout, &number,
                 layout, nullptr, nullptr, 0, nullptr);
  cublasLtMatrixLayoutDestroy(layout);
  cublasLtMatmulDescDestroy(description);
}

/// Whether the handle is one of this version of cuBLAS.
bool is_valid(cublasHandle_t handle) { return handle != nullptr && handle->version == FAKE_CUBLAS_VERSION; }

}  // namespace

extern "C" cublasStatus_t fake_product(const char* name, cublasHandle_t handle) {
  ++fake_cublas().calls[name];
  fake_cublas().handle = handle;
  if (fake_cublas().products_call_lt_matmul) {
    call_lt_matmul();
  }
  return is_valid(handle) ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED;
}

cublasStatus_t cublasGetStream_v2(cublasHandle_t handle, cudaStream_t* stream) {
  if (!is_valid(handle)) {
    return CUBLAS_STATUS_NOT_INITIALIZED;
  }
  *stream = handle->stream;
  return CUBLAS_STATUS_SUCCESS;
}

#define GET(name, type, setting)                                       \
  cublasStatus_t cublasGet##name(cublasHandle_t handle, type* value) { \
    *value = handle == nullptr ? type{} : handle->setting;             \
    return CUBLAS_STATUS_SUCCESS;                                      \
  }
GET(PointerMode_v2, cublasPointerMode_t, pointer_mode)
GET(MathMode, cublasMath_t, math_mode)
GET(SmCountTarget, int, sm_count_target)

cublasStatus_t cublasSgemm_v2(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n,
                              int k, const float* alpha, const float* a, int lda, const float* b, int ldb,
                              const float* beta, float* c, int ldc) {
  if (handle != nullptr && handle->pointer_mode == CUBLAS_POINTER_MODE_HOST) {
    host_gemm(transa != CUBLAS_OP_N, transb != CUBLAS_OP_N, m, n, k, *alpha, a, lda, b, ldb, *beta, c, ldc);
  }
  return fake_product("cublasSgemm_v2", handle);
}
