#pragma once

#include "base/json.hpp"
#include "base/kernel.hpp"
#include "common/problem.hpp"
#include "problem/sizes.hpp"
#include "simt/counter.hpp"
#include "simt/gpu_models.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sgemm {

/// Requests to a GPU's memories, and the traffic that a model of that GPU's L2 derives from them: of a launch, or of
/// several together.
struct Requests {
  std::uint64_t blocks = 0;
  std::uint64_t blocks_executed = 0;  ///< all other blocks do the same elsewhere in the matrices
  std::array<simt::Traffic, simt::ACCESS_KINDS> traffic;
  std::optional<std::uint64_t> flops;  ///< without those of tensor cores
  std::uint64_t tensor_flops = 0;
  std::uint64_t barriers = 0;
  std::array<double, 3> reads_per_element{};  ///< of A, B and C
  simt::L2Traffic in_step;
  simt::L2Traffic in_turn;
  std::vector<simt::LineCounts> lines;  ///< by file and line

  const simt::Traffic& of(simt::AccessKind kind) const { return traffic[static_cast<std::size_t>(kind)]; }
  bool whole() const { return blocks_executed == blocks; }
  Requests& operator+=(const Requests& other);
};

/// One launch of a kernel.
struct CountedLaunch {
  std::string function;  ///< the name of what is launched; empty where it is not known
  unsigned threads_per_block = 0;
  std::size_t smem_bytes = 0;
  unsigned blocks_per_sm = 0;
  std::uint64_t first_wave_blocks = 0;    ///< blocks that the GPU holds at once when the launch begins
  std::uint64_t first_wave_elements = 0;  ///< of A and B that these blocks read
  Requests requests;
};

/// A warp's requests, and the launch that they are of.
struct TracedLaunch {
  std::size_t launch = 0;  ///< index in Counts::launches
  simt::WarpTrace trace;
};

/// What a kernel asks of a GPU for one problem.
struct Counts {
  const simt::GpuModel* gpu = nullptr;
  std::vector<CountedLaunch> launches;  ///< in their order, at least one
  std::optional<TracedLaunch> traced;   ///< if it was asked for; no part of the results file

  Requests sum() const;
  std::uint64_t resident_blocks(const CountedLaunch& launch) const {
    return std::uint64_t{gpu->sms} * launch.blocks_per_sm;
  }
};

struct TraceOptions {
  std::string page;  ///< path of the HTML file that shows the trace
  simt::TracedWarp warp;
  std::optional<std::size_t> launch;  ///< its number, from 0; by default the last, which computes the product
};

struct CountingOptions {
  const simt::GpuModel* gpu = nullptr;
  std::optional<int> blocks_per_sm;
  std::optional<TraceOptions> trace;
  bool force = false;  ///< count, or run, even what takes the CPU long
};

/// Counts the requests of `prepared` on the operands of `problem` in the host's memory. `prepared` comes from the
/// kernel's build for checks. Throws CaseStopped if the case can not be counted, or if the warp to be traced is
/// missing, and what the kernel throws.
Counts count(const Kernel& kernel, const Prepared& prepared, const Problem& problem, const CountingOptions& options,
             const std::function<void(std::string_view)>& observer);

/// The record's "counts" in the results file.
Json to_json(const Counts& counts);

/// A line in there.
Json to_json(const simt::LineCounts& line);
/// A request in there: its bytes, and the address of each lane behind `first`, null for those that are not active.
Json lanes_of(const simt::WarpAccess& access, std::uint64_t first = 0);

std::string_view to_string(simt::AccessKind kind);

/// A page of HTML that steps through the requests of `counts.traced`, which has to be there, beside the source and the
/// counts of its whole launch. It loads nothing. Source files that can not be read are missing in it, and it says so.
std::string trace_page(const Kernel& kernel, const Size& size, const Counts& counts);

}  // namespace sgemm
