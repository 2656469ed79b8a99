#include "judge/limits.hpp"

#include "base/outcome.hpp"
#include "problem/batch.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

#include <fmt/format.h>

namespace sgemm {
namespace {

constexpr double FLOAT = 4.0;     // bytes
constexpr double OF_EMPTY = 0.5;  // of an empty kernel's time: its median was taken before the clocks were up

/// So often the extents are halved: each time seven products do for eight (Strassen 1969). Files may do so until they
/// are below LEAST_HALVED, chapters of Strassen's class three times, and other chapters do not.
int halvings_of(const Shape& shape, const Kernel& kernel) {
  constexpr std::int64_t LEAST_HALVED = 8192;
  if (kernel.number > 0) {
    return kernel.accuracy == AccuracyClass::fp32_strassen ? 3 : 0;
  }
  int halvings = 0;
  for (std::int64_t least = std::min({shape.m, shape.n, shape.k}); least >= 2 * LEAST_HALVED; least /= 2) {
    ++halvings;
  }
  return halvings;
}

std::optional<Limit> of_multiply_adds(const Device& device, const Shape& shape, const Kernel& kernel, int gpus) {
  // The tensor cores of a GPU that has them, and is not in the table, could be the faster way.
  if (shape.alpha == 0.0F || !multiply_adds_per_cycle(device.compute_capability, "fp16")) {
    return std::nullopt;
  }
  const bool chapter = kernel.number > 0;
  double best = 0.0;  // GFLOP/s
  std::string basis;
  for (const auto& [kind, products] : products_for(kernel.accuracy == AccuracyClass::tf32 ? "tf32"
                                                   : chapter                              ? "fp32"
                                                                                          : "file")) {
    if (chapter && kind != kind_of_chapters(std::string(to_string(kernel.accuracy)))) {
      continue;
    }
    const int rate = multiply_adds_per_cycle(device.compute_capability, kind).value_or(0);
    const double gflops = 2.0 * gpus * device.multiprocessors * rate * device.max_sm_clock_mhz / 1e3 / products;
    if (gflops > best) {
      best = gflops;
      basis = fmt::format("{}{} SMs x {} multiply-adds of {} x 2 x {} MHz / {} for each product",
                          gpus > 1 ? fmt::format("{} GPUs x ", gpus) : "", device.multiprocessors, rate, kind,
                          device.max_sm_clock_mhz, products);
    }
  }
  if (best == 0.0) {
    return std::nullopt;
  }
  if (const int halvings = halvings_of(shape, kernel); halvings > 0) {
    best *= std::pow(8.0 / 7.0, halvings);
    basis += fmt::format(" x (8/7)^{}", halvings);
  }
  return Limit{flops(shape) / best / 1e3,
               fmt::format("{:.4g} GFLOP at {:.4g} TFLOP/s = {}", flops(shape) / 1e9, best / 1e3, basis)};
}

/// What is written may stay in the L2 when the clock stops, and with a warm one what is read may have been there.
std::optional<Limit> of_bytes(const Device& device, const Shape& shape, Circumstances::Operands operands) {
  const double peak = device.dram_peak_gbytes_s();
  if (operands == Circumstances::Operands::unknown || !(peak > 0.0)) {
    return std::nullopt;
  }
  const double c = FLOAT * static_cast<double>(elements_of_c(shape));
  const double inputs = FLOAT * static_cast<double>(shape.batch * (shape.m + shape.n)) * static_cast<double>(shape.k);
  const double read = (shape.alpha != 0.0F ? inputs : 0.0) + (shape.beta != 0.0F ? c : 0.0);
  const auto l2 = static_cast<double>(device.l2_bytes);
  const bool cold = operands == Circumstances::Operands::in_dram;
  const double bytes = std::max(0.0, cold ? read : read - l2) + std::max(0.0, c - l2);
  return Limit{bytes / peak / 1e3,
               fmt::format("{:.4g} MB of {} over {:.4g} GB/s = {}", bytes / 1e6,
                           cold ? "operands" : "operands beyond the L2", peak, device.dram_peak_basis())};
}

}  // namespace

std::vector<Limit> limits_of(const Device& device, const Shape& shape, const Kernel& kernel,
                             const Circumstances& circumstances) {
  std::vector<Limit> limits;
  if (const auto limit = of_multiply_adds(device, shape, kernel, circumstances.gpus)) {
    limits.push_back(*limit);
  }
  if (const auto limit = of_bytes(device, shape, circumstances.operands)) {
    limits.push_back(*limit);
  }
  if (circumstances.empty_kernel_us > 0.0) {
    limits.push_back({OF_EMPTY * circumstances.empty_kernel_us / circumstances.launches,
                      fmt::format("half of an empty kernel's {:.3g} us over {} launches", circumstances.empty_kernel_us,
                                  circumstances.launches)});
  }
  return limits;
}

void require_possible(double us, const std::vector<Limit>& limits, std::string_view what) {
  for (const Limit& limit : limits) {
    if (!(us * clock_tolerance() >= limit.us)) {
      throw CaseStopped(Outcome::implausible, fmt::format("{}took {:.4g} us, and at least {:.4g} us are needed: {}",
                                                          what, us, limit.us, limit.formula));
    }
  }
}

}  // namespace sgemm
