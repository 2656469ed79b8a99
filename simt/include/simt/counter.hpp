#pragma once

// Counts what kernels ask of a GPU: requests, sectors, wavefronts, floating-point operations and barriers, per source
// line, and what each block asks the L2 for.
//
// Large launches are not executed whole. A block's first reads tell where in the arrays it works; one that is another
// one moved elsewhere is only placed there. Some of those are executed all the same, to see that it is true.

#include "simt/checked_arrays.hpp"
#include "simt/executor.hpp"
#include "simt/l2_model.hpp"
#include "simt/warp_access.hpp"

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

enum class AccessKind : std::uint8_t {
  global_load,
  global_store,
  shared_load,
  shared_store,
  async_copy,  ///< cp.async: reads global memory and writes shared memory
};
constexpr std::size_t ACCESS_KINDS = 5;

/// Requests of warps to the memories, and what they cost.
struct Traffic {
  std::uint64_t requests = 0;
  std::uint64_t sectors = 0;     ///< of global memory
  std::uint64_t wavefronts = 0;  ///< of shared memory
  std::uint64_t ideal_wavefronts = 0;
  std::uint64_t bytes = 0;  ///< by all lanes together

  bool operator==(const Traffic&) const = default;
  Traffic& operator+=(const Traffic& other);
  Traffic times(std::uint64_t factor) const;
};

/// Words of 4 bytes of an array, from `begin` to before `end`.
struct Words {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  bool operator==(const Words&) const = default;
};
/// Which words of an array a block uses, in order.
using Footprint = std::vector<Words>;

/// Bytes that a block has of the L1, given the shared memory that it takes and its threads.
using L1Size = std::function<std::size_t(std::size_t smem_bytes, unsigned threads)>;

/// An array that kernels use, and how a block's place in it follows from its places in the arrays that it only reads:
/// the rows that it moves by are those in array `rows_like`, the columns those in `columns_like`. Of an array that is
/// only read the block's place is seen, and these are not used.
struct CountedArray {
  GlobalArray array;
  std::size_t rows_like = 0;
  std::size_t columns_like = 0;
};

struct CountingContext;

/// The name of a block's dynamic shared memory among arrays and shared variables.
constexpr std::string_view DYNAMIC_SHARED_MEMORY = "dynamic shared memory";
constexpr std::string_view STATIC_SHARED_MEMORY = "static shared memory";

/// A source line's share of a launch, by all its threads.
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
  std::vector<CountedArray> arrays;
  std::uint64_t blocks = 0;
  std::uint64_t blocks_executed = 0;
  unsigned threads_per_block = 0;
  std::size_t smem_bytes = 0;          ///< of a block, static and dynamic
  std::uint64_t barriers = 0;          ///< how often a warp arrives at one of the block or waits at an mbarrier
  std::optional<std::uint64_t> flops;  ///< nothing where objdump (binutils) is missing
  std::array<Traffic, ACCESS_KINDS> traffic;
  std::array<std::uint64_t, MAX_ARRAYS> bytes_read{};    ///< of each array, by all threads
  std::vector<LineCounts> lines;                         ///< by file and line
  std::vector<std::unique_ptr<ExecutedBlock>> executed;  ///< those that others are copies of
  /// All blocks in the order of their number: what they ask the L2 for, and their index in `executed`.
  std::vector<PlacedBlock> placed;
  std::vector<std::uint32_t> like;

  bool whole() const { return blocks_executed == blocks; }
  /// How many different elements of the arrays that are only read the first `count` blocks read.
  std::uint64_t elements_read_by_first(std::uint64_t count) const;
};

/// A launch is too large to be executed whole, and its blocks are not copies of each other.
class NotCountable : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct CountingLimits {
  /// Accesses of threads: launches that are expected to have fewer are executed whole.
  double whole_below = 1e8;
  /// Those with more, of which not all blocks can be predicted, are refused.
  double whole_at_most = 1e9;
  /// How many of the predicted blocks are executed.
  unsigned blocks_to_check = 8;
};

/// While it lives, launches of instrumented kernels are counted and not checked; others run as ever. What they do in
/// workspaces() is counted as well. One at a time.
class Counting {
 public:
  /// Throws std::runtime_error where the program lacks the symbols that tell its shared variables.
  Counting(std::vector<CountedArray> arrays, L1Size l1_bytes, CountingLimits limits = {});
  ~Counting();
  Counting(const Counting&) = delete;
  Counting& operator=(const Counting&) = delete;

  /// The one that lives, or null.
  static Counting* current();

  /// The launches so far, once.
  std::vector<LaunchCounts> take() { return std::exchange(launches_, {}); }

  /// Runs a launch, or as much of it as tells what all would do. Throws what run() throws, NotCountable, and
  /// std::invalid_argument where there are more than MAX_ARRAYS arrays and workspaces.
  void count(const Launch& launch);

 private:
  std::unique_ptr<CountingContext> context_;  ///< of the latest launch; null before the first
  L1Size l1_bytes_;
  CountingLimits limits_;
  std::vector<CountedArray> arrays_;
  std::vector<LaunchCounts> launches_;
};

}  // namespace simt
