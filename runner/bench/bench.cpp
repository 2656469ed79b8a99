#include "bench/bench.hpp"

#include "bench/gpu_bench.hpp"

namespace sgemm {

void HostBench::verify(OperandSet& operands, std::string_view when, const Observer& observer, Record& record) {
  stop_.check();
  observer("verifying");
  const bool on_gpu = gpu_ != nullptr && !gpu_->lost();
  record.judge(on_gpu ? gpu_->check_host_result(operands, observer, record) : operands.check(record.accuracy), when,
               protocol_.beta);
}

}  // namespace sgemm
