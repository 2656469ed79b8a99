#pragma once

#include "simt/warp_trace.hpp"
#include "watch/counting_context.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <tuple>
#include <vector>

namespace simt {

/// Keeps the requests of one warp of one block, as the counter of that block tells them.
class WarpRecorder {
 public:
  explicit WarpRecorder(const TracedWarp& warp) : warp_(warp) {}

  const TracedWarp& warp() const { return warp_; }
  /// The block begins. What an earlier execution of it has left is forgotten.
  void begin();
  /// A request, or its part in one memory, with addresses from the begin of that memory.
  void add(AccessSites::Number site, AccessKind kind, Memory memory, const WarpAccess& access, const Traffic& traffic);
  /// The last request was an asynchronous copy to this memory.
  void add_destination(Memory memory, const WarpAccess& access, const Wavefronts& wavefronts);
  void pass_barrier() { ++barriers_; }

  /// The requests of the block that has ended, with the names of lines and memories.
  WarpTrace take(const AccessSites& sites, const std::vector<CountedArray>& arrays);

 private:
  struct Place {
    AccessSites::Number site;
    AccessKind kind;
    Memory memory;
    Memory destination;
  };

  std::uint32_t place(const Place& wanted);
  std::size_t most_first() const { return warp_.most - warp_.most / 4; }

  TracedWarp warp_;
  std::uint32_t barriers_ = 0;
  std::uint64_t left_out_ = 0;
  std::vector<Place> places_;
  std::map<std::tuple<AccessSites::Number, AccessKind, Memory, Memory>, std::uint32_t> known_;
  std::vector<TracedRequest> first_;
  std::deque<TracedRequest> last_;  ///< behind first_, while that is full
};

}  // namespace simt
