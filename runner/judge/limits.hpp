#pragma once

#include "base/kernel.hpp"
#include "common/problem.hpp"
#include "device/device.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace sgemm {

// What no kernel can beat: the multiply-adds that a product needs, the bytes that have to come from DRAM, and the time
// of a launch that does nothing.

/// The least time that one product takes, and why.
struct Limit {
  double us = 0.0;
  std::string formula;
};

/// How a product was timed.
struct Circumstances {
  enum class Operands {
    in_dram,   ///< a cold L2: all of A and B, and C where it is read, come from DRAM
    anywhere,  ///< as much as fits may lie in the L2
    unknown,   ///< DRAM is no limit: of several GPUs, or brought by copies that were timed as well
  };
  Operands operands = Operands::in_dram;
  int gpus = 1;                  ///< that share the product
  int launches = 1;              ///< within the time that was taken
  double empty_kernel_us = 0.0;  ///< the time of an empty kernel; 0 if it is not known
};

/// The limits that are known for the GPU. A chapter multiplies numbers of one kind. Another kernel may reach FP32's
/// bound in any way: its limit is that of two units of FP16's work for a product, and beyond 8192 Strassen's.
std::vector<Limit> limits_of(const Device& device, const Shape& shape, const Kernel& kernel,
                             const Circumstances& circumstances);

/// Throws CaseStopped (implausible) where a product took less than one of its limits, by more than clocks can differ
/// from what the driver says. `what` begins the reason.
void require_possible(double us, const std::vector<Limit>& limits, std::string_view what = "");

}  // namespace sgemm
