#include "bench/bench.hpp"

#include "base/outcome.hpp"

#include <fmt/format.h>

namespace sgemm {

void require_code_for(const Device& gpu, const Kernel& kernel) {
  if (kernel.min_compute_capability > gpu.compute_capability) {
    throw CaseStopped(Outcome::not_supported, fmt::format("needs compute capability {}, this device has {}",
                                                          capability_text(kernel.min_compute_capability),
                                                          capability_text(gpu.compute_capability)));
  }
  if (kernel.max_compute_capability != 0 && kernel.max_compute_capability < gpu.compute_capability) {
    throw CaseStopped(Outcome::not_supported, fmt::format("needs instructions of compute capability {}, which {} lacks",
                                                          capability_text(kernel.max_compute_capability),
                                                          capability_text(gpu.compute_capability)));
  }
  const std::string& missing_code = kernel.build(Target::for_gpu).missing_code;
  if (!missing_code.empty()) {
    throw CaseStopped(Outcome::not_supported,
                      fmt::format("this build has no code for {0}: add {1} to -DCMAKE_CUDA_ARCHITECTURES", missing_code,
                                  missing_code.substr(3) + "-real"));
  }
}

void HostBench::verify(OperandSet& operands, std::string_view when, const Observer& observer, Record& record) {
  stop_.check();
  observer("verifying");
  const bool on_gpu = gpu_ != nullptr && !gpu_->lost();
  record.judge(on_gpu ? gpu_->check_host_result(operands, observer, record) : operands.check(record.accuracy), when,
               protocol_.beta, [&] { return cause_of_wrong(operands.original(), operands.result().data()); });
}

}  // namespace sgemm
