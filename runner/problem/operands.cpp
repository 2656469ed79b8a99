#include "problem/operands.hpp"

#include "base/counter_random.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <thread>
#include <utility>

namespace sgemm {
namespace {

/// Box-Muller: two uniform numbers make two normal ones, the elements of even and odd index of a pair.
float normal(const CounterRandom& random, std::uint64_t index) {
  const std::uint64_t first_of_pair = index & ~std::uint64_t{1};
  const float radius_fraction = (static_cast<float>(random(first_of_pair) >> 40U) + 0.5F) * STEP;  // never 0
  const float turn = static_cast<float>(random(first_of_pair + 1) >> 40U) * STEP;
  const float radius = std::sqrt(-2.0F * std::log(radius_fraction));
  const float angle = 2.0F * std::numbers::pi_v<float> * turn;
  return radius * (index % 2 == 0 ? std::cos(angle) : std::sin(angle));
}

/// Fills the elements of a window row by row. `element` gets the index of an element in the matrix, which has `columns`
/// columns.
template <class Element>
void fill(std::vector<float>& part, const Window& window, std::size_t columns, const Element& element) {
  constexpr std::size_t SMALLEST_SHARE = std::size_t{1} << 16U;  // below it, starting a thread costs more
  const std::size_t threads =
      std::clamp<std::size_t>(part.size() / SMALLEST_SHARE, 1, std::max(1U, std::thread::hardware_concurrency()));
  const auto width = static_cast<std::size_t>(window.columns);
  const std::size_t first = static_cast<std::size_t>(window.row) * columns + static_cast<std::size_t>(window.column);
  const auto fill_share = [&](std::size_t thread) {
    const std::size_t share = part.size() / threads;
    const std::size_t end = thread + 1 == threads ? part.size() : (thread + 1) * share;
    for (std::size_t i = thread * share; i < end;) {
      const std::size_t row = i / width;
      const std::size_t end_in_row = std::min(end, (row + 1) * width);
      const std::size_t offset = first + row * (columns - width);
      for (; i < end_in_row; ++i) {
        part[i] = element(offset + i);
      }
    }
  };
  std::vector<std::jthread> helpers;
  for (std::size_t thread = 1; thread < threads; ++thread) {
    helpers.emplace_back(fill_share, thread);
  }
  fill_share(0);
}

/// The extents of a matrix.
Window whole(const Shape& shape, MatrixName which) {
  return {0, 0, which == MatrixName::b ? shape.k : shape.m, which == MatrixName::a ? shape.k : shape.n};
}

/// The transpose of a matrix of these extents, made in strips of rows that fill cache lines of the result.
std::vector<float> transposed(const std::vector<float>& matrix, const Window& extents) {
  constexpr std::int64_t STRIP = 16;
  std::vector<float> result(matrix.size());
  for (std::int64_t first_row = 0; first_row < extents.rows; first_row += STRIP) {
    const std::int64_t end_row = std::min(first_row + STRIP, extents.rows);
    for (std::int64_t column = 0; column < extents.columns; ++column) {
      for (std::int64_t row = first_row; row < end_row; ++row) {
        result[static_cast<std::size_t>(column * extents.rows + row)] =
            matrix[static_cast<std::size_t>(row * extents.columns + column)];
      }
    }
  }
  return result;
}

RandomStream stream_of(MatrixName which) {
  return which == MatrixName::a   ? RandomStream::matrix_a
         : which == MatrixName::b ? RandomStream::matrix_b
                                  : RandomStream::matrix_c;
}

/// Makes a window of one matrix of one distribution.
class MatrixMaker {
 public:
  MatrixMaker(const Shape& shape, MatrixName which, const Window& window, std::uint64_t seed)
      : which_(which),
        window_(window),
        columns_(static_cast<std::uint64_t>(whole(shape, which).columns)),
        random_(seed, stream_of(which)),
        part_(static_cast<std::size_t>(window.rows) * static_cast<std::size_t>(window.columns)),
        half_depth_(static_cast<std::uint64_t>(shape.k) / 2) {}

  std::vector<float> make(Distribution distribution) {
    fill_part(distribution);
    return std::move(part_);
  }

