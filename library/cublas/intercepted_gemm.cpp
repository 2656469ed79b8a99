// The functions of libcublas that the drop-in takes the place of.

#include <cublas_v2.h>

#include <type_traits>

#include "drop_in.hpp"
#include "exported.hpp"
#include "real_cublas.hpp"

namespace drop_in {
namespace {

constexpr const char* kCublas = DROP_IN_SONAME("libcublas");

sgemm_op_t op(cublasOperation_t operation) { return static_cast<sgemm_op_t>(operation); }

/// Puts what the handle says into the call.
void read_handle(cublasHandle_t handle, Call& call) {
  static const RealFunction get_stream(kCublas, "cublasGetStream_v2");
  static const RealFunction get_pointer_mode(kCublas, "cublasGetPointerMode_v2");
  static const RealFunction get_math_mode(kCublas, "cublasGetMathMode");
  static const RealFunction get_sm_count_target(kCublas, "cublasGetSmCountTarget");
  cublasPointerMode_t pointer_mode = CUBLAS_POINTER_MODE_HOST;
  cublasMath_t math_mode = CUBLAS_DEFAULT_MATH;
  if (get_stream(handle, &call.stream) != CUBLAS_STATUS_SUCCESS ||
      get_pointer_mode(handle, &pointer_mode) != CUBLAS_STATUS_SUCCESS ||
      get_math_mode(handle, &math_mode) != CUBLAS_STATUS_SUCCESS) {
    call.refusal = "the handle of cuBLAS is not valid";
    return;
  }
  get_sm_count_target(handle, &call.multiprocessors);  // 0 stays where cuBLAS has no such setting
  call.pointer_mode = static_cast<sgemm_pointer_mode_t>(pointer_mode);
  // This flag concerns sums in 16 bits, which FP32 does not have.
  constexpr int kUnrelated = CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION;
  if ((static_cast<int>(math_mode) & ~kUnrelated) != CUBLAS_DEFAULT_MATH) {
    call.refusal =
        math_mode == CUBLAS_TF32_TENSOR_OP_MATH ? "the math mode is TF32" : "the math mode is not the default";
  }
}

const char* refusal_of_types(cudaDataType a, cudaDataType b, cudaDataType c, cublasComputeType_t compute) {
  if (a != CUDA_R_32F || b != CUDA_R_32F || c != CUDA_R_32F) {
    return "a matrix is not FP32";
  }
  return compute == CUBLAS_COMPUTE_32F ? "" : "the compute type is not FP32";
}

/// The arguments that all these functions have. Int is the type of their sizes.
template <class Int>
struct Sizes {
  cublasOperation_t transa, transb;
  Int m, n, k;
};

template <class Int>
Call call_of(const char* function, cublasHandle_t handle, const Sizes<Int>& sizes) {
  Call call;
  call.function = function;
  read_handle(handle, call);
  call.transa = op(sizes.transa);
  call.transb = op(sizes.transb);
  call.m = sizes.m;
  call.n = sizes.n;
  call.k = sizes.k;
  return call;
}

/// A matrix of FP32, whatever its type among the arguments.
template <class Element>
auto floats(Matrix<Element> matrix) {
  using Float = std::conditional_t<std::is_const_v<Element>, const float, float>;
  return Matrix<Float>{static_cast<Float*>(matrix.data), matrix.ld, matrix.stride,
                       reinterpret_cast<Float* const*>(matrix.addresses)};
}

/// Sets the scalars and the matrices of a call, of which Element is the type among the arguments: float or void.
template <class Element>
void set_operands(Call& call, const Element* alpha, Matrix<const Element> a, Matrix<const Element> b,
                  const Element* beta, Matrix<Element> c) {
  call.alpha = static_cast<const float*>(alpha);
  call.beta = static_cast<const float*>(beta);
  call.a = floats(a);
  call.b = floats(b);
  call.c = floats(c);
}

/// The same for a batch whose matrices are given by addresses.
template <class Element>
void set_batch(Call& call, const Element* alpha, const Element* const a[], int64_t lda, const Element* const b[],
               int64_t ldb, const Element* beta, Element* const c[], int64_t ldc, int64_t count) {
  set_operands<Element>(call, alpha, {nullptr, lda, 0, a}, {nullptr, ldb, 0, b}, beta, {nullptr, ldc, 0, c});
  call.batch_count = count;
  call.by_address = true;
}

void refuse(Call& call, const char* refusal) {
  if (!call.refused()) {
    call.refusal = refusal;
  }
}

template <class Int>
cublasStatus_t sgemm(const RealFunction& real, const char* name, cublasHandle_t handle, cublasOperation_t transa,
                     cublasOperation_t transb, Int m, Int n, Int k, const float* alpha, const float* a, Int lda,
                     const float* b, Int ldb, const float* beta, float* c, Int ldc) {
  Call call = call_of<Int>(name, handle, {transa, transb, m, n, k});
  set_operands<float>(call, alpha, {a, lda}, {b, ldb}, beta, {c, ldc});
  return DropIn::instance().run(
      call, [&] { return real(handle, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc); });
}

template <class Int>
cublasStatus_t sgemm_strided_batched(const RealFunction& real, const char* name, cublasHandle_t handle,
                                     cublasOperation_t transa, cublasOperation_t transb, Int m, Int n, Int k,
                                     const float* alpha, const float* a, Int lda, long long stride_a, const float* b,
                                     Int ldb, long long stride_b, const float* beta, float* c, Int ldc,
                                     long long stride_c, Int batch_count) {
  Call call = call_of<Int>(name, handle, {transa, transb, m, n, k});
  set_operands<float>(call, alpha, {a, lda, stride_a}, {b, ldb, stride_b}, beta, {c, ldc, stride_c});
  call.batch_count = batch_count;
  return DropIn::instance().run(call, [&] {
    return real(handle, transa, transb, m, n, k, alpha, a, lda, stride_a, b, ldb, stride_b, beta, c, ldc, stride_c,
                batch_count);
  });
}

template <class Int>
cublasStatus_t sgemm_batched(const RealFunction& real, const char* name, cublasHandle_t handle,
                             cublasOperation_t transa, cublasOperation_t transb, Int m, Int n, Int k,
                             const float* alpha, const float* const a[], Int lda, const float* const b[], Int ldb,
                             const float* beta, float* const c[], Int ldc, Int batch_count) {
  Call call = call_of<Int>(name, handle, {transa, transb, m, n, k});
  set_batch(call, alpha, a, lda, b, ldb, beta, c, ldc, batch_count);
  return DropIn::instance().run(
      call, [&] { return real(handle, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, batch_count); });
}

template <class Int>
cublasStatus_t gemm_ex(const RealFunction& real, const char* name, cublasHandle_t handle, cublasOperation_t transa,
                       cublasOperation_t transb, Int m, Int n, Int k, const void* alpha, const void* a,
                       cudaDataType a_type, Int lda, const void* b, cudaDataType b_type, Int ldb, const void* beta,
                       void* c, cudaDataType c_type, Int ldc, cublasComputeType_t compute, cublasGemmAlgo_t algorithm) {
  Call call = call_of<Int>(name, handle, {transa, transb, m, n, k});
  set_operands<void>(call, alpha, {a, lda}, {b, ldb}, beta, {c, ldc});
  refuse(call, refusal_of_types(a_type, b_type, c_type, compute));
  return DropIn::instance().run(call, [&] {
    return real(handle, transa, transb, m, n, k, alpha, a, a_type, lda, b, b_type, ldb, beta, c, c_type, ldc, compute,
                algorithm);
  });
}

template <class Int>
cublasStatus_t gemm_strided_batched_ex(const RealFunction& real, const char* name, cublasHandle_t handle,
                                       cublasOperation_t transa, cublasOperation_t transb, Int m, Int n, Int k,
                                       const void* alpha, const void* a, cudaDataType a_type, Int lda,
                                       long long stride_a, const void* b, cudaDataType b_type, Int ldb,
                                       long long stride_b, const void* beta, void* c, cudaDataType c_type, Int ldc,
                                       long long stride_c, Int batch_count, cublasComputeType_t compute,
                                       cublasGemmAlgo_t algorithm) {
  Call call = call_of<Int>(name, handle, {transa, transb, m, n, k});
  set_operands<void>(call, alpha, {a, lda, stride_a}, {b, ldb, stride_b}, beta, {c, ldc, stride_c});
  call.batch_count = batch_count;
  refuse(call, refusal_of_types(a_type, b_type, c_type, compute));
  return DropIn::instance().run(call, [&] {
    return real(handle, transa, transb, m, n, k, alpha, a, a_type, lda, stride_a, b, b_type, ldb, stride_b, beta, c,
                c_type, ldc, stride_c, batch_count, compute, algorithm);
  });
}

template <class Int>
cublasStatus_t gemm_batched_ex(const RealFunction& real, const char* name, cublasHandle_t handle,
                               cublasOperation_t transa, cublasOperation_t transb, Int m, Int n, Int k,
                               const void* alpha, const void* const a[], cudaDataType a_type, Int lda,
                               const void* const b[], cudaDataType b_type, Int ldb, const void* beta, void* const c[],
                               cudaDataType c_type, Int ldc, Int batch_count, cublasComputeType_t compute,
                               cublasGemmAlgo_t algorithm) {
  Call call = call_of<Int>(name, handle, {transa, transb, m, n, k});
  set_batch(call, alpha, a, lda, b, ldb, beta, c, ldc, batch_count);
  refuse(call, refusal_of_types(a_type, b_type, c_type, compute));
  return DropIn::instance().run(call, [&] {
    return real(handle, transa, transb, m, n, k, alpha, a, a_type, lda, b, b_type, ldb, beta, c, c_type, ldc,
                batch_count, compute, algorithm);
  });
}

/// A product by a vector, which is cuBLAS's unless it is to be reproducible: y^T = alpha * x^T * op(A)^T + beta * y^T,
/// where the increments of x and y are leading dimensions. `set(call)` sets the operands, `real()` calls cuBLAS.
template <class Int, class Set, class Real>
cublasStatus_t by_vector(const char* name, cublasHandle_t handle, cublasOperation_t trans, Int m, Int n, Int incx,
                         Int incy, const Set& set, const Real& real) {
  if (!DropIn::instance().is_reproducible() || m == 0 || n == 0) {
    return real();
  }
  const bool plain = trans == CUBLAS_OP_N;
  Call call =
      call_of<Int>(name, handle, {CUBLAS_OP_N, plain ? CUBLAS_OP_T : CUBLAS_OP_N, 1, plain ? m : n, plain ? n : m});
  if (incx < 1 || incy < 1) {
    call.is_fp32 = !call.refused();
    refuse(call, "a vector lies backwards");
  }
  set(call);
  return DropIn::instance().run(call, real);
}

}  // namespace
}  // namespace drop_in

