#pragma once

#include "common/problem.hpp"
#include "common/target.hpp"

#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
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
  fp32_split,  ///< nearly that: products of operands split into TF32 terms, sums mostly in single precision
  bf16_split,  ///< nearly that, with BF16 terms of scaled operands
  fp16_split,  ///< nearly that, with FP16 terms, where rows of A and columns of B do not span many decades
  tf32,        ///< operands rounded to 10 mantissa bits (tensor-core TF32), single-precision sums
};

/// Its name in lists and results.
std::string_view to_string(AccuracyClass accuracy);

/// The resources that one block of a GPU kernel occupies, as the CUDA runtime reports it.
struct Resources {
  int threads_per_block = 0;
  int registers = 0;            ///< per thread
  std::size_t smem_bytes = 0;   ///< static and dynamic shared memory of a block
  std::size_t spill_bytes = 0;  ///< local memory of a thread: spilled registers and local arrays
  int blocks_per_sm = 0;        ///< resident blocks on one multiprocessor, from the occupancy calculator
};

/// One of the ways in which a kernel computes problems of one shape and alignment.
struct Configuration {
  std::string name;  ///< unique among a kernel's, e.g. "128x256 stream-k"; empty where there is nothing to tell apart
  /// Memory of the platform that a launch works in; all zeros before the first launch, and each launch leaves in it
  /// what the next one needs.
  std::size_t workspace_bytes = 0;
  /// Enqueues one product and returns without waiting for it. A CPU kernel ignores the stream and returns when done.
  /// Throws on a launch error.
  std::function<void(const Problem&, void* workspace, cudaStream_t)> launch;
};

/// A configuration with its workspace: what is verified and timed. Copies share the workspace, which the last one
/// frees.
struct Prepared {
  Configuration configuration;
  std::shared_ptr<void> workspace;

  void operator()(const Problem& problem, cudaStream_t stream) const {
    configuration.launch(problem, workspace.get(), stream);
  }
};

/// A kernel as it was compiled for one target. Empty where it was not.
struct Build {
  /// The configurations worth trying for a problem on the current device, the kernel's own choice first, never none. A
  /// library makes its choice here, so that none is made inside a timed region. Throws CaseStopped where it finds none.
  std::function<std::vector<Configuration>(const Problem&)> configurations;
  /// So many zeros in the target's memory. Null where no configuration has a workspace.
  std::shared_ptr<void> (*allocate)(std::size_t bytes) = nullptr;
  /// Resources on the current device for an aligned problem; empty but for chapters on a GPU.
  std::function<Resources()> resources;
  /// The architecture that has to be compiled for as well, "sm_90a", before the build can run; empty where it was.
  std::string missing_code;

  explicit operator bool() const { return static_cast<bool>(configurations); }
  /// With a workspace of its own. Throws where there is no room for it.
  Prepared prepare(Configuration configuration) const;
  /// The kernel's own choice.
  Prepared prepare(const Problem& problem) const { return prepare(configurations(problem).front()); }
};

/// The file that a kernel outside of the program comes from.
struct KernelFile {
  std::string path;     ///< as given on the command line
  std::string hash;     ///< SHA-256, hexadecimal; empty where it is not known
  std::string command;  ///< that compiled it
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
  /// How many blocks an SM of compute capability 9.0 holds, which its registers may limit; 0 where it is not known. For
  /// predictions without a device: a build's `resources` has what the device says.
  int blocks_per_sm = 0;
  bool takes_padding = true;  ///< whether rows of operands may lie further apart than they are long
  bool tunable = false;       ///< whether problems have several configurations, chosen by prediction or --tune
  double most_products = 0;   ///< larger problems would take a CPU kernel minutes and are skipped; 0 for no limit
  /// The reason why a problem can not be run by this kernel on any device, or nothing.
  std::function<std::optional<std::string>(const Problem&)> unsupported = [](const Problem&) { return std::nullopt; };
  std::optional<KernelFile> file;  ///< nothing for a kernel of the program
  std::array<Build, TARGETS> builds;

  Build& build(Target target) { return builds[static_cast<std::size_t>(target)]; }
  const Build& build(Target target) const { return builds[static_cast<std::size_t>(target)]; }
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
