#pragma once

// What a chapter says of itself to the program that runs it.

#include "common/problem.hpp"
#include "common/target.hpp"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace sgemm {

/// The error bound a kernel promises. runner/verify/verify.hpp turns it into numbers.
enum class AccuracyClass {
  fp32,           ///< IEEE single-precision products and sums, in any order of summation
  fp32_strassen,  ///< single-precision products of sums of blocks, relative to an operand's largest numbers
  fp32_split,     ///< nearly fp32: products of operands split into TF32 terms, sums mostly in single precision
  bf16_split,     ///< nearly fp32, with BF16 terms of scaled operands
  fp16_split,     ///< nearly fp32, with FP16 terms, if rows of A and columns of B do not span many decades
  int8_split,     ///< INT8 digits of operands with one scale per row of A and column of B, relative to their largest
                  ///< numbers
  tf32,           ///< operands rounded to 10 mantissa bits (tensor-core TF32), single-precision sums
};

/// One of the ways in which a kernel computes problems of one shape and alignment.
struct Configuration {
  std::string name;  ///< unique among a kernel's, e.g. "128x256 stream-k"; empty where there is nothing to tell apart
  /// Bytes of the platform's memory that a launch works in. They are all 0 before the first launch. Each launch leaves
  /// the content that the next one of the same configuration needs.
  std::size_t workspace_bytes = 0;
  /// Enqueues one product and returns without waiting for it. A CPU kernel ignores the stream and returns when done.
  /// Throws on a launch error.
  std::function<void(const Problem&, void* workspace, cudaStream_t)> launch;
  /// The kernel's own prediction of its time, in cycles of a multiprocessor's clock; 0 if it makes none.
  double predicted_cycles = 0.0;
};

/// The reason why a kernel can not run a problem on any device, or nothing.
using Refusal = std::function<std::optional<std::string>(const Problem&)>;

/// What a kernel is, without its code.
struct KernelFacts {
  int number = -1;      ///< chapter number; 0 is cuBLAS; -1 for baselines without a number
  std::string name;     ///< without the number: "coarse_1d"
  std::string variant;  ///< empty for the default variant
  std::string summary;  ///< one line
  std::string source;   ///< where the idea comes from; docs/sources.md lists the short names
  AccuracyClass accuracy = AccuracyClass::fp32;
  int min_compute_capability = 0;  ///< 10 * major + minor; 0 for kernels without a GPU
  int max_compute_capability = 0;  ///< the last that has all of its instructions; 0 if later ones have them as well
  int blocks_per_sm = 0;           ///< that an SM of compute capability 9.0 holds; 0 if it is not known
  std::string local_kernel;        ///< the id of what each of several GPUs runs; it has the builds then
  bool tunable = false;            ///< whether problems have several configurations, chosen by prediction
  Refusal unsupported = [](const Problem&) { return std::nullopt; };
};

/// A kernel's block on a GPU. The CUDA runtime knows its registers, and how many of it an SM holds.
struct KernelBlock {
  const void* kernel = nullptr;
  int threads = 0;
  std::size_t dynamic_smem = 0;
};

/// A chapter as it was compiled for one target.
struct CompiledChapter : KernelFacts {
  Target target = Target::for_gpu;
  /// The configurations that are worth trying for a problem on the current device, its own choice first.
  std::function<std::vector<Configuration>(const Problem&)> configurations;
  std::function<KernelBlock()> block;  ///< for an aligned problem, on the current device
  std::string missing_code;            ///< the architecture that it can not run without and has no code for
};

/// Adds a chapter to the program's list of kernels when a namespace-scope Registration is initialised, so that a
/// chapter is one file. The program defines it (runner/base/kernel.hpp).
struct Registration {
  Registration(const CompiledChapter& chapter);  // NOLINT(google-explicit-constructor): chapters write an equals sign
};

}  // namespace sgemm
