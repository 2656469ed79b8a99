#pragma once

// The arithmetic of tensor cores: mma.sync.m16n8 with operands of 8 to 32 bits, and a warp's share of wgmma.m64 with up
// to 128 columns and operands of 8 or 16 bits.

#include "simt/executor.hpp"
#include "simt/half_floats.hpp"
#include "simt/thread.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <variant>

namespace simt {

/// The numbers in a lane's registers of A and B, as many in each as 4 bytes hold.
struct MmaNumbers {
  MmaNumbers() = default;
  MmaNumbers(MmaFormat format, const MmaRegisters& registers);

  std::array<float, 16> a{};
  std::array<float, 8> b{};
};

/// mma.sync.m16n8kK: what lane `lane` holds of A * B + C, 16 x 8. Products are exact. Their sum with C is exact except
/// for the last bits of a double, and is then rounded towards 0. Hardware cuts off the terms instead, some bits further
/// down, and GPUs differ in this. Sums of integers are exact, and wrap around beyond 32 bits.
template <class T>
std::array<T, 4> multiply_registers(MmaFormat format, unsigned k, const std::array<MmaNumbers, WARP>& numbers,
                                    unsigned lane, const std::array<T, 4>& c);

constexpr unsigned WARPGROUP = 128;
constexpr unsigned WGMMA_COLUMNS = 128;  ///< at most
constexpr unsigned WGMMA_ROWS_OF_WARP = 16;
/// The bytes of each row of A and each column of B in a tile in shared memory. A product takes 32 bytes of each.
/// Rows and columns follow one another with 128-byte swizzling (PTX ISA, "Strides" and "Swizzling modes").
constexpr unsigned WGMMA_ROW_BYTES = 128;
constexpr unsigned WGMMA_ALIGNMENT = 8 * WGMMA_ROW_BYTES;
constexpr unsigned WGMMA_PIECE = 16;  ///< bytes that swizzling leaves together, half of a product's in a row
constexpr unsigned WGMMA_PIECES_OF_ROW = 2;
constexpr unsigned wgmma_k(MmaFormat format) { return WGMMA_PIECES_OF_ROW * WGMMA_PIECE / bytes_of(format); }
/// The shared address of a piece, counted from the row whose first k would lie at `operand` without swizzling.
constexpr unsigned address_of_piece(unsigned operand, unsigned piece) {
  const unsigned address =
      operand + piece / WGMMA_PIECES_OF_ROW * WGMMA_ROW_BYTES + piece % WGMMA_PIECES_OF_ROW * WGMMA_PIECE;
  return address ^ (address >> 3U & (WGMMA_ROW_BYTES - WGMMA_PIECE));
}

/// A warp's rows of D, of which narrow products have the first columns.
template <class T>
using WgmmaRows = std::array<std::array<T, WGMMA_COLUMNS>, WGMMA_ROWS_OF_WARP>;

using WgmmaSums = std::variant<WgmmaRows<float>, WgmmaRows<std::int32_t>>;

/// Adds A * B to `d`, with `a` the shared address of the warp's rows and `b` that of the columns; `shared` is the
/// memory at shared address 0. Without `a` the rows lie in `registers`, as mma.sync.m16n8k16 has them. Products and
/// sums are like those of multiply_registers().
void multiply_tiles(MmaFormat format, std::optional<unsigned> a, const std::array<MmaNumbers, WARP>& registers,
                    unsigned b, unsigned columns, const std::byte* shared, WgmmaSums& d);

/// The elements that a lane has of a product's D.
constexpr unsigned elements_of_part(unsigned columns) { return WGMMA_ROWS_OF_WARP * columns / WARP; }
/// Calls `body` with each element of a lane's part of D, and where the rows have it.
template <class T, class Body>
void for_elements(WgmmaRows<T>& rows, unsigned columns, unsigned lane, void* part, const Body& body) {
  for (unsigned i = 0; i < elements_of_part(columns); ++i) {
    body(static_cast<T*>(part)[i], rows[lane / 4 + i / 2 % 2 * 8][i / 4 * 8 + lane % 4 * 2 + i % 2]);
  }
}

}  // namespace simt