 private:
  void fill_part(Distribution distribution) {
    const MatrixName special = distribution < Distribution::sparse_b ? MatrixName::a : MatrixName::b;
    switch (distribution) {
      case Distribution::uniform:
        return fill_with([&](std::uint64_t index) { return u(index); });
      case Distribution::uniform01:
        return fill_with([&](std::uint64_t index) { return std::fabs(u(index)); });
      case Distribution::normal:
        return fill_with([&](std::uint64_t index) { return normal(random_, index); });
      case Distribution::lognormal1:
        return fill_with([&](std::uint64_t index) { return std::exp(normal(random_, index)); });
      case Distribution::lognormal4:
        return fill_with([&](std::uint64_t index) { return std::exp(4.0F * normal(random_, index)); });
      case Distribution::denormals:
        return fill_scaled(0x1p-125F, 0x1p125F, 1.0F);
      case Distribution::huge:
        return fill_scaled(0x1p127F, 0x1p-100F, 0x1p27F);
      case Distribution::integers:
        return fill_with([&](std::uint64_t index) { return integer(random_, index); });
      case Distribution::cancelling:
        return fill_cancelling();
      case Distribution::inf:
        return fill_with_some(std::numeric_limits<float>::infinity());
      case Distribution::nan:
        return fill_with_some(std::numeric_limits<float>::quiet_NaN());
      case Distribution::zeros:
        return;
      case Distribution::sparse:
      case Distribution::sparse_b:
        return fill_lines(special, [&](const Element& e) { return is_chosen(e.index, SPARSE) ? u(e.index) : 0.0F; });
      case Distribution::rank_one:
      case Distribution::rank_one_b:
        return fill_lines(special,
                          [&](const Element& e) { return is_chosen(e.line, LINES) ? u(e.index) : of_rank_one(e); });
      case Distribution::outliers:
        return fill_with([&](std::uint64_t index) { return u(index) * (is_outlier(index) ? 0x1p10F : 1.0F); });
      case Distribution::huge_row:
      case Distribution::huge_column:
        return fill_lines(special,
                          [&](const Element& e) { return u(e.index) * (is_chosen(e.line, LINES) ? 0x1p40F : 1.0F); });
    }
  }

  /// An element of an operand of which lines are special: rows of A, or columns of B.
  struct Element {
    std::uint64_t index;
    std::uint64_t line;
    std::uint64_t k;
  };

  /// Of how many elements, or lines, one is chosen.
  static constexpr std::uint64_t SPARSE = 512;
  static constexpr std::uint64_t OUTLIERS = 256;
  static constexpr std::uint64_t LINES = 32;

  float u(std::uint64_t index) const { return uniform(random_, index); }

  /// Whether `index` is the one that is chosen of so many that follow one another. No element has a counter like ~x.
  bool is_chosen(std::uint64_t index, std::uint64_t one_in) const {
    return index % one_in == random_(~(index / one_in)) % one_in;
  }

  /// A has outliers where k is even and B where it is odd. A product of two of them would be nearly all of its sum, and
  /// every rounding one of its size: in that case errors are more than a bound with the square root of k allows, about
  /// once in ten million sums.
  bool is_outlier(std::uint64_t index) const {
    const bool of_a = which_ == MatrixName::a;
    const std::uint64_t k = of_a ? index % columns_ : index / columns_;
    return which_ != MatrixName::c && k % 2 == (of_a ? 0 : 1) && is_chosen(index, OUTLIERS);
  }

  /// The first line times a power of two from 2^-3 to 1 for each line, so that all are multiples to the last bit.
  float of_rank_one(const Element& e) const {
    return std::ldexp(u(e.k), -static_cast<int>(random_(~(e.line << 32U)) % 4));
  }

  /// One operand from `number`, the others uniform.
  template <class Number>
  void fill_lines(MatrixName special, const Number& number) {
    fill_with([&](std::uint64_t index) {
      const std::uint64_t row = index / columns_;
      const std::uint64_t column = index % columns_;
      return which_ != special         ? u(index)
             : which_ == MatrixName::a ? number(Element{index, row, column})
                                       : number(Element{index, column, row});
    });
  }

  template <class Number>
  void fill_with(const Number& number) {
    fill(part_, window_, columns_, number);
  }

  /// u times a power of two, which loses no bit.
  void fill_scaled(float of_a, float of_b, float of_c) {
    const float scale = which_ == MatrixName::a ? of_a : which_ == MatrixName::b ? of_b : of_c;
    fill_with([&](std::uint64_t index) { return scale * u(index); });
  }

  /// With h = k / 2: A(i, k + h) = -A(i, k) and B(k + h, j) = B(k, j) + 2^-10 u. A sum grows over the first half and
  /// shrinks over the second, to about 2^-10 of its peak. If k is odd, the last column of A is zero. C0 is as small as
  /// the result.
  void fill_cancelling() {
    constexpr float REMAINDER = 0x1p-10F;
    if (which_ == MatrixName::a) {
      fill_with([&](std::uint64_t index) {
        const std::uint64_t k = index % columns_;
        return k < half_depth_ ? u(index) : k < 2 * half_depth_ ? -u(index - half_depth_) : 0.0F;
      });
    } else if (which_ == MatrixName::b) {
      const std::uint64_t half = half_depth_ * columns_;
      fill_with([&](std::uint64_t index) {
        return index >= half && index < 2 * half ? u(index - half) + REMAINDER * u(index) : u(index);
      });
    } else {
      fill_with([&](std::uint64_t index) { return REMAINDER * u(index); });
    }
  }

