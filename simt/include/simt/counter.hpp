#pragma once

// Counts the requests of kernels to a GPU: requests, sectors, wavefronts, floating-point operations and barriers of
// each source line, and the requests of each block to the L2.
//
// Large launches are not executed whole. A block's first reads tell at which place of the arrays it works. A block that
// does the same as another one at another place is not executed, and the counts of the other one are moved there. Some
// of these blocks are executed as well, as a check.

#include "simt/executor.hpp"
#include "simt/global_array.hpp"
#include "simt/l2_model.hpp"
#include "simt/launch_observer.hpp"
#include "simt/warp_access.hpp"
#include "simt/warp_trace.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace simt {

/// Words of 4 bytes of an array, from `begin` to before `end`.
struct Words {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  bool operator==(const Words&) const = default;
};
/// Which words of an array a block uses, in order.
using Footprint = std::vector<Words>;

/// The bytes of the L1 that a block has, as a function of its shared memory and its threads.
using L1Size = std::function<std::size_t(std::size_t smem_bytes, unsigned threads)>;

/// An array that kernels use. A block's place in an array that it only reads is observed. Its place in another array
/// follows from those: it moves by as many rows as in array `rows_like`, and by as many columns as in array
/// `columns_like`.
struct CountedArray {
  GlobalArray array;
  std::size_t rows_like = 0;
  std::size_t columns_like = 0;
};

struct CountingContext;

/// The name of a block's dynamic shared memory among arrays and shared variables.
constexpr std::string_view DYNAMIC_SHARED_MEMORY = "dynamic shared memory";
constexpr std::string_view STATIC_SHARED_MEMORY = "static shared memory";

/// The counts of a source line in a launch, of all its threads.
struct LineCounts {
  std::string file;
  unsigned line = 0;               ///< 0 where it is not known
  std::optional<AccessKind> kind;  ///< nothing where the line only computes
  std::string array;               ///< or the shared variable; empty where it only computes or the memory is unknown
  Traffic traffic;
  std::uint64_t flops = 0;
  WarpAccess example;  ///< the first request, in bytes from the begin of the array
};

/// A block that was executed.
struct ExecutedBlock {
  BlockTraffic traffic;
  std::vector<Footprint> reads;  ///< of each array
};

struct LaunchCounts {
  std::string function;  ///< the kernel's, without namespaces and parameters; empty where it is not known
  std::vector<CountedArray> arrays;
  std::uint64_t blocks = 0;
  std::uint64_t blocks_executed = 0;
  unsigned threads_per_block = 0;
  std::size_t smem_bytes = 0;          ///< of a block, static and dynamic
  std::uint64_t barriers = 0;          ///< how often a warp arrives at one of the block or waits at an mbarrier
  std::optional<std::uint64_t> flops;  ///< without those of tensor cores; nothing where objdump (binutils) is missing
  std::uint64_t tensor_flops = 0;      ///< of tensor cores
  std::array<Traffic, ACCESS_KINDS> traffic;
  std::array<std::uint64_t, MAX_ARRAYS> bytes_read{};    ///< of each array, by all threads
  std::vector<LineCounts> lines;                         ///< by file and line
  std::vector<std::unique_ptr<ExecutedBlock>> executed;  ///< blocks that other blocks are copies of
  /// All blocks in the order of their numbers: their requests to the L2, and their index in `executed`.
  std::vector<PlacedBlock> placed;
  std::vector<std::uint32_t> like;
  std::optional<WarpTrace> trace;  ///< of the warp that Counting was asked for; nothing where the launch lacks it

  const Traffic& of(AccessKind kind) const { return traffic[static_cast<std::size_t>(kind)]; }
  bool whole() const { return blocks_executed == blocks; }
  /// The number of different elements that the first `count` blocks read, in the arrays that are only read.
  std::uint64_t elements_read_by_first(std::uint64_t count) const;
};

/// A launch is too large to be executed whole, and its blocks are not copies of each other.
class NotCountable : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct CountingLimits {
  /// Launches with fewer accesses than this, or work of tensor cores that takes as long, are executed whole.
  double whole_below = 1e8;
  /// Launches with more are refused if not all of their blocks can be predicted.
  double whole_at_most = 1e9;
  /// How many of the predicted blocks are executed.
  unsigned blocks_to_check = 8;
};

/// While this object lives, launches of instrumented kernels are counted and not checked. Other kernels run as usual.
/// Accesses to workspaces() are counted as well. Only one such object may live at a time.
class Counting final : public LaunchObserver {
 public:
  /// The requests of the warp `traced` of each launch are kept as well. Throws std::runtime_error if the program lacks
  /// the symbols of its shared variables.
  Counting(std::vector<CountedArray> arrays, L1Size l1_bytes, CountingLimits limits = {},
           std::optional<TracedWarp> traced = std::nullopt);
  ~Counting() override;

  /// The launches since the last call.
  std::vector<LaunchCounts> take() { return std::exchange(launches_, {}); }

  /// Runs it, or enough of its blocks to know the counts of all. Throws what run() throws, NotCountable, and
  /// std::invalid_argument where there are more than MAX_ARRAYS arrays and workspaces.
  void launch(const Launch& launch) override;

 private:
  std::unique_ptr<CountingContext> context_;  ///< of the latest launch; null before the first
  L1Size l1_bytes_;
  CountingLimits limits_;
  std::optional<TracedWarp> traced_;
  std::vector<CountedArray> arrays_;
  std::vector<LaunchCounts> launches_;
};

}  // namespace simt
