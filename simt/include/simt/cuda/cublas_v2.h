#pragma once

// Stands in for cuBLAS's header, so that files compile that mention it. There is no cuBLAS for the executor: calls
// throw.

#include <simt/thread.hpp>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

// clang-format off
enum cublasStatus_t {
  CUBLAS_STATUS_SUCCESS = 0, CUBLAS_STATUS_NOT_INITIALIZED = 1, CUBLAS_STATUS_ALLOC_FAILED = 3,
  CUBLAS_STATUS_INVALID_VALUE = 7, CUBLAS_STATUS_ARCH_MISMATCH = 8, CUBLAS_STATUS_MAPPING_ERROR = 11,
  CUBLAS_STATUS_EXECUTION_FAILED = 13, CUBLAS_STATUS_INTERNAL_ERROR = 14, CUBLAS_STATUS_NOT_SUPPORTED = 15,
  CUBLAS_STATUS_LICENSE_ERROR = 16,
};
// clang-format on
enum cublasPointerMode_t { CUBLAS_POINTER_MODE_HOST = 0, CUBLAS_POINTER_MODE_DEVICE = 1 };
enum cublasOperation_t { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1, CUBLAS_OP_C = 2 };
enum cublasMath_t {
  CUBLAS_DEFAULT_MATH = 0,
  CUBLAS_PEDANTIC_MATH = 2,
  CUBLAS_TF32_TENSOR_OP_MATH = 3,
  CUBLAS_TENSOR_OP_MATH = 1
};
enum cublasComputeType_t {
  CUBLAS_COMPUTE_16F = 64,
  CUBLAS_COMPUTE_32F = 68,
  CUBLAS_COMPUTE_32F_PEDANTIC = 69,
  CUBLAS_COMPUTE_32F_FAST_16F = 74,
  CUBLAS_COMPUTE_32F_FAST_16BF = 75,
  CUBLAS_COMPUTE_32F_FAST_TF32 = 77,
};
enum cublasGemmAlgo_t { CUBLAS_GEMM_DEFAULT = -1, CUBLAS_GEMM_DEFAULT_TENSOR_OP = 99 };
enum cudaDataType_t { CUDA_R_32F = 0, CUDA_R_64F = 1, CUDA_R_16F = 2, CUDA_R_16BF = 14 };
using cudaDataType = cudaDataType_t;
using cublasHandle_t = struct cublasContext*;

#define SIMT_NO_CUBLAS(name)                                            \
  template <class... Arguments>                                         \
  cublasStatus_t name(Arguments&&...) {                                 \
    simt::not_supported("cuBLAS, of which the host calls " #name "()"); \
  }
SIMT_NO_CUBLAS(cublasCreate)
SIMT_NO_CUBLAS(cublasDestroy)
SIMT_NO_CUBLAS(cublasSetStream)
SIMT_NO_CUBLAS(cublasSetMathMode)
SIMT_NO_CUBLAS(cublasSetPointerMode)
SIMT_NO_CUBLAS(cublasSgemm)
SIMT_NO_CUBLAS(cublasHgemm)
SIMT_NO_CUBLAS(cublasDgemm)
SIMT_NO_CUBLAS(cublasGemmEx)
SIMT_NO_CUBLAS(cublasSgemmStridedBatched)
SIMT_NO_CUBLAS(cublasGemmStridedBatchedEx)
#undef SIMT_NO_CUBLAS

inline const char* cublasGetStatusString(cublasStatus_t) { return "there is no cuBLAS for the executor"; }