  /// Rows 0, 16, 32, ... of A hold `special`, with a random sign, in a random column; rows 0, 32, ... in a second one
  /// as well, so that infinities of both signs meet.
  void fill_with_some(float special) {
    constexpr std::uint64_t ONE_IN = 16;
    fill_lines(MatrixName::a, [&](const Element& e) {
      const std::uint64_t chosen = random_(~e.line);  // no element has such a counter
      const bool first = e.line % ONE_IN == 0 && e.k == (chosen & 0xFFFFFFFFU) % columns_;
      const bool second = e.line % (2 * ONE_IN) == 0 && e.k == (chosen >> 32U) % columns_;
      return first || second ? std::copysign(special, u(e.index)) : u(e.index);
    });
  }

  MatrixName which_;
  Window window_;
  std::uint64_t columns_;  ///< of the whole matrix
  CounterRandom random_;
  std::vector<float> part_;
  std::uint64_t half_depth_;  ///< half of the columns of A and of the rows of B
};

struct Names {
  std::string_view name;
  std::string_view summary;
};

/// In the order of the enumeration.
constexpr std::array<Names, 19> NAMES{{
    {"uniform", "between -1 and 1"},
    {"uniform01", "between 0 and 1"},
    {"normal", "standard normal"},
    {"lognormal1", "exp(x) of normal x, all positive"},
    {"lognormal4", "exp(4 x) of normal x, all positive"},
    {"denormals", "half of A is denormal, B is large, products are as in uniform"},
    {"huge", "A is up to half of FLT_MAX, B is small, products are finite"},
    {"integers", "whole numbers from -8 to 8, sums are exact"},
    {"cancelling", "sums cancel to about 2^-10 of their terms"},
    {"inf", "uniform, some elements of A are infinite"},
    {"nan", "uniform, some elements of A are NaN"},
    {"zeros", "all zeros; chips run faster on them"},
    {"sparse", "A is zero but for one of 512 elements"},
    {"rank_one", "rows of A are multiples of one row, but for one of 32"},
    {"outliers", "uniform, one of 512 elements is 1024 times as large"},
    {"huge_row", "uniform, one of 32 rows of A is 2^40 times as large"},
    {"sparse_b", "B is zero but for one of 512 elements"},
    {"rank_one_b", "columns of B are multiples of one column, but for one of 32"},
    {"huge_column", "uniform, one of 32 columns of B is 2^40 times as large"},
}};

const Names& names(Distribution distribution) { return NAMES.at(static_cast<std::size_t>(distribution)); }

}  // namespace

std::string_view to_string(Distribution distribution) { return names(distribution).name; }

std::string_view summary(Distribution distribution) { return names(distribution).summary; }

Problem packed(const Shape& shape, const float* a, const float* b, float* c) {
  return {shape, a, shape.transposed_a ? shape.m : shape.k, b, shape.transposed_b ? shape.k : shape.n, c, shape.n};
}

std::vector<float> make_part(const Shape& shape, MatrixName which, const Window& window, Distribution distribution,
                             std::uint64_t seed) {
  return MatrixMaker(shape, which, window, seed).make(distribution);
}

HostOperands make_operands(const Shape& shape, Distribution distribution, std::uint64_t seed) {
  const auto make = [&](MatrixName which, bool transpose) {
    const Window window = whole(shape, which);
    const auto make_one = [&](std::int64_t product) {
      std::vector<float> matrix =
          make_part(shape, which, window, distribution, seed + static_cast<std::uint64_t>(product));
      return transpose ? transposed(matrix, window) : std::move(matrix);
    };
    std::vector<float> all = make_one(0);
    all.reserve(all.size() * static_cast<std::size_t>(shape.batch));
    for (std::int64_t product = 1; product < shape.batch; ++product) {
      const std::vector<float> next = make_one(product);
      all.insert(all.end(), next.begin(), next.end());
    }
    return all;
  };
  HostOperands operands;
  operands.a = make(MatrixName::a, shape.transposed_a);
  operands.b = make(MatrixName::b, shape.transposed_b);
  if (shape.beta != 0.0F) {
    operands.c0 = make(MatrixName::c, false);
  }
  return operands;
}

}  // namespace sgemm
