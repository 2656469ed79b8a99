// libcublas for the tests.

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

cublasStatus_t product(const char* name, cublasHandle_t handle) {
  ++fake_cublas().calls[name];
  fake_cublas().handle = handle;
  if (fake_cublas().products_call_lt_matmul) {
    call_lt_matmul();
  }
  return is_valid(handle) ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED;
}

}  // namespace

cublasStatus_t cublasGetStream_v2(cublasHandle_t handle, cudaStream_t* stream) {
  if (!is_valid(handle)) {
    return CUBLAS_STATUS_NOT_INITIALIZED;
  }
  *stream = handle->stream;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t* mode) {
  *mode = handle->pointer_mode;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t* mode) {
  *mode = handle->math_mode;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetSmCountTarget(cublasHandle_t handle, int* count) {
  *count = handle == nullptr ? 0 : handle->sm_count_target;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSgemm_v2(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n,
                              int k, const float* alpha, const float* a, int lda, const float* b, int ldb,
                              const float* beta, float* c, int ldc) {
  if (handle != nullptr && handle->pointer_mode == CUBLAS_POINTER_MODE_HOST) {
    host_gemm(transa != CUBLAS_OP_N, transb != CUBLAS_OP_N, m, n, k, *alpha, a, lda, b, ldb, *beta, c, ldc);
  }
  return product("cublasSgemm_v2", handle);
}

cublasStatus_t cublasSgemm_v2_64(cublasHandle_t handle, cublasOperation_t, cublasOperation_t, int64_t, int64_t, int64_t,
                                 const float*, const float*, int64_t, const float*, int64_t, const float*, float*,
                                 int64_t) {
  return product("cublasSgemm_v2_64", handle);
}

#define FAKE_GEMMS(suffix, Int)                                                                                        \
  cublasStatus_t cublasSgemmStridedBatched##suffix(cublasHandle_t handle, cublasOperation_t, cublasOperation_t, Int,   \
                                                   Int, Int, const float*, const float*, Int, long long, const float*, \
                                                   Int, long long, const float*, float*, Int, long long, Int) {        \
    return product("cublasSgemmStridedBatched" #suffix, handle);                                                       \
  }                                                                                                                    \
  cublasStatus_t cublasSgemmBatched##suffix(cublasHandle_t handle, cublasOperation_t, cublasOperation_t, Int, Int,     \
                                            Int, const float*, const float* const[], Int, const float* const[], Int,   \
                                            const float*, float* const[], Int, Int) {                                  \
    return product("cublasSgemmBatched" #suffix, handle);                                                              \
  }                                                                                                                    \
  cublasStatus_t cublasGemmEx##suffix(cublasHandle_t handle, cublasOperation_t, cublasOperation_t, Int, Int, Int,      \
                                      const void*, const void*, cudaDataType, Int, const void*, cudaDataType, Int,     \
                                      const void*, void*, cudaDataType, Int, cublasComputeType_t, cublasGemmAlgo_t) {  \
    return product("cublasGemmEx" #suffix, handle);                                                                    \
  }                                                                                                                    \
  cublasStatus_t cublasGemmStridedBatchedEx##suffix(                                                                   \
      cublasHandle_t handle, cublasOperation_t, cublasOperation_t, Int, Int, Int, const void*, const void*,            \
      cudaDataType, Int, long long, const void*, cudaDataType, Int, long long, const void*, void*, cudaDataType, Int,  \
      long long, Int, cublasComputeType_t, cublasGemmAlgo_t) {                                                         \
    return product("cublasGemmStridedBatchedEx" #suffix, handle);                                                      \
  }                                                                                                                    \
  cublasStatus_t cublasGemmBatchedEx##suffix(cublasHandle_t handle, cublasOperation_t, cublasOperation_t, Int, Int,    \
                                             Int, const void*, const void* const[], cudaDataType, Int,                 \
                                             const void* const[], cudaDataType, Int, const void*, void* const[],       \
                                             cudaDataType, Int, Int, cublasComputeType_t, cublasGemmAlgo_t) {          \
    return product("cublasGemmBatchedEx" #suffix, handle);                                                             \
  }
FAKE_GEMMS(, int)
FAKE_GEMMS(_64, int64_t)

#define FAKE_SGEMV(name, Int)                                                                              \
  cublasStatus_t name(cublasHandle_t handle, cublasOperation_t, Int, Int, const float*, const float*, Int, \
                      const float*, Int, const float*, float*, Int) {                                      \
    return product(#name, handle);                                                                         \
  }
FAKE_SGEMV(cublasSgemv_v2, int)
FAKE_SGEMV(cublasSgemv_v2_64, int64_t)

#define FAKE_SGEMV_STRIDED(name, Int)                                                                                 \
  cublasStatus_t name(cublasHandle_t handle, cublasOperation_t, Int, Int, const float*, const float*, Int, long long, \
                      const float*, Int, long long, const float*, float*, Int, long long, Int) {                      \
    return product(#name, handle);                                                                                    \
  }
FAKE_SGEMV_STRIDED(cublasSgemvStridedBatched, int)
FAKE_SGEMV_STRIDED(cublasSgemvStridedBatched_64, int64_t)

#define FAKE_SGEMV_BATCHED(name, Int)                                                                              \
  cublasStatus_t name(cublasHandle_t handle, cublasOperation_t, Int, Int, const float*, const float* const[], Int, \
                      const float* const[], Int, const float*, float* const[], Int, Int) {                         \
    return product(#name, handle);                                                                                 \
  }
FAKE_SGEMV_BATCHED(cublasSgemvBatched, int)
FAKE_SGEMV_BATCHED(cublasSgemvBatched_64, int64_t)

#define FAKE_OTHERS(suffix, suffix_2, Int)                                                                             \
  cublasStatus_t cublasSgemmEx##suffix(cublasHandle_t handle, cublasOperation_t, cublasOperation_t, Int, Int, Int,     \
                                       const float*, const void*, cudaDataType, Int, const void*, cudaDataType, Int,   \
                                       const float*, void*, cudaDataType, Int) {                                       \
    return product("cublasSgemmEx" #suffix, handle);                                                                   \
  }                                                                                                                    \
  cublasStatus_t cublasSdot##suffix_2(cublasHandle_t handle, Int, const float*, Int, const float*, Int, float*) {      \
    return product("cublasSdot" #suffix_2, handle);                                                                    \
  }                                                                                                                    \
  cublasStatus_t cublasSger##suffix_2(cublasHandle_t handle, Int, Int, const float*, const float*, Int, const float*,  \
                                      Int, float*, Int) {                                                              \
    return product("cublasSger" #suffix_2, handle);                                                                    \
  }                                                                                                                    \
  cublasStatus_t cublasSgemmGroupedBatched##suffix(                                                                    \
      cublasHandle_t handle, const cublasOperation_t[], const cublasOperation_t[], const Int[], const Int[],           \
      const Int[], const float[], const float* const[], const Int[], const float* const[], const Int[], const float[], \
      float* const[], const Int[], Int, const Int[]) {                                                                 \
    return product("cublasSgemmGroupedBatched" #suffix, handle);                                                       \
  }
FAKE_OTHERS(, _v2, int)
FAKE_OTHERS(_64, _v2_64, int64_t)
