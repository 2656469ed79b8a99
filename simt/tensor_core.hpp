#pragma once

// What tensor cores compute: mma.sync.m16n8k8 with TF32 operands, and what a warp has of wgmma.m64n128k16 with operands
// of 16 bits.

#include "executor.hpp"
#include "half_floats.hpp"

#include <array>
#include <cstddef>

namespace simt {

/// What a lane holds of A (16 x 8) and B (8 x 8); kernels/tensor_core.cuh tells which elements.
struct MmaOperands {
  std::array<float, 4> a{};
  std::array<float, 2> b{};
};

/// Sets `d` to what lane `lane` holds of A * B + C, 16 x 8. The 13 mantissa bits of A and B that TF32 lacks are
/// ignored; products are exact and so, but for the last bits of a double, is their sum with C, which is then rounded
/// towards 0. Hardware cuts off the terms instead, some bits further down, which differs from GPU to GPU.
void multiply_tf32(const std::array<MmaOperands, WARP>& operands, unsigned lane, const float (&c)[4], float (&d)[4]);

/// A tile of B in shared memory, of which wgmma takes 16 k: kernels/wgmma.cuh tells how it is laid out.
struct WgmmaOperand {
  unsigned address = 0;  ///< shared; of the first column's first k
  int row_bytes = 0;     ///< 64 or 128

  bool operator==(const WgmmaOperand&) const = default;
};

constexpr unsigned WARPGROUP = 128;
constexpr unsigned WGMMA_COLUMNS = 128;
constexpr unsigned WGMMA_K = 16;
constexpr unsigned WGMMA_ROWS_OF_WARP = 16;
constexpr unsigned WGMMA_PIECE = 16;  ///< bytes that swizzling leaves together, half of a column's
constexpr unsigned WGMMA_PIECES = WGMMA_COLUMNS * 2;
/// The shared address of a piece.
constexpr unsigned address_of_piece(const WgmmaOperand& b, unsigned piece) {
  const unsigned row_bytes = static_cast<unsigned>(b.row_bytes);
  const unsigned address = b.address + piece / 2 * row_bytes + piece % 2 * WGMMA_PIECE;
  return address ^ (address >> 3U & (row_bytes - WGMMA_PIECE));
}

/// What a lane holds of A (64 x 16) and D (64 x 128) in a wgmma.
using WgmmaA = std::array<unsigned, 4>;
using WgmmaD = float[64];
/// A warp's rows of D.
using WgmmaRows = std::array<std::array<float, WGMMA_COLUMNS>, WGMMA_ROWS_OF_WARP>;

/// Adds A * B to `d`. `shared` is where shared address 0 lies. Products and sums are as those of multiply_tf32.
void multiply_half(HalfFormat format, const std::array<WgmmaA, WARP>& a, const WgmmaOperand& b, const std::byte* shared,
                   WgmmaRows& d);
/// Copies what a lane holds of D from there or to it.
void put_part(WgmmaRows& rows, unsigned lane, const WgmmaD& part);
void take_part(const WgmmaRows& rows, unsigned lane, WgmmaD& part);

}  // namespace simt
