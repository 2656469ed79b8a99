#include "count/count.hpp"

#include "base/outcome.hpp"
#include "problem/guarded_operands.hpp"
#include "simt/device_memory.hpp"

#include <algorithm>
#include <future>
#include <limits>
#include <utility>

#include <fmt/format.h>

namespace sgemm {
namespace {

using simt::AccessKind;

/// How many blocks an SM of the GPU holds, as far as threads and shared memory decide; 0 when a block is too large.
unsigned blocks_on_sm(const simt::GpuModel& gpu, std::size_t smem_bytes, unsigned threads) {
  const unsigned warps = (threads + simt::WARP - 1) / simt::WARP;
  unsigned blocks = std::min(gpu.blocks_per_sm, gpu.threads_per_sm / (warps * simt::WARP));
  return std::min(blocks, static_cast<unsigned>(gpu.smem_per_sm / (smem_bytes + gpu.smem_reserved)));
}

/// A, B and C. A block writes to the rows of C that it reads of A, and to the columns that it reads of B.
std::vector<simt::CountedArray> counted_arrays(const Problem& problem) {
  constexpr std::size_t A = 0;
  constexpr std::size_t B = 1;
  std::vector<simt::CountedArray> arrays;
  for (simt::GlobalArray& array : arrays_of(problem)) {
    arrays.push_back({std::move(array), A, B});
  }
  return arrays;
}

/// The places that the arrays would have in the GPU's memory.
std::array<std::uint64_t, simt::MAX_ARRAYS> first_sectors(const std::vector<simt::CountedArray>& arrays) {
  std::array<std::uint64_t, simt::MAX_ARRAYS> first{};
  constexpr std::uint64_t ALIGNMENT = simt::ALLOCATION_ALIGNMENT;
  std::uint64_t next = ALIGNMENT;
  for (std::size_t i = 0; i < first.size(); ++i) {
    first[i] = next / simt::SECTOR_BYTES;
    const std::uint64_t bytes = i < arrays.size() ? arrays[i].array.bytes() : 0;
    next += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  }
  return first;
}

/// Ends the case if replaying its requests to the L2 would take more than about a minute.
void refuse_long_replays(const std::vector<simt::LaunchCounts>& launches) {
  constexpr double ACCESSES_PER_SECOND = 1e8;
  constexpr double MOST_SECONDS = 90.0;
  double accesses = 0.0;
  for (const simt::LaunchCounts& launch : launches) {
    for (const simt::PlacedBlock& block : launch.placed) {
      accesses += static_cast<double>(block.traffic->size());
    }
  }
  const double seconds = accesses / ACCESSES_PER_SECOND;
  if (seconds > MOST_SECONDS) {
    throw CaseStopped(Outcome::skipped,
                      fmt::format("would take about {:.0f} min to replay what the L2 is asked for; --force does it all "
                                  "the same",
                                  seconds / 60.0));
  }
}

/// Fills in the traffic of the L2 and of DRAM.
void replay(const std::vector<simt::LaunchCounts>& launches, Counts& counts) {
  std::vector<simt::PlacedLaunch> placed;
  bool one_block_each = true;
  for (std::size_t i = 0; i < launches.size(); ++i) {
    const unsigned blocks_per_sm = counts.launches[i].blocks_per_sm;
    placed.push_back({launches[i].placed, first_sectors(launches[i].arrays), blocks_per_sm});
    one_block_each = one_block_each && blocks_per_sm == 1;
  }
  const auto replayed = [&](simt::Turns turns) { return simt::replay(placed, turns, *counts.gpu); };
  std::future<std::vector<simt::L2Traffic>> others;
  if (!one_block_each) {
    others = std::async(std::launch::async, replayed, simt::Turns::in_turn);
  }
  const std::vector<simt::L2Traffic> in_step = replayed(simt::Turns::in_step);
  const std::vector<simt::L2Traffic> in_turn = one_block_each ? in_step : others.get();
  for (std::size_t i = 0; i < launches.size(); ++i) {
    counts.launches[i].requests.in_step = in_step[i];
    counts.launches[i].requests.in_turn = in_turn[i];
  }
}

/// The counts of a launch, but for the traffic that replay() fills in. Throws CaseStopped if no block fits on an SM.
CountedLaunch counted_launch(const simt::LaunchCounts& launch, unsigned blocks_per_sm, const simt::GpuModel& gpu) {
  if (blocks_per_sm == 0) {
    throw CaseStopped(Outcome::not_supported,
                      fmt::format("a block of {} threads with {} B of shared memory does not fit on an SM of {}",
                                  launch.threads_per_block, launch.smem_bytes, gpu.name));
  }
  Requests requests;
  requests.blocks = launch.blocks;
  requests.blocks_executed = launch.blocks_executed;
  requests.traffic = launch.traffic;
  requests.flops = launch.flops;
  requests.tensor_flops = launch.tensor_flops;
  requests.barriers = launch.barriers;
  requests.lines = launch.lines;
  for (std::size_t i = 0; i < requests.reads_per_element.size(); ++i) {
    const simt::GlobalArray& array = launch.arrays[i].array;
    const auto bytes = static_cast<double>(array.rows * array.row_bytes);
    requests.reads_per_element[i] = bytes > 0.0 ? static_cast<double>(launch.bytes_read[i]) / bytes : 0.0;
  }
  const std::uint64_t first_wave = std::min(launch.blocks, std::uint64_t{gpu.sms} * blocks_per_sm);
  return {launch.function,    launch.threads_per_block,
          launch.smem_bytes,  blocks_per_sm,
          first_wave,         launch.elements_read_by_first(first_wave),
          std::move(requests)};
}

/// The trace of the launch that `options` choose. Throws CaseStopped where there is no such launch, block or warp.
TracedLaunch chosen_trace(std::vector<simt::LaunchCounts>& launches, const TraceOptions& options) {
  const std::size_t number = options.launch.value_or(launches.size() - 1);
  if (number >= launches.size()) {
    throw CaseStopped(Outcome::skipped, fmt::format("there is no launch {} to trace: the kernel makes {}, numbered "
                                                    "from 0",
                                                    number, launches.size()));
  }
  simt::LaunchCounts& launch = launches[number];
  if (!launch.trace) {
    throw CaseStopped(Outcome::skipped,
                      fmt::format("there is no warp {} of block {} to trace: the launch has {} blocks of {} warps, "
                                  "numbered from 0",
                                  options.warp.warp, options.warp.block, launch.blocks,
                                  (launch.threads_per_block + simt::WARP - 1) / simt::WARP));
  }
  return {number, std::move(*launch.trace)};
}

Json global_json(const simt::Traffic& traffic) {
  return {{"requests", traffic.requests}, {"sectors", traffic.sectors}, {"bytes", traffic.bytes}};
}

Json shared_json(const simt::Traffic& traffic) {
  return {{"requests", traffic.requests},
          {"wavefronts", traffic.wavefronts},
          {"conflicts", traffic.wavefronts - traffic.ideal_wavefronts},
          {"bytes", traffic.bytes}};
}

Json to_json(const simt::L2Traffic& traffic) {
  return {{"read_bytes", traffic.read_sectors * simt::SECTOR_BYTES},
          {"written_bytes", traffic.written_sectors * simt::SECTOR_BYTES},
          {"hit_rate", traffic.read_sectors == 0
                           ? 0.0
                           : static_cast<double>(traffic.read_hits) / static_cast<double>(traffic.read_sectors)},
          {"dram_read_bytes", traffic.dram_read_bytes},
          {"dram_written_bytes", traffic.dram_written_bytes}};
}

Json to_json(const Requests& requests) {
  Json json;
  json["blocks"] = requests.blocks;
  json["blocks_executed"] = requests.blocks_executed;
  json["global_loads"] = global_json(requests.of(AccessKind::global_load));
  json["global_stores"] = global_json(requests.of(AccessKind::global_store));
  json["shared_loads"] = shared_json(requests.of(AccessKind::shared_load));
  json["shared_stores"] = shared_json(requests.of(AccessKind::shared_store));
  Json copies = shared_json(requests.of(AccessKind::async_copy));
  copies["sectors"] = requests.of(AccessKind::async_copy).sectors;
  json["async_copies"] = std::move(copies);
  if (requests.flops) {
    json["flops"] = *requests.flops;
  }
  if (requests.tensor_flops > 0) {
    json["tensor_flops"] = requests.tensor_flops;
  }
  json["barriers"] = requests.barriers;
  json["reads_per_element"] = {
      {"a", requests.reads_per_element[0]}, {"b", requests.reads_per_element[1]}, {"c", requests.reads_per_element[2]}};
  json["l2"] = {{"in_step", to_json(requests.in_step)}, {"in_turn", to_json(requests.in_turn)}};
  json["lines"] = Json::array();
  for (const simt::LineCounts& line : requests.lines) {
    json["lines"].push_back(sgemm::to_json(line));
  }
  return json;
}

Json to_json(const Counts& counts, const CountedLaunch& launch) {
  Json json;
  json["threads_per_block"] = launch.threads_per_block;
  json["smem_bytes"] = launch.smem_bytes;
  json["blocks_per_sm"] = launch.blocks_per_sm;
  json["resident_blocks"] = counts.resident_blocks(launch);
  json["first_wave"] = {{"blocks", launch.first_wave_blocks}, {"elements", launch.first_wave_elements}};
  json.update(to_json(launch.requests));
  return json;
}

}  // namespace

std::string_view to_string(AccessKind kind) {
  constexpr std::array<std::string_view, simt::ACCESS_KINDS> WORDS{"global_load", "global_store", "shared_load",
                                                                   "shared_store", "async_copy"};
  return WORDS.at(static_cast<std::size_t>(kind));
}

Counts count(const Kernel& kernel, const Prepared& prepared, const Problem& problem, const CountingOptions& options,
             const std::function<void(std::string_view)>& observer) {
  const simt::GpuModel& gpu = *options.gpu;
  // A kernel states how many blocks its registers allow in the launch that computes the product, which is the last.
  const auto resident = [&](std::size_t smem_bytes, unsigned threads, bool last) {
    const unsigned blocks = blocks_on_sm(gpu, smem_bytes, threads);
    return options.blocks_per_sm              ? static_cast<unsigned>(*options.blocks_per_sm)
           : last && kernel.blocks_per_sm > 0 ? std::min(blocks, static_cast<unsigned>(kernel.blocks_per_sm))
                                              : blocks;
  };
  const auto l1_of_block = [&](std::size_t smem_bytes, unsigned threads) {
    const std::size_t blocks = std::max(resident(smem_bytes, threads, true), 1U);
    const std::size_t smem = blocks * (smem_bytes + gpu.smem_reserved);
    return gpu.l1_bytes > smem ? (gpu.l1_bytes - smem) / blocks : 0;
  };
  simt::CountingLimits limits;
  if (options.force) {
    limits.whole_at_most = std::numeric_limits<double>::infinity();
  }
  observer("counting");
  simt::Counting counting(counted_arrays(problem), l1_of_block, limits,
                          options.trace ? std::optional(options.trace->warp) : std::nullopt);
  try {
    prepared(problem, nullptr);
  } catch (const simt::NotCountable& error) {
    throw CaseStopped(Outcome::skipped, fmt::format("{}; --force executes all blocks", error.what()));
  }
  std::vector<simt::LaunchCounts> launches = counting.take();
  if (launches.empty()) {
    throw CaseStopped(Outcome::not_supported, "launches nothing that could be counted");
  }
  Counts counts;
  counts.gpu = &gpu;
  for (const simt::LaunchCounts& launch : launches) {
    const bool last = &launch == &launches.back();
    counts.launches.push_back(counted_launch(launch, resident(launch.smem_bytes, launch.threads_per_block, last), gpu));
  }
  if (options.trace) {
    counts.traced = chosen_trace(launches, *options.trace);
  }
  if (!options.force) {
    refuse_long_replays(launches);
  }
  observer("replaying the L2");
  replay(launches, counts);
  return counts;
}

Json lanes_of(const simt::WarpAccess& access, std::uint64_t first) {
  Json lanes = Json::array();
  for (unsigned lane = 0; lane < simt::WARP; ++lane) {
    const bool active = (access.active >> lane & 1U) != 0;
    lanes.push_back(active ? Json(static_cast<std::int64_t>(access.address[lane] - first)) : Json(nullptr));
  }
  return {{"bytes", access.bytes}, {"lanes", std::move(lanes)}};
}

Json to_json(const simt::LineCounts& line) {
  Json json;
  json["file"] = line.file;
  json["line"] = line.line;
  json["kind"] = line.kind ? to_string(*line.kind) : "flops";
  if (!line.array.empty()) {
    json["array"] = line.array;
  }
  json["requests"] = line.traffic.requests;
  json["sectors"] = line.traffic.sectors;
  json["bytes"] = line.traffic.bytes;
  json["wavefronts"] = line.traffic.wavefronts;
  json["conflicts"] = line.traffic.wavefronts - line.traffic.ideal_wavefronts;
  json["flops"] = line.flops;
  if (line.kind) {
    json["example"] = lanes_of(line.example);
  }
  return json;
}

Requests& Requests::operator+=(const Requests& other) {
  blocks += other.blocks;
  blocks_executed += other.blocks_executed;
  for (std::size_t kind = 0; kind < traffic.size(); ++kind) {
    traffic[kind] += other.traffic[kind];
  }
  flops = flops && other.flops ? std::optional(*flops + *other.flops) : std::nullopt;
  tensor_flops += other.tensor_flops;
  barriers += other.barriers;
  for (std::size_t array = 0; array < reads_per_element.size(); ++array) {
    reads_per_element[array] += other.reads_per_element[array];
  }
  in_step += other.in_step;
  in_turn += other.in_turn;
  lines.insert(lines.end(), other.lines.begin(), other.lines.end());
  return *this;
}

Requests Counts::sum() const {
  Requests sum = launches.front().requests;
  for (std::size_t i = 1; i < launches.size(); ++i) {
    sum += launches[i].requests;
  }
  return sum;
}

Json to_json(const Counts& counts) {
  Json json;
  json["gpu_model"] = {
      {"id", counts.gpu->id}, {"name", counts.gpu->name}, {"sms", counts.gpu->sms}, {"l2_bytes", counts.gpu->l2_bytes}};
  if (counts.launches.size() == 1) {
    json.update(to_json(counts, counts.launches.front()));
    return json;
  }
  json.update(to_json(counts.sum()));
  json.erase("lines");  // each launch has its own
  json["launches"] = Json::array();
  for (const CountedLaunch& launch : counts.launches) {
    Json of_launch{{"function", launch.function}};
    of_launch.update(to_json(counts, launch));
    json["launches"].push_back(std::move(of_launch));
  }
  return json;
}

}  // namespace sgemm
