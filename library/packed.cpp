#include "packed.hpp"

#include "algorithms.hpp"

namespace sgemm {

std::optional<Method> method_of_packed(sgemm_accuracy_t accuracy, std::int64_t k) {
  switch (accuracy) {
    case SGEMM_ACCURACY_COMPONENTWISE:
      return Method::bf16x6;
    case SGEMM_ACCURACY_NORMWISE:
      return Method::fp16x3;
    case SGEMM_ACCURACY_ROWWISE:
      return k >= SHORTEST_SUM_FOR_INT8X6 ? Method::int8x6 : Method::fp16x3;
    case SGEMM_ACCURACY_FP32:
    case SGEMM_ACCURACY_REPRODUCIBLE:
      break;
  }
  return std::nullopt;
}

Packing packing(Method method, const GemmProblem& rows) {
  return method == Method::bf16x6   ? bf16x6_packing(rows)
         : method == Method::fp16x3 ? fp16x3_packing(rows)
                                    : int8x6_packing(rows);
}

}  // namespace sgemm
