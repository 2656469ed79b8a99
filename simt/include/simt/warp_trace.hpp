#pragma once

// The requests of one warp in the order it makes them, each with the addresses of its lanes and what it adds to the
// counts.

#include "simt/warp_access.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
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

/// The warp whose requests are wanted.
struct TracedWarp {
  std::uint64_t block = 0;  ///< its number: x runs fastest, then y, then z
  unsigned warp = 0;        ///< of the block
  /// How many requests are kept at most. Of a warp that makes more, the first three quarters of them and the last
  /// quarter are kept.
  std::size_t most = 4000;
};

/// A place in the source from which one memory is accessed in one way.
struct TracedPlace {
  std::string file;   ///< its path, as the compiler was given it
  unsigned line = 0;  ///< 0 where it is not known
  AccessKind kind = AccessKind::global_load;
  std::string array;      ///< or the shared variable; empty where the memory is unknown
  std::string copied_to;  ///< the shared variable that an asynchronous copy writes; empty for a bulk copy
};

struct TracedRequest {
  std::uint32_t place = 0;     ///< index in WarpTrace::places
  std::uint32_t barriers = 0;  ///< how many barriers the warp has passed before
  WarpAccess access;           ///< in bytes from the begin of the array or variable; a bulk copy has one lane
  WarpAccess copied_to;        ///< the same of what an asynchronous copy writes; otherwise without an active lane
  Traffic traffic;             ///< `requests` is 0 for the further arrays of a request to several
};

struct WarpTrace {
  TracedWarp of;
  std::uint64_t blocks = 0;  ///< of the launch
  unsigned warps = 0;        ///< of a block
  std::vector<TracedPlace> places;
  std::vector<TracedRequest> requests;
  std::size_t left_out_at = 0;  ///< index in `requests` of the first one behind those that were left out
  std::uint64_t left_out = 0;   ///< how many were left out there
};

}  // namespace simt