using drop_in::kCublas;
using drop_in::RealFunction;

DROP_IN_EXPORTED("libcublas", cublasSgemm_v2)
(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n, int k, const float* alpha,
 const float* A, int lda, const float* B, int ldb, const float* beta, float* C, int ldc) {
  static const RealFunction real(kCublas, "cublasSgemm_v2");
  return drop_in::sgemm(real, "cublasSgemm", handle, transa, transb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc);
}

DROP_IN_EXPORTED("libcublas", cublasSgemm_v2_64)
(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int64_t m, int64_t n, int64_t k,
 const float* alpha, const float* A, int64_t lda, const float* B, int64_t ldb, const float* beta, float* C,
 int64_t ldc) {
  static const RealFunction real(kCublas, "cublasSgemm_v2_64");
  return drop_in::sgemm(real, "cublasSgemm_64", handle, transa, transb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc);
}

DROP_IN_EXPORTED("libcublas", cublasSgemmStridedBatched)
(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n, int k, const float* alpha,
 const float* A, int lda, long long int strideA, const float* B, int ldb, long long int strideB, const float* beta,
 float* C, int ldc, long long int strideC, int batchCount) {
  static const RealFunction real(kCublas, "cublasSgemmStridedBatched");
  return drop_in::sgemm_strided_batched(real, "cublasSgemmStridedBatched", handle, transa, transb, m, n, k, alpha, A,
                                        lda, strideA, B, ldb, strideB, beta, C, ldc, strideC, batchCount);
}

