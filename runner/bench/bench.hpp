#pragma once

#include "base/interrupt.hpp"
#include "base/kernel.hpp"
#include "bench/operand_set.hpp"
#include "count/count.hpp"
#include "device/device.hpp"
#include "record/protocol.hpp"
#include "record/record.hpp"
#include "record/results_file.hpp"
#include "schedule/grid.hpp"
#include "timing/sampling.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

namespace sgemm {

/// Takes a kernel from its build for one target to a filled record.
class Bench {
 public:
  virtual ~Bench() = default;

  /// Throws CaseStopped where the kernel can not run here, or not on operands of that shape; no operands are made yet.
  virtual void require(const Kernel& kernel, OperandSet& operands) = 0;
  /// Runs a kernel for which require() has returned. Throws CaseStopped if the run does not end as it should, and
  /// std::bad_alloc.
  virtual void run(const Kernel& kernel, OperandSet& operands, const Observer& observer, Record& record) = 0;
  /// Whether an earlier case left what it runs on in a state in which no later one can use it. Later cases are skipped.
  virtual bool lost() const { return false; }
};

/// How pieces get from GPU to GPU.
enum class GpuExchange {
  peer,  ///< copy engines, among the GPUs of one process
  nccl,
};

constexpr std::string_view to_string(GpuExchange exchange) { return exchange == GpuExchange::peer ? "peer" : "nccl"; }

/// How a product is spread over GPUs, as far as the command line says so.
struct RankOptions {
  std::optional<int> gpus;   ///< at least 1; without it all GPUs of the machine, or HOST_RANKS ranks on the executor
  std::optional<Grid> grid;  ///< of as many ranks as `gpus`; without it best_grid()
  std::optional<GpuExchange> exchange = {};  ///< without it peer copies in one process, and NCCL among several
};

/// Ranks on the executor where the command line names no number.
constexpr int HOST_RANKS = 4;

/// How long the leader of ranks waits for replies to an order that may take so many seconds. The ranks' own reasons
/// tell more, and come first.
inline std::chrono::duration<double> time_for_replies(double seconds) {
  constexpr double LATER = 2.0;
  return std::chrono::duration<double>(seconds + LATER);
}

/// Makes a bench for products on several GPUs (many_gpus/). The protocol outlives it; `device` is the GPU of this
/// process, nothing where GPU kernels run on the executor.
using BenchMaker = std::function<std::unique_ptr<Bench>(const Protocol& protocol, const std::optional<Device>& device,
                                                        StopToken stop)>;

/// Throws CaseStopped (not supported) where the GPU can not run the kernel's code.
void require_code_for(const Device& gpu, const Kernel& kernel);

/// Measures GPU kernels, each beside cuBLAS. The bench holds what all cases share: the stream, the flush buffer, the
/// telemetry. The operand set holds what belongs to operands: their copies on the device, the reference, and cuBLAS
/// prepared and measured alone.
class GpuBench : public Bench {
 public:
  /// The protocol outlives the bench. Measures the floor of the event times. Throws std::runtime_error if the device
  /// can not be used.
  static std::unique_ptr<GpuBench> open(const Device& device, const Protocol& protocol, StopToken stop);

  virtual GpuFacts facts() const = 0;

  /// Compares the C that a kernel on the host has left in `operands` with the reference made on the GPU, in the case
  /// `record`. Throws as run().
  virtual Verdict check_host_result(OperandSet& operands, const Observer& observer, const Record& record) = 0;

  /// The relative error of cublasSgemm on these operands. Throws as run().
  virtual double cublas_rel_err(OperandSet& operands, const Observer& observer, const Record& record) = 0;
};

/// What is done in the memory of the host.
enum class HostWork {
  time,     ///< kernels of the host run by its clock
  execute,  ///< GPU kernels are executed on the CPU and verified, with checks if the protocol says so, and not timed
  count,    ///< blocks of GPU kernels are executed, and what they ask of a GPU is counted
};

/// Makes the bench for it. The protocol outlives it, and so does `gpu`, which makes references faster; null for none.
/// The options but `force` are for counting alone.
std::unique_ptr<Bench> make_host_bench(HostWork work, const Protocol& protocol, GpuBench* gpu, StopToken stop,
                                       const CountingOptions& options);

}  // namespace sgemm
