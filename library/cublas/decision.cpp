#include "decision.hpp"

#include <cmath>

namespace drop_in {
namespace {

// A launch, and the part of the peak that streaming kernels reach.
constexpr double kLaunchUs = 3;
constexpr double kReachedPartOfPeak = 0.8;

std::string whole_us(double us) { return std::to_string(std::lround(us)) + " us"; }

}  // namespace

double epilogue_us(const Epilogue& epilogue, int64_t m, int64_t n, double peak_bytes_per_us) {
  if (epilogue.empty()) {
    return 0;
  }
  // D is read and written, and the argument of GELU written or read.
  const double bytes = (epilogue.argument != nullptr ? 12.0 : 8.0) * static_cast<double>(m) * static_cast<double>(n);
  return kLaunchUs + bytes / (kReachedPartOfPeak * peak_bytes_per_us);
}

Decision decide(const sgemm_plan_t& plan, const Epilogue& epilogue, double pass_us, bool for_library_alone) {
  const std::string kernel = plan.kernel;
  if (kernel == "cublas" || kernel == "none") {
    return {false, "cublas", plan.reason, 0, {}};
  }
  if (epilogue.empty()) {
    return {true, kernel, plan.reason, plan.workspace_bytes, {plan.predicted_us, plan.cublas_us}};
  }
  // Where there is no prediction, nothing says that the pass is worth it.
  const bool gains = for_library_alone || plan.predicted_us + pass_us < plan.cublas_us;
  const std::string times = whole_us(plan.predicted_us) + " and " + whole_us(pass_us) + " for the epilogue, cuBLAS " +
                            whole_us(plan.cublas_us);
  const Prediction prediction{plan.predicted_us + pass_us, plan.cublas_us};
  return {gains, gains ? kernel : "cublas", "predicted " + times, plan.workspace_bytes,
          gains ? prediction : Prediction{}};
}

}  // namespace drop_in