DROP_IN_EXPORTED("libcublas", cublasSgemmStridedBatched_64)
(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int64_t m, int64_t n, int64_t k,
 const float* alpha, const float* A, int64_t lda, long long int strideA, const float* B, int64_t ldb,
 long long int strideB, const float* beta, float* C, int64_t ldc, long long int strideC, int64_t batchCount) {
  static const RealFunction real(kCublas, "cublasSgemmStridedBatched_64");
  return drop_in::sgemm_strided_batched(real, "cublasSgemmStridedBatched_64", handle, transa, transb, m, n, k, alpha, A,
                                        lda, strideA, B, ldb, strideB, beta, C, ldc, strideC, batchCount);
}

DROP_IN_EXPORTED("libcublas", cublasSgemmBatched)
(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n, int k, const float* alpha,
 const float* const Aarray[], int lda, const float* const Barray[], int ldb, const float* beta, float* const Carray[],
 int ldc, int batchCount) {
  static const RealFunction real(kCublas, "cublasSgemmBatched");
  return drop_in::sgemm_batched(real, "cublasSgemmBatched", handle, transa, transb, m, n, k, alpha, Aarray, lda, Barray,
                                ldb, beta, Carray, ldc, batchCount);
}

DROP_IN_EXPORTED("libcublas", cublasSgemmBatched_64)
(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int64_t m, int64_t n, int64_t k,
 const float* alpha, const float* const Aarray[], int64_t lda, const float* const Barray[], int64_t ldb,
 const float* beta, float* const Carray[], int64_t ldc, int64_t batchCount) {
  static const RealFunction real(kCublas, "cublasSgemmBatched_64");
  return drop_in::sgemm_batched(real, "cublasSgemmBatched_64", handle, transa, transb, m, n, k, alpha, Aarray, lda,
                                Barray, ldb, beta, Carray, ldc, batchCount);
}

