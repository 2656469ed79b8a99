// libcublasLt for the tests: descriptions and layouts as maps of attributes.

#include <cublasLt.h>

#include <cstring>
#include <vector>

#include "fake_cublas.hpp"

namespace {

using Attributes = std::map<int, std::vector<char>>;

Attributes& attributes(const void* object) { return *static_cast<Attributes*>(const_cast<void*>(object)); }

template <class Handle>
cublasStatus_t make(Handle* handle, std::initializer_list<std::pair<int, uint64_t>> values) {
  auto* const made = new Attributes;
  for (const auto& [which, value] : values) {
    const char* const bytes = reinterpret_cast<const char*>(&value);
    (*made)[which].assign(bytes, bytes + sizeof value);
  }
  *handle = reinterpret_cast<Handle>(made);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t set(void* object, int which, const void* value, size_t bytes) {
  const char* const begin = static_cast<const char*>(value);
  attributes(object)[which].assign(begin, begin + bytes);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t get(const void* object, int which, void* value, size_t bytes, size_t* written) {
  const auto found = attributes(object).find(which);
  if (found == attributes(object).end()) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  std::memcpy(value, found->second.data(), bytes);
  *written = bytes;
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

FakeCublas& fake_cublas() {
  static FakeCublas fake;
  return fake;
}

void host_gemm(bool transa, bool transb, long m, long n, long k, float alpha, const float* a, long lda, const float* b,
               long ldb, float beta, float* c, long ldc) {
  for (long j = 0; j < n; ++j) {
    for (long i = 0; i < m; ++i) {
      double sum = 0;
      for (long l = 0; l < k; ++l) {
        sum +=
            static_cast<double>(transa ? a[l + i * lda] : a[i + l * lda]) * (transb ? b[j + l * ldb] : b[l + j * ldb]);
      }
      float& element = c[i + j * ldc];
      element = static_cast<float>(alpha * sum) + (beta == 0 ? 0 : beta * element);
    }
  }
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* description, cublasComputeType_t compute,
                                        cudaDataType_t scale) {
  return make(description, {{CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, compute}, {CUBLASLT_MATMUL_DESC_SCALE_TYPE, scale}});
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type, uint64_t rows,
                                          uint64_t columns, int64_t ld) {
  return make(layout, {{CUBLASLT_MATRIX_LAYOUT_TYPE, type},
                       {CUBLASLT_MATRIX_LAYOUT_ROWS, rows},
                       {CUBLASLT_MATRIX_LAYOUT_COLS, columns},
                       {CUBLASLT_MATRIX_LAYOUT_LD, static_cast<uint64_t>(ld)}});
}

/// What descriptions and layouts have alike.
#define FUNCTIONS_OF(object, which_t)                                                                             \
  cublasStatus_t object##Destroy(object##_t of) {                                                                 \
    delete &attributes(of);                                                                                       \
    return CUBLAS_STATUS_SUCCESS;                                                                                 \
  }                                                                                                               \
  cublasStatus_t object##SetAttribute(object##_t of, which_t which, const void* value, size_t bytes) {            \
    return set(of, which, value, bytes);                                                                          \
  }                                                                                                               \
  cublasStatus_t object##GetAttribute(object##_t of, which_t which, void* value, size_t bytes, size_t* written) { \
    return get(of, which, value, bytes, written);                                                                 \
  }
FUNCTIONS_OF(cublasLtMatmulDesc, cublasLtMatmulDescAttributes_t)
FUNCTIONS_OF(cublasLtMatrixLayout, cublasLtMatrixLayoutAttribute_t)

// Counts only: the tests look at the numbers of what libsgemm computes.
cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t, const void*, const void*, cublasLtMatrixLayout_t,
                              const void*, cublasLtMatrixLayout_t, const void*, const void*, cublasLtMatrixLayout_t,
                              void*, cublasLtMatrixLayout_t, const cublasLtMatmulAlgo_t*, void*, size_t, cudaStream_t) {
  ++fake_cublas().calls["cublasLtMatmul"];
  return CUBLAS_STATUS_SUCCESS;
}
