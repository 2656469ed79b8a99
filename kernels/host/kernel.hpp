#pragma once

#include "common/problem.hpp"
#include "common/target.hpp"

#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sgemm {

/// The platform whose memory holds a kernel's operands, and whose clock times the kernel.
enum class Platform { gpu, cpu };

/// The error bound a kernel promises. runner/verify/verify.hpp turns it into numbers.
enum class AccuracyClass {
  fp32,        ///< IEEE single-precision products and sums, in any order of summation
  fp32_split,  ///< nearly fp32: products of operands split into TF32 terms, sums mostly in single precision
  bf16_split,  ///< nearly fp32, with BF16 terms of scaled operands
  fp16_split,  ///< nearly fp32, with FP16 terms, if rows of A and columns of B do not span many decades
  int8_split,  ///< INT8 digits of operands with one scale per row of A and column of B, relative to their largest
               ///< numbers
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
  /// Bytes of the platform's memory that a launch works in. They are all 0 before the first launch. Each launch leaves
  /// the content that the next one of the same configuration needs.
  std::size_t workspace_bytes = 0;
  /// Enqueues one product and returns without waiting for it. A CPU kernel ignores the stream and returns when done.
  /// Throws on a launch error.
  std::function<void(const Problem&, void* workspace, cudaStream_t)> launch;
  /// How many bytes of the workspace, the first ones, really have to be 0 before the first launch. By default all.
  std::size_t zeroed_bytes = std::numeric_limits<std::size_t>::max();
  /// The kernel's own prediction of its time, in cycles of a multiprocessor's clock; 0 if it makes none.
  double predicted_cycles = 0.0;
};

/// A configuration with its workspace, ready to be verified and timed. Copies share the workspace, and the last one
/// frees it.
struct Prepared {
  Configuration configuration;
  std::shared_ptr<void> workspace;

  void operator()(const Problem& problem, cudaStream_t stream) const {
    configuration.launch(problem, workspace.get(), stream);
  }
};

/// A kernel as it was compiled for one target; empty if it was not.
struct Build {
  /// Returns the configurations that are worth trying for a problem on the current device, at least one. The kernel's
  /// own choice comes first. A library makes its choice here, so that it makes none inside a timed region. Throws
  /// CaseStopped if there is none.
  std::function<std::vector<Configuration>(const Problem&)> configurations;
  /// Allocates `bytes` zeros in the target's memory. Null if no configuration has a workspace.
  std::shared_ptr<void> (*allocate)(std::size_t bytes) = nullptr;
  /// Resources on the current device. Chapters tell those for an aligned problem, files those of their last product;
  /// nothing where that launched no kernel. Only builds for GPUs have this function.
  std::function<std::optional<Resources>()> resources;
  /// The architecture that this build lacks and can not run without, "sm_90a"; empty if it lacks none.
  std::string missing_code;

  explicit operator bool() const { return static_cast<bool>(configurations); }
  /// Prepares a configuration with a workspace of its own. Throws if there is no room for it.
  Prepared prepare(Configuration configuration) const;
  /// Prepares the kernel's own choice.
  Prepared prepare(const Problem& problem) const { return prepare(configurations(problem).front()); }
};

/// The file that a kernel outside of the program comes from.
struct KernelFile {
  std::string path;        ///< as given on the command line
  std::string hash;        ///< SHA-256, hexadecimal; empty where it is not known
  std::string command;     ///< that compiled it
  bool host_code = false;  ///< of the file's own launches on a GPU, so that a time there is its owner's word
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
  int min_compute_capability = 0;  ///< 10 * major + minor; 0 for kernels without a GPU
  /// The last compute capability that has all instructions of the kernel, 10 * major + minor; 0 if later ones have them
  /// as well.
  int max_compute_capability = 0;
  /// The number of blocks that an SM of compute capability 9.0 holds, where registers may be the limit; 0 if it is not
  /// known. Predictions without a device use it. With a device, a build's `resources` has the number.
  int blocks_per_sm = 0;
  /// The id of the kernel that each GPU runs on its part of a product for several GPUs. It is empty for kernels of one
  /// GPU. A kernel with a local one has no builds of its own.
  std::string local_kernel;
  /// Whether it computes transposed operands and batches as well. Others get single products of plain operands only.
  bool takes_every_layout = false;
  bool takes_padding = true;  ///< whether rows of operands may lie further apart than they are long
  bool tunable = false;       ///< whether problems have several configurations, chosen by prediction
  double most_products = 0;   ///< larger problems would take a CPU kernel minutes and are skipped; 0 for no limit
  /// The reason why this kernel can not run a problem on any device, or nothing.
  std::function<std::optional<std::string>(const Problem&)> unsupported = [](const Problem&) { return std::nullopt; };
  std::optional<KernelFile> file;  ///< nothing for a kernel of the program
  std::array<Build, TARGETS> builds;

  Build& build(Target target) { return builds[static_cast<std::size_t>(target)]; }
  const Build& build(Target target) const { return builds[static_cast<std::size_t>(target)]; }
  /// Whether the bits of its results are those of reproducible/definition.hpp.
  bool is_reproducible() const { return name == "reproducible"; }
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