DROP_IN_EXPORTED("libcublas", cublasGemmEx)
(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n, int k, const void* alpha,
 const void* A, cudaDataType Atype, int lda, const void* B, cudaDataType Btype, int ldb, const void* beta, void* C,
 cudaDataType Ctype, int ldc, cublasComputeType_t computeType, cublasGemmAlgo_t algo) {
  static const RealFunction real(kCublas, "cublasGemmEx");
  return drop_in::gemm_ex(real, "cublasGemmEx", handle, transa, transb, m, n, k, alpha, A, Atype, lda, B, Btype, ldb,
                          beta, C, Ctype, ldc, computeType, algo);
}

DROP_IN_EXPORTED("libcublas", cublasGemmEx_64)
(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int64_t m, int64_t n, int64_t k,
 const void* alpha, const void* A, cudaDataType Atype, int64_t lda, const void* B, cudaDataType Btype, int64_t ldb,
 const void* beta, void* C, cudaDataType Ctype, int64_t ldc, cublasComputeType_t computeType, cublasGemmAlgo_t algo) {
  static const RealFunction real(kCublas, "cublasGemmEx_64");
  return drop_in::gemm_ex(real, "cublasGemmEx_64", handle, transa, transb, m, n, k, alpha, A, Atype, lda, B, Btype, ldb,
                          beta, C, Ctype, ldc, computeType, algo);
}

