#pragma once

// All kernels that the program knows: chapters, baselines and users' files, with a build for each target.

#include "host/chapter.hpp"

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

/// The platform whose memory holds a kernel's operands, and whose clock times the kernel.
enum class Platform { gpu, cpu };

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

/// Allocates `bytes` zeros in the memory of the current GPU, or of the executor, whose checks know their bounds. Throws
/// CudaError if a GPU has no room.
std::shared_ptr<void> allocate_on_gpu(std::size_t bytes);
std::shared_ptr<void> allocate_for_executor(std::size_t bytes);

/// A configuration with its workspace, ready to be verified and timed. Copies share the workspace, and the last one
/// frees it.
struct Prepared {
  Configuration configuration;
  std::shared_ptr<void> workspace;
  bool leaves_out_unused = false;  ///< as Build has it

  void operator()(Problem problem, cudaStream_t stream) const {
    if (leaves_out_unused && (problem.alpha == 0.0F || problem.k == 0)) {
      problem.alpha = 0.0F;
      problem.k = 0;
    }
    configuration.launch(problem, workspace.get(), stream);
  }
};

/// A kernel as it was compiled for one target; empty if it was not.
struct Build {
  /// Returns the configurations that are worth trying for a problem on the current device, at least one. The kernel's
  /// own choice comes first. A library makes its choice here, so that it makes none inside a timed region. Throws
  /// CaseStopped if there is none.
  std::function<std::vector<Configuration>(const Problem&)> configurations;
  /// Allocates `bytes` zeros in the target's memory.
  std::shared_ptr<void> (*allocate)(std::size_t bytes) = nullptr;
  /// Resources on the current device. Chapters tell those for an aligned problem, files those of their last product;
  /// nothing where that launched no kernel. Only builds for GPUs have this function.
  std::function<std::optional<Resources>()> resources;
  /// The architecture that this build lacks and can not run without, "sm_90a"; empty if it lacks none.
  std::string missing_code;
  /// Whether launches see a k of 0 where alpha is 0, and an alpha of 0 where k is 0 (host/launch.cuh).
  bool leaves_out_unused = false;

  explicit operator bool() const { return static_cast<bool>(configurations); }
  /// Prepares a configuration with a workspace of its own. Throws if there is no room for it.
  Prepared prepare(Configuration configuration) const;
  /// Prepares the kernel's own choice.
  Prepared prepare(const Problem& problem) const { return prepare(configurations(problem).front()); }
};

/// The file that a kernel outside of the program comes from.
struct KernelFile {
  std::string path;        ///< as given on the command line
  std::string hash;        ///< SHA-256 with what it includes, hexadecimal; empty where it is not known
  std::string command;     ///< that compiled it
  bool host_code = false;  ///< of the file's own launches on a GPU, so that a time there is its owner's word
};

/// Everything the suite knows about one way to compute the product.
struct Kernel : KernelFacts {
  Platform platform = Platform::gpu;
  /// Whether it computes transposed operands and batches as well. Others get single products of plain operands only.
  bool takes_every_layout = false;
  bool takes_padding = true;       ///< whether rows of operands may lie further apart than they are long
  double most_products = 0;        ///< larger problems would take a CPU kernel minutes and are skipped; 0 for no limit
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

/// A chapter with the one build that it brings.
Kernel kernel_of(const CompiledChapter& chapter);

/// Every registered kernel, baselines first (cuBLAS leading), then chapters by number; the default variant of each
/// leads its other variants, which are sorted by name.
const std::vector<Kernel>& kernels();
/// The one that --kernel takes by this name, or nullptr: builds for tests lack chapters.
const Kernel* find_kernel(std::string_view id);

/// Adds a kernel that is no chapter to the list, as Registration adds a chapter. One that was compiled for several
/// targets is added for each and becomes one kernel. Throws std::logic_error when the id is taken otherwise.
struct KernelRegistration {
  explicit KernelRegistration(Kernel kernel);
};

}  // namespace sgemm
