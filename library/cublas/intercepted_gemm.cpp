// The functions of libcublas that the drop-in takes the place of.

#include <cublas_v2.h>

#include "drop_in.hpp"
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

Call call_of(const char* function, cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int64_t m,
             int64_t n, int64_t k) {
  Call call;
  call.function = function;
  read_handle(handle, call);
  call.product.a.op = op(transa);
  call.product.b.op = op(transb);
  call.product.m = m;
  call.product.n = n;
  call.product.k = k;
  return call;
}

struct Matrix {
  const void* data;
  int64_t ld;
  int64_t stride = 0;
};

/// Sets the scalars and the matrices of a call. They are FP32, whatever their types among the arguments.
void set_operands(Call& call, const void* alpha, const Matrix& a, const Matrix& b, const void* beta, void* c,
                  int64_t ldc, int64_t stride_c = 0) {
  sgemm_product_t& p = call.product;
  p.alpha = static_cast<const float*>(alpha);
  p.beta = static_cast<const float*>(beta);
  p.a = {nullptr, p.a.op, static_cast<const float*>(a.data), a.ld, a.stride, nullptr};
  p.b = {nullptr, p.b.op, static_cast<const float*>(b.data), b.ld, b.stride, nullptr};
  p.d = static_cast<float*>(c);
  p.ldd = ldc;
  p.stride_of_d = stride_c;
}

/// The same for a batch, whose matrices are given by arrays of addresses.
void set_batch(Call& call, const void* alpha, const void* a, int64_t lda, const void* b, int64_t ldb, const void* beta,
               const void* c, int64_t ldc, int64_t count) {
  sgemm_product_t& p = call.product;
  p.batch_count = count;
  set_operands(call, alpha, {nullptr, lda}, {nullptr, ldb}, beta, nullptr, ldc);
  p.a.addresses = static_cast<const float* const*>(a);
  p.b.addresses = static_cast<const float* const*>(b);
  p.addresses_of_d = static_cast<float* const*>(c);
}

void refuse(Call& call, const char* refusal) {
  if (!call.refused()) {
    call.refusal = refusal;
  }
}

/// A product by a vector, which is cuBLAS's unless it is to be reproducible: y^T = alpha * x^T * op(A)^T + beta * y^T,
/// where the increments of x and y are leading dimensions. `set(call)` sets the operands, `real()` calls cuBLAS.
template <class Set, class Real>
cublasStatus_t by_vector(const char* name, cublasHandle_t handle, cublasOperation_t trans, int64_t m, int64_t n,
                         int64_t incx, int64_t incy, const Set& set, const Real& real) {
  if (!DropIn::instance().is_reproducible() || m == 0 || n == 0) {
    return real();
  }
  const bool plain = trans == CUBLAS_OP_N;
  Call call = call_of(name, handle, CUBLAS_OP_N, plain ? CUBLAS_OP_T : CUBLAS_OP_N, 1, plain ? m : n, plain ? n : m);
  if (incx < 1 || incy < 1) {
    call.is_fp32 = !call.refused();
    refuse(call, "a vector lies backwards");
  }
  set(call);
  return DropIn::instance().run(call, real);
}

/// An FP32 product of a form that the library does not have. `real()` calls cuBLAS.
template <class Real>
cublasStatus_t left_to_cublas(const char* name, cublasHandle_t handle, const Real& real) {
  if (!DropIn::instance().is_reproducible()) {
    return real();
  }
  Call call = call_of(name, handle, CUBLAS_OP_N, CUBLAS_OP_N, 0, 0, 0);
  DropIn::tell_of_other_bits(call.name());
  refuse(call, "libsgemm has no such product, and cuBLAS has other bits");
  return DropIn::instance().run(call, real);
}

}  // namespace
}  // namespace drop_in

using namespace drop_in;

// Each function has a form for sizes of 32 bits, and one with the ending _64. Int is the type of their sizes.