DROP_IN_EXPORTED("libcublas", cublasGemmStridedBatchedEx)
(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n, int k, const void* alpha,
 const void* A, cudaDataType Atype, int lda, long long int strideA, const void* B, cudaDataType Btype, int ldb,
 long long int strideB, const void* beta, void* C, cudaDataType Ctype, int ldc, long long int strideC, int batchCount,
 cublasComputeType_t computeType, cublasGemmAlgo_t algo) {
  static const RealFunction real(kCublas, "cublasGemmStridedBatchedEx");
  return drop_in::gemm_strided_batched_ex(real, "cublasGemmStridedBatchedEx", handle, transa, transb, m, n, k, alpha, A,
                                          Atype, lda, strideA, B, Btype, ldb, strideB, beta, C, Ctype, ldc, strideC,
                                          batchCount, computeType, algo);
}

DROP_IN_EXPORTED("libcublas", cublasGemmStridedBatchedEx_64)
(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int64_t m, int64_t n, int64_t k,
 const void* alpha, const void* A, cudaDataType Atype, int64_t lda, long long int strideA, const void* B,
 cudaDataType Btype, int64_t ldb, long long int strideB, const void* beta, void* C, cudaDataType Ctype, int64_t ldc,
 long long int strideC, int64_t batchCount, cublasComputeType_t computeType, cublasGemmAlgo_t algo) {
  static const RealFunction real(kCublas, "cublasGemmStridedBatchedEx_64");
  return drop_in::gemm_strided_batched_ex(real, "cublasGemmStridedBatchedEx_64", handle, transa, transb, m, n, k, alpha,
                                          A, Atype, lda, strideA, B, Btype, ldb, strideB, beta, C, Ctype, ldc, strideC,
                                          batchCount, computeType, algo);
}

DROP_IN_EXPORTED("libcublas", cublasGemmBatchedEx)
(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n, int k, const void* alpha,
 const void* const Aarray[], cudaDataType Atype, int lda, const void* const Barray[], cudaDataType Btype, int ldb,
 const void* beta, void* const Carray[], cudaDataType Ctype, int ldc, int batchCount, cublasComputeType_t computeType,
 cublasGemmAlgo_t algo) {
  static const RealFunction real(kCublas, "cublasGemmBatchedEx");
  return drop_in::gemm_batched_ex(real, "cublasGemmBatchedEx", handle, transa, transb, m, n, k, alpha, Aarray, Atype,
                                  lda, Barray, Btype, ldb, beta, Carray, Ctype, ldc, batchCount, computeType, algo);
}

DROP_IN_EXPORTED("libcublas", cublasGemmBatchedEx_64)
(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int64_t m, int64_t n, int64_t k,
 const void* alpha, const void* const Aarray[], cudaDataType Atype, int64_t lda, const void* const Barray[],
 cudaDataType Btype, int64_t ldb, const void* beta, void* const Carray[], cudaDataType Ctype, int64_t ldc,
 int64_t batchCount, cublasComputeType_t computeType, cublasGemmAlgo_t algo) {
  static const RealFunction real(kCublas, "cublasGemmBatchedEx_64");
  return drop_in::gemm_batched_ex(real, "cublasGemmBatchedEx_64", handle, transa, transb, m, n, k, alpha, Aarray, Atype,
                                  lda, Barray, Btype, ldb, beta, Carray, Ctype, ldc, batchCount, computeType, algo);
}

