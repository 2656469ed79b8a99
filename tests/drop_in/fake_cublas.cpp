// libcublas for the tests.

#include "fake_cublas.hpp"

#include <cublasLt.h>
#include <cublas_v2.h>

#include "fake_handle.hpp"

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

cublasStatus_t cublasSgemmStridedBatched(cublasHandle_t handle, cublasOperation_t, cublasOperation_t, int, int, int,
                                         const float*, const float*, int, long long, const float*, int, long long,
                                         const float*, float*, int, long long, int) {
  return product("cublasSgemmStridedBatched", handle);
}

cublasStatus_t cublasSgemmStridedBatched_64(cublasHandle_t handle, cublasOperation_t, cublasOperation_t, int64_t,
                                            int64_t, int64_t, const float*, const float*, int64_t, long long,
                                            const float*, int64_t, long long, const float*, float*, int64_t, long long,
                                            int64_t) {
  return product("cublasSgemmStridedBatched_64", handle);
}

cublasStatus_t cublasSgemmBatched(cublasHandle_t handle, cublasOperation_t, cublasOperation_t, int, int, int,
                                  const float*, const float* const[], int, const float* const[], int, const float*,
                                  float* const[], int, int) {
  return product("cublasSgemmBatched", handle);
}

cublasStatus_t cublasSgemmBatched_64(cublasHandle_t handle, cublasOperation_t, cublasOperation_t, int64_t, int64_t,
                                     int64_t, const float*, const float* const[], int64_t, const float* const[],
                                     int64_t, const float*, float* const[], int64_t, int64_t) {
  return product("cublasSgemmBatched_64", handle);
}

cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t, cublasOperation_t, int, int, int, const void*,
                            const void*, cudaDataType, int, const void*, cudaDataType, int, const void*, void*,
                            cudaDataType, int, cublasComputeType_t, cublasGemmAlgo_t) {
  return product("cublasGemmEx", handle);
}

cublasStatus_t cublasGemmEx_64(cublasHandle_t handle, cublasOperation_t, cublasOperation_t, int64_t, int64_t, int64_t,
                               const void*, const void*, cudaDataType, int64_t, const void*, cudaDataType, int64_t,
                               const void*, void*, cudaDataType, int64_t, cublasComputeType_t, cublasGemmAlgo_t) {
  return product("cublasGemmEx_64", handle);
}

cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t, cublasOperation_t, int, int, int,
                                          const void*, const void*, cudaDataType, int, long long, const void*,
                                          cudaDataType, int, long long, const void*, void*, cudaDataType, int,
                                          long long, int, cublasComputeType_t, cublasGemmAlgo_t) {
  return product("cublasGemmStridedBatchedEx", handle);
}

cublasStatus_t cublasGemmStridedBatchedEx_64(cublasHandle_t handle, cublasOperation_t, cublasOperation_t, int64_t,
                                             int64_t, int64_t, const void*, const void*, cudaDataType, int64_t,
                                             long long, const void*, cudaDataType, int64_t, long long, const void*,
                                             void*, cudaDataType, int64_t, long long, int64_t, cublasComputeType_t,
                                             cublasGemmAlgo_t) {
  return product("cublasGemmStridedBatchedEx_64", handle);
}

cublasStatus_t cublasGemmBatchedEx(cublasHandle_t handle, cublasOperation_t, cublasOperation_t, int, int, int,
                                   const void*, const void* const[], cudaDataType, int, const void* const[],
                                   cudaDataType, int, const void*, void* const[], cudaDataType, int, int,
                                   cublasComputeType_t, cublasGemmAlgo_t) {
  return product("cublasGemmBatchedEx", handle);
}

cublasStatus_t cublasGemmBatchedEx_64(cublasHandle_t handle, cublasOperation_t, cublasOperation_t, int64_t, int64_t,
                                      int64_t, const void*, const void* const[], cudaDataType, int64_t,
                                      const void* const[], cudaDataType, int64_t, const void*, void* const[],
                                      cudaDataType, int64_t, int64_t, cublasComputeType_t, cublasGemmAlgo_t) {
  return product("cublasGemmBatchedEx_64", handle);
}

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
