#pragma once

#include <map>
#include <optional>
#include <string>

namespace sgemm {

// device/rates.json, which the scripts read as well: how fast GPUs multiply numbers of each kind ("fp32", "tf32",
// "fp16", "bf16", "int8").

/// Multiply-adds of one multiprocessor in a cycle; nothing where the table does not have the GPU or the kind.
std::optional<int> multiply_adds_per_cycle(int compute_capability, const std::string& kind);

/// How many products of each kind make a product that is as accurate as FP32 or as TF32, as chapters do it; of "file",
/// the fewest that could do for FP32.
const std::map<std::string, int>& products_for(const std::string& precision);

/// The kind that the chapters of an accuracy class multiply; other kernels may take any.
std::string kind_of_chapters(const std::string& accuracy_class);

/// By how much a clock may exceed what the driver calls its maximum, as a factor.
double clock_tolerance();

}  // namespace sgemm