// Products by vectors, with sizes of both types.
#define DROP_IN_SGEMV(function, Int)                                                                          \
  DROP_IN_EXPORTED("libcublas", function)                                                                     \
  (cublasHandle_t handle, cublasOperation_t trans, Int m, Int n, const float* alpha, const float* A, Int lda, \
   const float* x, Int incx, const float* beta, float* y, Int incy) {                                         \
    static const RealFunction real(kCublas, #function);                                                       \
    return drop_in::by_vector(                                                                                \
        #function, handle, trans, m, n, incx, incy,                                                           \
        [&](drop_in::Call& call) {                                                                            \
          drop_in::set_operands<float>(call, alpha, {x, incx}, {A, lda}, beta, {y, incy});                    \
        },                                                                                                    \
        [&] { return real(handle, trans, m, n, alpha, A, lda, x, incx, beta, y, incy); });                    \
  }                                                                                                           \
  DROP_IN_IS_LIKE_CUBLAS(function)
#define DROP_IN_SGEMV_STRIDED(function, Int)                                                                          \
  DROP_IN_EXPORTED("libcublas", function)                                                                             \
  (cublasHandle_t handle, cublasOperation_t trans, Int m, Int n, const float* alpha, const float* A, Int lda,         \
   long long int strideA, const float* x, Int incx, long long int stridex, const float* beta, float* y, Int incy,     \
   long long int stridey, Int batchCount) {                                                                           \
    static const RealFunction real(kCublas, #function);                                                               \
    return drop_in::by_vector(                                                                                        \
        #function, handle, trans, m, n, incx, incy,                                                                   \
        [&](drop_in::Call& call) {                                                                                    \
          drop_in::set_operands<float>(call, alpha, {x, incx, stridex}, {A, lda, strideA}, beta, {y, incy, stridey}); \
          call.batch_count = batchCount;                                                                              \
        },                                                                                                            \
        [&] {                                                                                                         \
          return real(handle, trans, m, n, alpha, A, lda, strideA, x, incx, stridex, beta, y, incy, stridey,          \
                      batchCount);                                                                                    \
        });                                                                                                           \
  }                                                                                                                   \
  DROP_IN_IS_LIKE_CUBLAS(function)
#define DROP_IN_SGEMV_BATCHED(function, Int)                                                                          \
  DROP_IN_EXPORTED("libcublas", function)                                                                             \
  (cublasHandle_t handle, cublasOperation_t trans, Int m, Int n, const float* alpha, const float* const Aarray[],     \
   Int lda, const float* const xarray[], Int incx, const float* beta, float* const yarray[], Int incy,                \
   Int batchCount) {                                                                                                  \
    static const RealFunction real(kCublas, #function);                                                               \
    return drop_in::by_vector(                                                                                        \
        #function, handle, trans, m, n, incx, incy,                                                                   \
        [&](drop_in::Call& call) {                                                                                    \
          drop_in::set_batch(call, alpha, xarray, incx, Aarray, lda, beta, yarray, incy, batchCount);                 \
        },                                                                                                            \
        [&] { return real(handle, trans, m, n, alpha, Aarray, lda, xarray, incx, beta, yarray, incy, batchCount); }); \
  }                                                                                                                   \
  DROP_IN_IS_LIKE_CUBLAS(function)

DROP_IN_SGEMV(cublasSgemv_v2, int);
DROP_IN_SGEMV(cublasSgemv_v2_64, int64_t);
DROP_IN_SGEMV_STRIDED(cublasSgemvStridedBatched, int);
DROP_IN_SGEMV_STRIDED(cublasSgemvStridedBatched_64, int64_t);
DROP_IN_SGEMV_BATCHED(cublasSgemvBatched, int);
DROP_IN_SGEMV_BATCHED(cublasSgemvBatched_64, int64_t);
DROP_IN_IS_LIKE_CUBLAS(cublasSgemm_v2);
DROP_IN_IS_LIKE_CUBLAS(cublasSgemm_v2_64);
DROP_IN_IS_LIKE_CUBLAS(cublasSgemmStridedBatched);
DROP_IN_IS_LIKE_CUBLAS(cublasSgemmStridedBatched_64);
DROP_IN_IS_LIKE_CUBLAS(cublasSgemmBatched);
DROP_IN_IS_LIKE_CUBLAS(cublasSgemmBatched_64);
DROP_IN_IS_LIKE_CUBLAS(cublasGemmEx);
DROP_IN_IS_LIKE_CUBLAS(cublasGemmEx_64);
DROP_IN_IS_LIKE_CUBLAS(cublasGemmStridedBatchedEx);
DROP_IN_IS_LIKE_CUBLAS(cublasGemmStridedBatchedEx_64);
DROP_IN_IS_LIKE_CUBLAS(cublasGemmBatchedEx);
DROP_IN_IS_LIKE_CUBLAS(cublasGemmBatchedEx_64);
