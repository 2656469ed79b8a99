#pragma once

namespace simt::test {

// Shape of what one mma multiplies; matrices below are row-major without gaps.
constexpr int MMA_M = 16;
constexpr int MMA_N = 8;
constexpr int MMA_K = 8;

/// d = a * b + c by one warp.
void multiply_tile(const float* a, const float* b, const float* c, float* d);
/// A block of 16 threads asks for the same.
void multiply_tile_by_half_a_warp(const float* a, const float* b, const float* c, float* d);

}  // namespace simt::test
