#include "packed.hpp"

namespace sgemm {

std::optional<Method> method_of_packed(sgemm_accuracy_t accuracy) {
  switch (accuracy) {
    case SGEMM_ACCURACY_COMPONENTWISE:
      return Method::bf16x6;
    case SGEMM_ACCURACY_NORMWISE:
    case SGEMM_ACCURACY_ROWWISE:
      return Method::fp16x3;
    case SGEMM_ACCURACY_FP32:
    case SGEMM_ACCURACY_REPRODUCIBLE:
      break;
  }
  return std::nullopt;
}

Packing packing(Method method, const GemmProblem& rows) {
  return method == Method::bf16x6 ? bf16x6_packing(rows) : fp16x3_packing(rows);
}

}  // namespace sgemm
