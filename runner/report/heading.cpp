#include "report/console.hpp"

#include "cli/selection.hpp"
#include "simt/executor.hpp"
#include "simt/gpu_models.hpp"
#include "timing/turn.hpp"

#include <ostream>

#include <fmt/format.h>

namespace sgemm {
namespace {

using Lines = std::vector<std::string>;

void describe(const Device& device, const std::string& driver, Lines& lines) {
  lines.push_back(fmt::format("{}: compute capability {}, {} SMs, {} MiB L2, {} GiB, up to {} MHz{}{}", device.name,
                              capability_text(device.compute_capability), device.multiprocessors,
                              device.l2_bytes >> 20U, device.memory_bytes >> 30U, device.max_sm_clock_mhz,
                              driver.empty() ? "" : ", driver ", driver));
  if (const std::optional<double> peak = device.fp32_peak_gflops()) {
    lines.push_back(fmt::format("% peak: of {:.1f} TFLOP/s FP32 = {}", *peak / 1e3, device.fp32_peak_basis()));
  }
}

std::string cublas() { return fmt::format("cuBLAS {} (FP32)", gpu_libraries().cublas.value_or("")); }

void describe_counting(const std::string& gpu_model, Lines& lines) {
  const simt::GpuModel& gpu = *simt::find_gpu_model(gpu_model);
  lines.push_back(
      fmt::format("GPU kernels: executed on the CPU by {} threads, to count what they ask of an {}: {} SMs, {} MiB L2",
                  simt::workers(), gpu.name, gpu.sms, gpu.l2_bytes >> 20U));
  lines.emplace_back(
      "count: requests of warps as in the source, of which nvcc combines some to shared memory; per request: sectors "
      "(32 B of global memory), waves (passes through shared memory) and conflicts (those that another layout would "
      "save); bytes/C: by all lanes, per element of C");
  lines.emplace_back(
      "DRAM: predicted, once with the blocks of an SM advancing in step, once each ahead of the next, in turn");
}

/// What the table or the report of the mode says.
void describe_mode(const Options& options, bool on_gpu, Lines& lines) {
  const Protocol& protocol = options.protocol;
  switch (protocol.mode) {
    case Mode::measure:
    case Mode::judge:
    case Mode::digest:
    case Mode::list:
      if (on_gpu) {
        lines.push_back(cublas() +
                        " takes turns with every GPU kernel; vs cuBLAS: paired samples, vs alone: cuBLAS by itself; "
                        "above 1 is faster than cuBLAS");
      }
      if (protocol.energy) {
        lines.push_back(
            fmt::format("energy: after the samples cuBLAS and then the kernel run back to back for {:g} s each, L2 "
                        "warm; W, MHz, J of a product and GFLOP/J are of that time, and cuBLAS W and J of cuBLAS",
                        ENERGY_SECONDS));
      }
      break;
    case Mode::sustain:
      lines.push_back(cublas() + " has a turn as long after each kernel's; vs cuBLAS: sustained speeds");
      lines.push_back(
          fmt::format("sustained: each back to back for {:g} s on operands of its own, L2 warm; before each turn the "
                      "GPU idles until it is at most {} K warmer than at first, {:g} s at most",
                      protocol.sustain_s, COOL_KELVIN, COOL_SECONDS));
      break;
    case Mode::accuracy:
      if (on_gpu) {
        lines.push_back(cublas() + "; vs cuBLAS: the relative error over its; above 1 is less accurate than cuBLAS");
      }
      lines.emplace_back(
          "rel err: relative Frobenius error against FP64; worst: largest |C - C64| / (|A||B|) of an element; of "
          "bound: largest error over what the kernel's class allows; condition: |A||B| over C64, Frobenius norms; "
          "Inf/NaN: whether they are where they belong");
      break;
    case Mode::count:
      describe_counting(options.gpu_model, lines);
      break;
    case Mode::profile:
      lines.emplace_back(
          "profiled: one launch after one that is verified, between cudaProfilerStart() and cudaProfilerStop()");
      break;
  }
}

/// What the numbers of the mode depend on.
std::string circumstances(const Protocol& protocol) {
  std::string factors = fmt::format("seed {}, alpha {}, beta {}", protocol.seed, protocol.alpha, protocol.beta);
  if (protocol.mode == Mode::accuracy) {
    return factors;
  }
  const std::string data = fmt::format("{} data, {}", to_string(protocol.data.front()), factors);
  return protocol.mode == Mode::count || protocol.mode == Mode::profile
             ? data
             : fmt::format("{} L2, {} time, {}{}", to_string(protocol.l2), to_string(protocol.time), data,
                           protocol.verify ? "" : ", NOT VERIFIED");
}

}  // namespace

std::vector<std::string> heading(const Options& options, const DeviceQuery& query, const GpuFacts& facts,
                                 bool executing, const std::string& file) {
  const Protocol& protocol = options.protocol;
  Lines lines;
  if (query.device) {
    describe(*query.device, facts.driver, lines);
  }
  describe_mode(options, query.device.has_value(), lines);
  if (executing && protocol.mode != Mode::count) {
    lines.push_back(fmt::format("GPU kernels: executed on the CPU by {} threads, {}; they have no times there",
                                simt::workers(),
                                protocol.check ? "every access to memory checked" : "memory unchecked"));
  }
  lines.push_back(fmt::format("CPU: {}", cpu_model()));
  lines.push_back(circumstances(protocol));
  lines.push_back("Results: " + file);
  return lines;
}

void print_remarks(std::ostream& out, const Options& options, bool executing, const std::string& gpu_error) {
  if (executing && !options.on_executor) {
    out << fmt::format("No usable CUDA device ({}): GPU kernels are executed on the CPU.\n", gpu_error);
  }
  if (const auto left_out = left_out_without_cuda(kernel_terms(options.kernels).names, kernels())) {
    out << fmt::format("{}.\n", *left_out);
  }
}

}  // namespace sgemm
