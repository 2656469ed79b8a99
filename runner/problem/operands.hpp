#pragma once

#include "common/problem.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace sgemm {

/// The distribution that the entries of A, B and C0 are drawn from; docs/accuracy.md says what each is for.
enum class Distribution {
  uniform,     ///< uniform on (-1, 1): u below, an odd multiple of 2^-24
  uniform01,   ///< |u|, uniform on (0, 1)
  normal,      ///< standard normal: z below
  lognormal1,  ///< exp(z), all positive
  lognormal4,  ///< exp(4 z), all positive, over some 18 decades
  denormals,   ///< A: 2^-125 u, half of them denormal; B: 2^125 u; C0: u
  huge,        ///< A: 2^127 u, up to half of FLT_MAX; B: 2^-100 u; C0: 2^27 u
  integers,    ///< whole numbers from -8 to 8: all sums of up to 2^18 products are exact
  cancelling,  ///< the second half of k subtracts what the first half adds, except for 2^-10 of it
  inf,         ///< uniform, with one or two infinities in every 16th row of A
  nan,         ///< uniform, with one or two NaNs there
  zeros,       ///< all zeros; real chips run faster on it, so it is never a default
  // Those that look like something simpler to who looks at a few elements alone:
  sparse,    ///< zeros, but for one element of each 512 of A, which is u
  rank_one,  ///< A: rows are one row times powers of two, but for one row of each 32, which is u
  outliers,  ///< uniform, one of 512 elements of A and of B times 2^10, never both of a product
  huge_row,  ///< uniform, one row of each 32 of A times 2^40
  // Of B, or of its columns, what these are of A:
  sparse_b,     ///< likewise of B
  rank_one_b,   ///< likewise of the columns of B
  huge_column,  ///< likewise of the columns of B
};

/// So many kinds from one on, in the order of the enumeration.
template <std::size_t COUNT>
constexpr std::array<Distribution, COUNT> kinds_from(Distribution first) {
  std::array<Distribution, COUNT> kinds{};
  for (std::size_t i = 0; i < COUNT; ++i) {
    kinds[i] = static_cast<Distribution>(static_cast<std::size_t>(first) + i);
  }
  return kinds;
}
inline constexpr auto KINDS = kinds_from<19>(Distribution::uniform);
/// Those of --accuracy, whose errors tables compare.
inline constexpr auto DISTRIBUTIONS = kinds_from<12>(Distribution::uniform);
/// What --judge has beside them.
inline constexpr auto DECOYS = kinds_from<7>(Distribution::sparse);

std::string_view to_string(Distribution distribution);
/// A few words for people.
std::string_view summary(Distribution distribution);

/// The problem of a shape whose matrices lie without padding between rows at these addresses.
Problem packed(const Shape& shape, const float* a, const float* b, float* c);

/// Host copies of one problem's inputs, row-major without padding between rows. The matrices of a batch follow one
/// another.
struct HostOperands {
  std::vector<float> a;   ///< m x k, or k x m if transposed
  std::vector<float> b;   ///< k x n, or n x k if transposed
  std::vector<float> c0;  ///< m x n, the C that beta multiplies; empty when beta is 0
};

/// Makes the operands of a shape. Every element depends only on the seed, the matrix, its shape and the index, so the
/// values are the same for any number of threads. They are the same on every machine, except where the C library's
/// logarithms, exponentials and sines differ in the last digit.
///
/// Transposed operands have the same values in another order. Each product of a batch has operands of its own: number i
/// has those of the single product with the seed `seed` + i.
HostOperands make_operands(const Shape& shape, Distribution distribution, std::uint64_t seed);

enum class MatrixName { a, b, c };

/// Some rows and columns of a matrix.
struct Window {
  std::int64_t row = 0;  ///< the first one
  std::int64_t column = 0;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};

/// The elements of make_operands() in that window, without padding between rows. C is made for any beta. The window is
/// one of the matrix that is multiplied, and is not transposed; of a batch it is in the first product's.
std::vector<float> make_part(const Shape& shape, MatrixName which, const Window& window, Distribution distribution,
                             std::uint64_t seed);

}  // namespace sgemm
