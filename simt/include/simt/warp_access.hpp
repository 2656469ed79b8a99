#pragma once

// The cost of a warp's memory instruction: sectors of global memory, wavefronts of shared memory.

#include <array>
#include <cstdint>

namespace simt {

/// One memory instruction of a warp: the address of each active lane's bytes. Addresses are multiples of `bytes`.
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
  unsigned ideal = 0;  ///< without bank conflicts; `taken` exceeds it by their number
};

enum class SharedOperation { load, store };

Wavefronts shared_wavefronts(const WarpAccess& access, SharedOperation operation);

/// The wavefronts of an asynchronous copy of 4, 8 or 16 bytes per lane, `from` global memory `to` shared memory. Both
/// sides count. Lanes that are active only in `to` write zeros.
Wavefronts copy_wavefronts(const WarpAccess& from, const WarpAccess& to);

}  // namespace simt
