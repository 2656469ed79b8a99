#pragma once

// The cost of a warp's memory instruction: sectors of global memory, wavefronts of shared memory.

#include <array>
#include <cstdint>

namespace simt {

/// One memory instruction of a warp: where each active lane's bytes are. Addresses are multiples of `bytes`.
struct WarpAccess {
  std::uint32_t active = 0;                    ///< a bit per lane
  unsigned bytes = 0;                          ///< per lane: 1, 2, 4, 8 or 16
  std::array<std::uint64_t, 32> address = {};  ///< in bytes; of inactive lanes meaningless
};

constexpr unsigned SECTOR_BYTES = 32;

/// The different sectors of global memory that it touches.
unsigned sectors(const WarpAccess& access);

/// How often an access passes the data pipe of shared memory.
struct Wavefronts {
  unsigned taken = 0;
  unsigned ideal = 0;  ///< where no two lanes stand in each other's way; `taken` exceeds it by the bank conflicts
};

enum class SharedOperation { load, store };

Wavefronts shared_wavefronts(const WarpAccess& access, SharedOperation operation);

/// An asynchronous copy of 4, 8 or 16 bytes per lane, `to` shared memory `from` global: both sides count.
/// Lanes that are active in `to` alone write zeros.
Wavefronts copy_wavefronts(const WarpAccess& from, const WarpAccess& to);

}  // namespace simt
