#pragma once

#include "count/counting_context.hpp"
#include "simt/warp_trace.hpp"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

namespace simt {

/// Keeps the requests of one warp of one block, as the counter of that block tells them.
class WarpRecorder {
 public:
  explicit WarpRecorder(const TracedWarp& warp) : warp_(warp) {}

  const TracedWarp& warp() const { return warp_; }
  /// The block begins. What an earlier execution of it has left is forgotten.
  void begin();
  /// A request, or its part in one memory, with addresses from the begin of that memory. An asynchronous copy writes to
  /// `destination`.
  void add(AccessSites::Number site, AccessKind kind, Memory memory, Memory destination, const WarpAccess& access,
           const Traffic& traffic);
  /// The last request is an asynchronous copy, which writes to these addresses of its destination.
  void add_destination(const WarpAccess& access, const Wavefronts& wavefronts);
  void pass_barrier() { ++barriers_; }

  /// The requests of the block that has ended, with the names of lines and memories.
  WarpTrace take(const AccessSites& sites, const std::vector<CountedArray>& arrays);

 private:
  struct Place {
    AccessSites::Number site;
    AccessKind kind;
    Memory memory;
    Memory destination;

    auto operator<=>(const Place&) const = default;
  };

  std::size_t most_first() const { return warp_.most - warp_.most / 4; }

  TracedWarp warp_;
  std::uint32_t barriers_ = 0;
  std::uint64_t left_out_ = 0;
  std::vector<Place> places_;
  std::map<Place, std::uint32_t> known_;  ///< their indices
  std::vector<TracedRequest> first_;
  std::deque<TracedRequest> last_;  ///< behind first_, while that is full
};

}  // namespace simt
