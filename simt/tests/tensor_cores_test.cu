// The executor's tensor cores multiply FP32 numbers, of which they read the bits that TF32 has.

#include "launch.cuh"

#include "simt/executor.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace simt::test {
namespace {

// Shape of what one mma multiplies; matrices below are row-major without gaps.
constexpr int MMA_M = 16;
constexpr int MMA_N = 8;
constexpr int MMA_K = 8;

std::uint32_t bits_of(float x) { return std::bit_cast<std::uint32_t>(x); }

__global__ void tile_kernel(const float* a, const float* b, const float* c, float* d) {
  const int r = static_cast<int>(threadIdx.x) / 4;
  const int q = static_cast<int>(threadIdx.x) % 4;
  const auto at_a = [&](int row, int k) { return bits_of(a[row * MMA_K + k]); };
  const auto at_b = [&](int k, int col) { return bits_of(b[k * MMA_N + col]); };
  const auto place = [&](int i) { return (r + i / 2 * 8) * MMA_N + 2 * q + i % 2; };
  const MmaRegisters operands{{at_a(r, q), at_a(r + 8, q), at_a(r, q + 4), at_a(r + 8, q + 4)},
                              {at_b(q, r), at_b(q + 4, r)}};
  const std::array part = mma(MmaFormat::tf32, MMA_K, operands, {c[place(0)], c[place(1)], c[place(2)], c[place(3)]});
  for (int i = 0; i < 4; ++i) {
    d[place(i)] = part[i];
  }
}

/// d = a * b + c by a warp, or by so many of its threads.
void multiply_tile(const float* a, const float* b, const float* c, float* d, unsigned threads = 32) {
  launch(tile_kernel, 1, threads, 0, a, b, c, d);
}

constexpr float INF = std::numeric_limits<float>::infinity();
constexpr std::uint32_t IGNORED = (1U << 13U) - 1;  // mantissa bits that TF32 lacks

/// The number that a tensor core reads.
float as_read(float x) { return std::bit_cast<float>(bits_of(x) & ~IGNORED); }

std::vector<float> random_floats(std::size_t rows, std::size_t columns, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> value(-8.0F, 8.0F);
  std::vector<float> floats(rows * columns);
  std::generate(floats.begin(), floats.end(), [&] { return value(random); });
  return floats;
}

/// A tile's operands, and what tensor cores make of them but for the last rounding.
struct Tile {
  std::vector<float> a = random_floats(MMA_M, MMA_K, 1);
  std::vector<float> b = random_floats(MMA_K, MMA_N, 2);
  std::vector<float> c = random_floats(MMA_M, MMA_N, 3);

  double expected(std::size_t row, std::size_t col) const {
    double sum = c[row * MMA_N + col];
    for (std::size_t k = 0; k < MMA_K; ++k) {
      sum += static_cast<double>(as_read(a[row * MMA_K + k])) * as_read(b[k * MMA_N + col]);
    }
    return sum;
  }
};

TEST(TensorCoreTest, MultipliesTilesAndRoundsTowardsZero) {
  const Tile tile;
  std::vector<float> d(tile.c.size());
  multiply_tile(tile.a.data(), tile.b.data(), tile.c.data(), d.data());
  for (std::size_t row = 0; row < MMA_M; ++row) {
    for (std::size_t col = 0; col < MMA_N; ++col) {
      const float got = d[row * MMA_N + col];
      const double expected = tile.expected(row, col);
      EXPECT_LE(std::fabs(got), std::fabs(expected)) << row << ' ' << col;
      EXPECT_GT(std::fabs(std::nextafter(got, expected > 0 ? INF : -INF)), std::fabs(expected)) << row << ' ' << col;
    }
  }
}

TEST(TensorCoreTest, PassesOnInfAndNan) {
  Tile tile;
  tile.a[0] = INF;
  tile.b[0] = 1.0F;
  tile.b[1] = 0.0F;
  std::vector<float> d(tile.c.size());
  multiply_tile(tile.a.data(), tile.b.data(), tile.c.data(), d.data());
  EXPECT_EQ(d[0], INF);
  EXPECT_TRUE(std::isnan(d[1]));
  EXPECT_TRUE(std::isfinite(d[MMA_N]));
}

TEST(TensorCoreTest, TakesWholeWarps) {
  const Tile tile;
  std::vector<float> d(tile.c.size());
  EXPECT_THROW(multiply_tile(tile.a.data(), tile.b.data(), tile.c.data(), d.data(), 16), simt::Error);
}

}  // namespace
}  // namespace simt::test
