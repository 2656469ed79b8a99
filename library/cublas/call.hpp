#pragma once

#include <cublas_v2.h>
#include <sgemm/sgemm.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>

namespace drop_in {

/// A matrix of a call, column-major. `stride` is the distance to the next one of a batch. Both are in elements.
template <class Element>
struct Matrix {
  Element* data = nullptr;
  int64_t ld = 0;
  int64_t stride = 0;
  /// The addresses of the matrices of a batch, in the memory of the GPU, instead of `data` and `stride`.
  Element* const* addresses = nullptr;
};

/// A call of cuBLAS, as far as the library can do it: C = alpha * op(A) * op(B) + beta * C, where op(A) is m x k and
/// op(B) is k x n. With an epilogue, C is what cublasLtMatmul calls D.
struct Call {
  const char* function = "";
  /// Why the library can not do it. Empty: it can, and all members are set.
  const char* refusal = "";
  /// It is refused for its form alone: it asks for FP32 all the same.
  bool is_fp32 = false;
  sgemm_accuracy_t accuracy = SGEMM_ACCURACY_COMPONENTWISE;
  cudaStream_t stream = nullptr;
  sgemm_pointer_mode_t pointer_mode = SGEMM_POINTER_MODE_HOST;
  int multiprocessors = 0;  // to plan for; 0: all
  sgemm_op_t transa = SGEMM_OP_N;
  sgemm_op_t transb = SGEMM_OP_N;
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  int64_t batch_count = 1;
  bool by_address = false;  // matrices have `addresses`
  const float* alpha = nullptr;
  const float* beta = nullptr;
  Matrix<const float> a;
  Matrix<const float> b;
  Matrix<float> c;
  std::optional<sgemm_epilogue_t> epilogue;
  Matrix<const float> added;  // what beta multiplies, in place of C, where there is an epilogue
  /// Memory on the GPU that the call may work in. Null: the caller gave none.
  void* workspace = nullptr;
  size_t workspace_bytes = 0;

  /// What a plan for it depends on, besides the device.
  auto question() const {
    const sgemm_epilogue_t e = epilogue.value_or(sgemm_epilogue_t{});
    return std::tuple(multiprocessors, pointer_mode, accuracy, transa, transb, m, n, k, a.ld, b.ld, c.ld, batch_count,
                      by_address, epilogue.has_value(), e.activation, e.bias != nullptr, e.aux != nullptr);
  }
  bool refused() const { return *refusal != '\0'; }
  /// As programs write it: cuBLAS's header has the second version of some functions under the name of the first.
  std::string name() const {
    std::string name = function;
    const size_t version = name.find("_v2");
    return version == std::string::npos ? name : name.erase(version, 3);
  }
};

}  // namespace drop_in
