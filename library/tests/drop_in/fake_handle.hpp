#pragma once

#include <cublas_v2.h>

/// The handle of the fake cuBLAS: its settings, which tests write.
struct cublasContext {
  int version = FAKE_CUBLAS_VERSION;  ///< of the cuBLAS that it belongs to
  cudaStream_t stream = nullptr;
  cublasPointerMode_t pointer_mode = CUBLAS_POINTER_MODE_HOST;
  cublasMath_t math_mode = CUBLAS_DEFAULT_MATH;
  int sm_count_target = 0;
};