/// A function with its parameters, and the same as arguments. What follows makes a Call of them, where `by_cublas()`
/// calls cuBLAS.
#define DROP_IN_FUNCTION(function, parameters, arguments, ...) \
  DROP_IN_EXPORTED("libcublas", function) parameters {         \
    static const RealFunction real(kCublas, #function);        \
    const char* const name = #function;                        \
    const auto by_cublas = [&] { return real arguments; };     \
    __VA_ARGS__                                                \
  }                                                            \
  DROP_IN_IS_LIKE_CUBLAS(function)

/// The same for a product.
#define DROP_IN_PRODUCT(function, parameters, arguments, ...)                                                   \
  DROP_IN_FUNCTION(function, parameters, arguments, Call call = call_of(name, handle, transa, transb, m, n, k); \
                   __VA_ARGS__ return DropIn::instance().run(call, by_cublas);)

#define DROP_IN_SGEMM(function, Int)                                                                                \
  DROP_IN_PRODUCT(                                                                                                  \
      function,                                                                                                     \
      (cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, Int m, Int n, Int k,              \
       const float* alpha, const float* A, Int lda, const float* B, Int ldb, const float* beta, float* C, Int ldc), \
      (handle, transa, transb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc),                                       \
      set_operands(call, alpha, {A, lda}, {B, ldb}, beta, C, ldc);)

#define DROP_IN_SGEMM_STRIDED(function, Int)                                                                         \
  DROP_IN_PRODUCT(                                                                                                   \
      function,                                                                                                      \
      (cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, Int m, Int n, Int k,               \
       const float* alpha, const float* A, Int lda, long long int strideA, const float* B, Int ldb,                  \
       long long int strideB, const float* beta, float* C, Int ldc, long long int strideC, Int batchCount),          \
      (handle, transa, transb, m, n, k, alpha, A, lda, strideA, B, ldb, strideB, beta, C, ldc, strideC, batchCount), \
      set_operands(call, alpha, {A, lda, strideA}, {B, ldb, strideB}, beta, C, ldc, strideC);                        \
      call.product.batch_count = batchCount;)

#define DROP_IN_SGEMM_BATCHED(function, Int)                                                                         \
  DROP_IN_PRODUCT(function,                                                                                          \
                  (cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, Int m, Int n, Int k,   \
                   const float* alpha, const float* const Aarray[], Int lda, const float* const Barray[], Int ldb,   \
                   const float* beta, float* const Carray[], Int ldc, Int batchCount),                               \
                  (handle, transa, transb, m, n, k, alpha, Aarray, lda, Barray, ldb, beta, Carray, ldc, batchCount), \
                  set_batch(call, alpha, Aarray, lda, Barray, ldb, beta, Carray, ldc, batchCount);)

#define DROP_IN_SGEMM_EX(function, Int)                                                                               \
  DROP_IN_PRODUCT(function,                                                                                           \
                  (cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, Int m, Int n, Int k,    \
                   const float* alpha, const void* A, cudaDataType Atype, Int lda, const void* B, cudaDataType Btype, \
                   Int ldb, const float* beta, void* C, cudaDataType Ctype, Int ldc),                                 \
                  (handle, transa, transb, m, n, k, alpha, A, Atype, lda, B, Btype, ldb, beta, C, Ctype, ldc),        \
                  set_operands(call, alpha, {A, lda}, {B, ldb}, beta, C, ldc);                                        \
                  refuse(call, refusal_of_types(Atype, Btype, Ctype, CUBLAS_COMPUTE_32F));)

#define DROP_IN_GEMM_EX(function, Int)                                                                                \
  DROP_IN_PRODUCT(                                                                                                    \
      function,                                                                                                       \
      (cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, Int m, Int n, Int k,                \
       const void* alpha, const void* A, cudaDataType Atype, Int lda, const void* B, cudaDataType Btype, Int ldb,     \
       const void* beta, void* C, cudaDataType Ctype, Int ldc, cublasComputeType_t computeType,                       \
       cublasGemmAlgo_t algo),                                                                                        \
      (handle, transa, transb, m, n, k, alpha, A, Atype, lda, B, Btype, ldb, beta, C, Ctype, ldc, computeType, algo), \
      set_operands(call, alpha, {A, lda}, {B, ldb}, beta, C, ldc);                                                    \
      refuse(call, refusal_of_types(Atype, Btype, Ctype, computeType));)

#define DROP_IN_GEMM_STRIDED_EX(function, Int)                                                                      \
  DROP_IN_PRODUCT(                                                                                                  \
      function,                                                                                                     \
      (cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, Int m, Int n, Int k,              \
       const void* alpha, const void* A, cudaDataType Atype, Int lda, long long int strideA, const void* B,         \
       cudaDataType Btype, Int ldb, long long int strideB, const void* beta, void* C, cudaDataType Ctype, Int ldc,  \
       long long int strideC, Int batchCount, cublasComputeType_t computeType, cublasGemmAlgo_t algo),              \
      (handle, transa, transb, m, n, k, alpha, A, Atype, lda, strideA, B, Btype, ldb, strideB, beta, C, Ctype, ldc, \
       strideC, batchCount, computeType, algo),                                                                     \
      set_operands(call, alpha, {A, lda, strideA}, {B, ldb, strideB}, beta, C, ldc, strideC);                       \
      call.product.batch_count = batchCount; refuse(call, refusal_of_types(Atype, Btype, Ctype, computeType));)

#define DROP_IN_GEMM_BATCHED_EX(function, Int)                                                                   \
  DROP_IN_PRODUCT(                                                                                               \
      function,                                                                                                  \
      (cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, Int m, Int n, Int k,           \
       const void* alpha, const void* const Aarray[], cudaDataType Atype, Int lda, const void* const Barray[],   \
       cudaDataType Btype, Int ldb, const void* beta, void* const Carray[], cudaDataType Ctype, Int ldc,         \
       Int batchCount, cublasComputeType_t computeType, cublasGemmAlgo_t algo),                                  \
      (handle, transa, transb, m, n, k, alpha, Aarray, Atype, lda, Barray, Btype, ldb, beta, Carray, Ctype, ldc, \
       batchCount, computeType, algo),                                                                           \
      set_batch(call, alpha, Aarray, lda, Barray, ldb, beta, Carray, ldc, batchCount);                           \
      refuse(call, refusal_of_types(Atype, Btype, Ctype, computeType));)

// Products by vectors.

#define DROP_IN_SGEMV(function, Int)                                                                                  \
  DROP_IN_FUNCTION(function,                                                                                          \
                   (cublasHandle_t handle, cublasOperation_t trans, Int m, Int n, const float* alpha, const float* A, \
                    Int lda, const float* x, Int incx, const float* beta, float* y, Int incy),                        \
                   (handle, trans, m, n, alpha, A, lda, x, incx, beta, y, incy),                                      \
                   return by_vector(                                                                                  \
                       name, handle, trans, m, n, incx, incy,                                                         \
                       [&](Call& call) {                                                                              \
                         set_operands(call, alpha, {x, incx}, {A, lda}, beta, y, incy);                               \
                       },                                                                                             \
                       by_cublas);)

#define DROP_IN_SGEMV_STRIDED(function, Int)                                                                          \
  DROP_IN_FUNCTION(                                                                                                   \
      function,                                                                                                       \
      (cublasHandle_t handle, cublasOperation_t trans, Int m, Int n, const float* alpha, const float* A, Int lda,     \
       long long int strideA, const float* x, Int incx, long long int stridex, const float* beta, float* y, Int incy, \
       long long int stridey, Int batchCount),                                                                        \
      (handle, trans, m, n, alpha, A, lda, strideA, x, incx, stridex, beta, y, incy, stridey, batchCount),            \
      return by_vector(                                                                                               \
          name, handle, trans, m, n, incx, incy,                                                                      \
          [&](Call& call) {                                                                                           \
            set_operands(call, alpha, {x, incx, stridex}, {A, lda, strideA}, beta, y, incy, stridey);                 \
            call.product.batch_count = batchCount;                                                                    \
          },                                                                                                          \
          by_cublas);)

#define DROP_IN_SGEMV_BATCHED(function, Int)                                                                          \
  DROP_IN_FUNCTION(                                                                                                   \
      function,                                                                                                       \
      (cublasHandle_t handle, cublasOperation_t trans, Int m, Int n, const float* alpha, const float* const Aarray[], \
       Int lda, const float* const xarray[], Int incx, const float* beta, float* const yarray[], Int incy,            \
       Int batchCount),                                                                                               \
      (handle, trans, m, n, alpha, Aarray, lda, xarray, incx, beta, yarray, incy, batchCount),                        \
      return by_vector(                                                                                               \
          name, handle, trans, m, n, incx, incy,                                                                      \
          [&](Call& call) { set_batch(call, alpha, xarray, incx, Aarray, lda, beta, yarray, incy, batchCount); },     \
          by_cublas);)

// Products that stay with cuBLAS.

#define DROP_IN_SDOT(function, Int)                                                                                   \
  DROP_IN_FUNCTION(function,                                                                                          \
                   (cublasHandle_t handle, Int n, const float* x, Int incx, const float* y, Int incy, float* result), \
                   (handle, n, x, incx, y, incy, result), return left_to_cublas(name, handle, by_cublas);)

#define DROP_IN_SGER(function, Int)                                                                                    \
  DROP_IN_FUNCTION(function,                                                                                           \
                   (cublasHandle_t handle, Int m, Int n, const float* alpha, const float* x, Int incx, const float* y, \
                    Int incy, float* A, Int lda),                                                                      \
                   (handle, m, n, alpha, x, incx, y, incy, A, lda), return left_to_cublas(name, handle, by_cublas);)

#define DROP_IN_SGEMM_GROUPED(function, Int)                                                                          \
  DROP_IN_FUNCTION(                                                                                                   \
      function,                                                                                                       \
      (cublasHandle_t handle, const cublasOperation_t transa[], const cublasOperation_t transb[], const Int m[],      \
       const Int n[], const Int k[], const float alpha[], const float* const Aarray[], const Int lda[],               \
       const float* const Barray[], const Int ldb[], const float beta[], float* const Carray[], const Int ldc[],      \
       Int group_count, const Int group_size[]),                                                                      \
      (handle, transa, transb, m, n, k, alpha, Aarray, lda, Barray, ldb, beta, Carray, ldc, group_count, group_size), \
      return left_to_cublas(name, handle, by_cublas);)

#define DROP_IN_BOTH(FORM, function) \
  FORM(function, int);               \
  FORM(function##_64, int64_t)

DROP_IN_BOTH(DROP_IN_SGEMM, cublasSgemm_v2);
DROP_IN_BOTH(DROP_IN_SGEMM_STRIDED, cublasSgemmStridedBatched);
DROP_IN_BOTH(DROP_IN_SGEMM_BATCHED, cublasSgemmBatched);
DROP_IN_BOTH(DROP_IN_SGEMM_EX, cublasSgemmEx);
DROP_IN_BOTH(DROP_IN_GEMM_EX, cublasGemmEx);
DROP_IN_BOTH(DROP_IN_GEMM_STRIDED_EX, cublasGemmStridedBatchedEx);
DROP_IN_BOTH(DROP_IN_GEMM_BATCHED_EX, cublasGemmBatchedEx);
DROP_IN_BOTH(DROP_IN_SGEMV, cublasSgemv_v2);
DROP_IN_BOTH(DROP_IN_SGEMV_STRIDED, cublasSgemvStridedBatched);
DROP_IN_BOTH(DROP_IN_SGEMV_BATCHED, cublasSgemvBatched);
DROP_IN_BOTH(DROP_IN_SDOT, cublasSdot_v2);
DROP_IN_BOTH(DROP_IN_SGER, cublasSger_v2);
#if CUBLAS_VERSION >= 120500
DROP_IN_BOTH(DROP_IN_SGEMM_GROUPED, cublasSgemmGroupedBatched);
#endif
