#pragma once

// Replays the requests of blocks to a GPU's L2 cache, to predict the bytes that DRAM moves.

#include "simt/gpu_models.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace simt {

/// Up to eight neighbouring sectors of an array. Some of them are read or written together, for example by a warp's
/// request within a line of 128 bytes. The access is split into lines only after the shift of PlacedBlock.
struct SectorAccess {
  std::uint32_t sector = 0;  ///< counted from the array's begin
  std::uint8_t mask = 0;     ///< bit i: `sector` + i is accessed
  std::uint8_t array = 0;    ///< index of the array
  bool write = false;        ///< of whole sectors
};

/// A block's requests to the L2, in the block's order.
using BlockTraffic = std::vector<SectorAccess>;

/// A, B, C and a workspace.
constexpr std::size_t MAX_ARRAYS = 4;

/// A block with the requests of `traffic`, moved by a number of sectors in each array.
struct PlacedBlock {
  const BlockTraffic* traffic = nullptr;
  std::array<std::int64_t, MAX_ARRAYS> shift = {};
};

/// The launch, as the L2 sees it.
struct PlacedLaunch {
  std::span<const PlacedBlock> blocks;  ///< in the order they start
  std::array<std::uint64_t, MAX_ARRAYS> first_sector =
      {};  ///< of each array: its address / SECTOR_BYTES; within 512 GB
  unsigned blocks_per_sm = 1;
};

/// The way in which the blocks of a multiprocessor share it. An H200 measured close to `in_turn` where the L1's data
/// pipe is the limit and to `in_step` elsewhere.
enum class Turns {
  in_step,  ///< they advance together
  in_turn,  ///< the first block of an SM is 1 / blocks_per_sm of its work ahead of the second, and so on
};

struct L2Traffic {
  std::uint64_t read_sectors = 0;  ///< asked for
  std::uint64_t read_hits = 0;     ///< of them found in the L2
  std::uint64_t written_sectors = 0;
  std::uint64_t dram_read_bytes = 0;
  std::uint64_t dram_written_bytes = 0;  ///< what stays in the L2 at the end is not among them

  L2Traffic& operator+=(const L2Traffic& other);
};

/// Blocks start as the SMs have room, in order, and advance at the same rate in fractions of their work. The first
/// launch begins on an empty L2, and each other one, when all blocks of the one before have ended, on what that has
/// left. Returns the traffic of each launch; DRAM gets what an earlier launch has written in the one that evicts it.
/// Arrays have the same places in all launches.
std::vector<L2Traffic> replay(std::span<const PlacedLaunch> launches, Turns turns, const GpuModel& gpu);

}  // namespace simt
