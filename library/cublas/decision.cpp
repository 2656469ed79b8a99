#include "decision.hpp"

namespace drop_in {

Decision decide(const sgemm_plan_t& plan) {
  const std::string kernel = plan.kernel;
  if (kernel == "cublas" || kernel == "none") {
    return {false, "cublas", plan.reason, 0, {}};
  }
  return {true, kernel, plan.reason, plan.workspace_bytes, {plan.predicted_us, plan.cublas_us}};
}

}  // namespace drop_in
