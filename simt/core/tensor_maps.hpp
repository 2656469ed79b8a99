#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace simt {

/// What a CUtensorMap holds: an array in global memory, of which instructions copy boxes.
struct TensorMap {
  static constexpr unsigned MOST_DIMENSIONS = 5;
  static constexpr std::uint64_t MARK = 0x70616D726F736E74;

  using Coordinates = std::array<std::int32_t, MOST_DIMENSIONS>;

  std::uint64_t mark = MARK;
  std::byte* address = nullptr;
  std::array<std::uint64_t, MOST_DIMENSIONS> extents{};
  std::array<std::uint64_t, MOST_DIMENSIONS> strides{};  ///< in bytes; the first is the size of an element
  std::array<std::uint16_t, MOST_DIMENSIONS> box{};
  std::uint16_t dimensions = 0;
  std::uint16_t swizzle_bytes = 0;
  bool rounds = false;  ///< what is loaded, to TF32

  /// A row of a box. What lies outside of the array is not in global memory.
  struct Row {
    unsigned offset;    ///< of the row in its box
    std::byte* inside;  ///< its first element inside of the array, or null
    unsigned before;    ///< bytes outside of the array that come first
    unsigned bytes;     ///< inside of it
  };

  unsigned row_bytes() const { return static_cast<unsigned>(box[0] * strides[0]); }
  unsigned rows() const {
    unsigned product = 1;
    std::for_each_n(box.begin() + 1, dimensions - 1, [&](unsigned extent) { product *= extent; });
    return product;
  }
  Row row(unsigned number, const Coordinates& at) const;

  /// Where the bytes of that shared address go. A pattern goes by the address, as in "Swizzling Modes" of the PTX ISA:
  /// in each span of as many bytes, pieces of 16 change places by the bits above those of 128 bytes.
  unsigned swizzled(unsigned address) const {
    constexpr unsigned PIECE = 16;
    return swizzle_bytes == 0 ? address : address ^ (address >> 3U & (swizzle_bytes - PIECE));
  }
};

}  // namespace simt
