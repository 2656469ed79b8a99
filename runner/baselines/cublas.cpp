// cuBLAS: the reference that everything is compared with, and its TF32 mode as another precision.
//
// cuBLAS is column-major. A row-major matrix is its transpose in column-major order, so cuBLAS computes C = A B as C^T
// = B^T A^T. The operands change places with their operations, and nothing is transposed in memory.

#include "base/kernel.hpp"
#include "device/cublas_handle.hpp"
#include "problem/batch.hpp"

#include <cublas_v2.h>

#include <vector>

namespace sgemm {
namespace {

void sgemm(cublasHandle_t handle, const Problem& p) {
  const cublasOperation_t op_a = cublas_op(p.transposed_a);
  const cublasOperation_t op_b = cublas_op(p.transposed_b);
  const int m = static_cast<int>(p.m);
  const int n = static_cast<int>(p.n);
  const int k = static_cast<int>(p.k);
  if (p.batch == 1) {
    cublas_check(cublasSgemm(handle, op_b, op_a, n, m, k, &p.alpha, p.b, leading<int>(p.ldb), p.a, leading<int>(p.lda),
                             &p.beta, p.c, leading<int>(p.ldc)),
                 "cublasSgemm");
    return;
  }
  cublas_check(cublasSgemmStridedBatched(handle, op_b, op_a, n, m, k, &p.alpha, p.b, leading<int>(p.ldb), stride_b(p),
                                         p.a, leading<int>(p.lda), stride_a(p), &p.beta, p.c, leading<int>(p.ldc),
                                         stride_c(p), static_cast<int>(p.batch)),
               "cublasSgemmStridedBatched");
}

void tf32_gemm(cublasHandle_t handle, const Problem& p) {
  cublas_check(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, static_cast<int>(p.n), static_cast<int>(p.m),
                            static_cast<int>(p.k), &p.alpha, p.b, CUDA_R_32F, leading<int>(p.ldb), p.a, CUDA_R_32F,
                            leading<int>(p.lda), &p.beta, p.c, CUDA_R_32F, leading<int>(p.ldc),
                            CUBLAS_COMPUTE_32F_FAST_TF32, CUBLAS_GEMM_DEFAULT),
               "cublasGemmEx");
}

template <void (*GEMM)(cublasHandle_t, const Problem&)>
std::vector<Configuration> configurations(const Problem&) {
  return {{"", 0, [handle = CublasHandle::shared()](const Problem& p, void*, cudaStream_t stream) {
             GEMM(handle->on(stream), p);
           }}};
}

Kernel cublas() {
  Kernel kernel;
  kernel.number = 0;
  kernel.name = "cublas";
  kernel.summary = "cublasSgemm in FP32 (CUBLAS_DEFAULT_MATH, no TF32)";
  kernel.source = "NVIDIA cuBLAS";
  kernel.min_compute_capability = 75;
  kernel.takes_every_layout = true;
  kernel.unsupported = beyond_int;
  kernel.build(Target::for_gpu).configurations = configurations<sgemm>;
  return kernel;
}

Kernel cublas_tf32() {
  Kernel kernel;
  kernel.name = "cublas_tf32";
  kernel.summary = "cublasGemmEx with operands rounded to TF32 (10 mantissa bits), another precision";
  kernel.source = "NVIDIA cuBLAS";
  kernel.accuracy = AccuracyClass::tf32;
  kernel.min_compute_capability = 80;
  kernel.unsupported = beyond_int;
  kernel.build(Target::for_gpu).configurations = configurations<tf32_gemm>;
  return kernel;
}

const KernelRegistration registered_cublas(cublas());
const KernelRegistration registered_tf32(cublas_tf32());

}  // namespace
}  // namespace sgemm
