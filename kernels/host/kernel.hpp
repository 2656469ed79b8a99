#pragma once

#include "common/problem.hpp"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sgemm {

/// Whose memory a kernel's operands live in, and so which clock times it.
enum class Platform { gpu, cpu };

/// The error bound a kernel promises. runner/verify/verify.hpp turns it into numbers.
enum class AccuracyClass {
  fp32,        ///< IEEE single-precision products and sums, in any order of summation
  fp32_split,  ///< nearly that: products of operands split into TF32 parts, sums mostly in single precision
  bf16_split,  ///< the same with BF16 parts of scaled operands
  fp16_split,  ///< the same with FP16 parts, for rows of A and columns of B whose numbers do not span many decades
  tf32,        ///< operands rounded to 10 mantissa bits (tensor-core TF32), single-precision sums
};

/// Its name in lists and results.
std::string_view to_string(AccuracyClass accuracy);

/// What one block of a GPU kernel occupies, as the CUDA runtime reports it.
struct Resources {
  int threads_per_block = 0;
  int registers = 0;            ///< per thread
  std::size_t smem_bytes = 0;   ///< static and dynamic shared memory of a block
  std::size_t spill_bytes = 0;  ///< local memory of a thread: spilled registers and local arrays
  int blocks_per_sm = 0;        ///< resident blocks on one multiprocessor, from the occupancy calculator
};

/// Enqueues one product and returns without waiting for it. A CPU kernel ignores the stream and returns when done.
/// Throws on a launch error.
using Launch = std::function<void(const Problem&, cudaStream_t)>;

/// A kernel made ready for problems of one shape. Libraries choose and load their algorithm while preparing, so that
/// no choice is made inside a timed region. The launcher may be called with any operands of that shape and alignment.
struct Prepared {
  Launch launch;
  std::string detail;               ///< what was chosen, for the record; empty when there was no choice
  std::size_t workspace_bytes = 0;  ///< device memory that the launcher owns, freed with its last copy
};

/// One of the ways in which a kernel computes a problem.
struct Configuration {
  std::string name;  ///< unique among a kernel's, e.g. "128x256 stream-k"; empty where there is no choice
  /// Device memory that a launch works in; all zeros before the first launch, and each launch leaves in it what the
  /// next one needs.
  std::size_t workspace_bytes = 0;
  std::function<void(const Problem&, void* workspace, cudaStream_t)> launch;
};

/// Everything the suite knows about one way to compute the product.
struct Kernel {
  int number = -1;      ///< chapter number; 0 is cuBLAS; -1 for baselines without a number
  std::string name;     ///< without the number: "coarse_1d"
  std::string variant;  ///< empty for the default variant
  std::string summary;  ///< one line
  std::string source;   ///< where the idea comes from; docs/sources.md lists the short names
  Platform platform = Platform::gpu;
  AccuracyClass accuracy = AccuracyClass::fp32;
  int min_compute_capability = 0;  ///< 10 * major + minor; 0 for CPU kernels
  /// The last one whose GPUs have the instructions that the kernel is made of; 0 where later ones have them all.
  int max_compute_capability = 0;
  /// What this build would have to be compiled for to run the kernel on a GPU that can; empty where it was.
  std::string missing_code;
  /// How many blocks an SM of compute capability 9.0 holds, which its registers may limit; 0 where it is not known. For
  /// predictions without a device: `resources` has what the device says.
  int blocks_per_sm = 0;

  /// The reason why a problem can not be run by this kernel on any device, or nothing.
  std::function<std::optional<std::string>(const Problem&)> unsupported = [](const Problem&) { return std::nullopt; };
  /// Empty for a chapter that was compiled for the executor alone.
  std::function<Prepared(const Problem&)> prepare;
  /// The same for the executor, which runs a chapter's kernel on the CPU, on operands in the host's memory. Empty for
  /// libraries, CPU kernels and chapters that were not compiled for it.
  std::function<Prepared(const Problem&)> prepare_on_executor;
  /// The same with every access to memory observed.
  std::function<Prepared(const Problem&)> prepare_checked;

  /// The configurations worth trying for a problem on the current device, the kernel's own choice first, never none.
  /// Empty for kernels without choices. `prepare` takes the first.
  std::function<std::vector<Configuration>(const Problem&)> configurations;
  /// As `prepare`, with the configuration of that name. Throws std::invalid_argument, which names it, where the problem
  /// has none.
  std::function<Prepared(const Problem&, const std::string& name)> prepare_configuration;
  /// The same for the executor, where those of the instrumented kernel have the names of the others.
  std::function<std::vector<Configuration>(const Problem&)> configurations_on_executor;
  std::function<Prepared(const Problem&, const std::string& name)> prepare_configuration_on_executor;
  std::function<Prepared(const Problem&, const std::string& name)> prepare_configuration_checked;

  /// Resources on the current device for an aligned problem; empty for libraries and CPU kernels.
  std::function<Resources()> resources;

  /// "05_coarse_1d", or just the name for baselines.
  std::string numbered_name() const;
  /// "06_coarse_2d:vectorized": the name in --kernel, in benchmark names and in results.
  std::string id() const;
};

/// Every registered kernel, baselines first (cuBLAS leading), then chapters by number; the default variant of each
/// leads its other variants, which are sorted by name.
const std::vector<Kernel>& kernels();

/// Adds a kernel to the list when a namespace-scope Registration is initialised, so that a chapter is one file. A
/// chapter that was compiled for several targets registers for each and becomes one kernel. Throws std::logic_error
/// when the id is taken otherwise.
class Registration {
 public:
  explicit Registration(Kernel kernel);
};

}  // namespace sgemm
