#include "base/counter_random.hpp"
#include "verify/verify.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace sgemm {
namespace {

using Index = std::int64_t;

/// The element of A, or of B, that belongs to a term.
using Factor = std::function<double(Index row, Index column, Index k)>;

Factor of_a(const float* a, Index ld, bool transposed) {
  return [=](Index row, Index, Index k) { return double{a[transposed ? k * ld + row : row * ld + k]}; };
}

Factor of_b(const float* b, Index ld, bool transposed) {
  return [=](Index, Index column, Index k) { return double{b[transposed ? column * ld + k : k * ld + column]}; };
}

/// How a kernel may have understood its call. As it is, it is right.
struct Guess {
  std::string text;
  Factor a;
  Factor b;
  double alpha = 1.0;
  double beta = 0.0;
  Index first_k = 0;
  Index end_k = 0;
  bool clipped = false;  ///< to what is not negative
};

/// Without its last bits, of which `added` may carry into those that stay.
float without_bits(float value, unsigned dropped, unsigned added) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return std::bit_cast<float>((bits + added) & ~((1U << dropped) - 1U));
}

class Suspect {
 public:
  Suspect(const Problem& problem, const float* c) : p_(problem), c_(c) {
    constexpr Index MOST = 256;
    const Index elements = p_.m * p_.n;
    if (elements <= MOST) {
      for (Index element = 0; element < elements; ++element) {
        samples_.push_back(element);
      }
      return;
    }
    const CounterRandom random(1, RandomStream::sampled_rows);
    for (Index i = 0; i < MOST; ++i) {
      samples_.push_back(
          static_cast<Index>(random(static_cast<std::uint64_t>(i)) % static_cast<std::uint64_t>(elements)));
    }
  }

  /// Where C holds what it held before.
  std::string unwritten() const {
    const auto untouched = [&](Index row, Index column) {
      const float found = c_[row * p_.n + column];
      return p_.beta == 0.0F ? std::isnan(found) : found == p_.c[row * p_.ldc + column];
    };
    std::vector<Index> in_rows(static_cast<std::size_t>(p_.m));
    std::vector<Index> in_columns(static_cast<std::size_t>(p_.n));
    Index all = 0;
    for (Index row = 0; row < p_.m; ++row) {
      for (Index column = 0; column < p_.n; ++column) {
        if (untouched(row, column)) {
          ++in_rows[static_cast<std::size_t>(row)];
          ++in_columns[static_cast<std::size_t>(column)];
          ++all;
        }
      }
    }
    if (all == p_.m * p_.n) {
      return p_.beta == 0.0F ? "; as beta is 0, C held NaN before: all of it is NaN, so it was never written, or it is "
                               "read, or memory of cudaMalloc() is read that nobody has written"
                             : "; C is what it was before: it was never written";
    }
    const auto begin_of_last = [](const std::vector<Index>& counts, Index full) {
      return std::find_if(counts.rbegin(), counts.rend(), [&](Index count) { return count != full; }).base() -
             counts.begin();
    };
    const Index row = begin_of_last(in_rows, p_.n);
    const Index column = begin_of_last(in_columns, p_.m);
    if (all == 0 || all != p_.m * p_.n - row * column) {
      return "";
    }
    const std::string rows = row < p_.m ? fmt::format("row {}", row) : "";
    const std::string columns = column < p_.n ? fmt::format("column {}", column) : "";
    return fmt::format(
        "; C was not written from {}{}{} on: the grid may have too few blocks, as where a division has "
        "to round up, or x and y are swapped",
        rows, rows.empty() || columns.empty() ? "" : " and from ", columns);
  }

  /// Whether C has what the executor gives local variables of files (simt/CMakeLists.txt).
  bool has_unset_locals() const {
    const auto unset = std::bit_cast<float>(0xFEFEFEFEU);
    return std::ranges::any_of(samples_, [&](Index element) { return c_[element] == p_.alpha * unset; });
  }

  bool fits(const Guess& guess) const {
    return std::ranges::all_of(samples_, [&](Index element) {
      const auto [value, magnitude] = value_of(guess, element);
      const double bound = (8.0 + 2.0 * std::sqrt(static_cast<double>(p_.k))) * 0x1p-24 * magnitude + 1e-37;
      return std::fabs(c_[element] - value) <= bound;
    });
  }

  /// To how many bits all of C is about right; 0 where some elements alone are wrong, or all of them much more.
  int bits(const Guess& right) const {
    double sum = 0.0;
    double most = 0.0;
    for (const Index element : samples_) {
      const auto [value, magnitude] = value_of(right, element);
      const double error = std::fabs(c_[element] - value) * std::sqrt(static_cast<double>(p_.k)) / magnitude;
      sum += error * error;
      most = std::max(most, error);
    }
    const double usual = std::sqrt(sum / static_cast<double>(samples_.size()));
    const int found = usual > 0.0 ? static_cast<int>(std::lround(-std::log2(usual))) : 0;
    return most < 8.0 * usual && found >= 5 && found <= 16 ? found : 0;
  }

  /// The sum of the squares of C's distances from a guess.
  double distance(const Guess& guess) const {
    double sum = 0.0;
    for (const Index element : samples_) {
      const double difference = c_[element] - value_of(guess, element).first;
      sum += difference * difference;
    }
    return sum;
  }

  Guess right() const {
    return {"", of_a(p_.a, p_.lda, p_.transposed_a), of_b(p_.b, p_.ldb, p_.transposed_b), p_.alpha, p_.beta, 0, p_.k};
  }

  /// Those that a computation in single precision fits.
  std::vector<Guess> guesses() const {
    std::vector<Guess> all;
    add_layouts(all);
    add_factors(all);
    add_triangles(all);
    std::set<Index> ends;
    for (Index tile = 1; tile <= 256; tile *= 2) {
      for (const Index end : {p_.k - tile, p_.k / tile * tile}) {
        if (end > 0 && end < p_.k && ends.insert(end).second) {
          add(all,
              fmt::format("; C lacks the last {} of the {} terms of each sum, as where the last k-tile is left out",
                          p_.k - end, p_.k))
              .end_k = end;
        }
      }
      if (tile < p_.k) {
        add(all, fmt::format("; C lacks the first {} of the {} terms of each sum", tile, p_.k)).first_k = tile;
      }
    }
    return all;
  }

  /// Those with operands of fewer bits: C is much nearer to one of them than to the right product.
  std::vector<Guess> rounded_guesses() const {
    std::vector<Guess> all;
    for (const auto& [format, stay] : {std::pair{"TF32 or FP16", 10U}, {"BF16", 7U}}) {
      for (const char* const how : {"rounded", "cut"}) {  // as of wmma, where a kernel does not round to TF32
        const unsigned dropped = 23 - stay;
        const unsigned added = how[0] == 'r' ? 1U << (dropped - 1) : 0;
        Guess& guess = add(
            all, fmt::format("; C looks like a product in {}: the operands were {} to {} bits behind the point, and "
                             "FP32 has 23; --data integers has operands that need no rounding",
                             format, how, stay));
        for (auto* const operand : {&guess.a, &guess.b}) {
          *operand = [exact = *operand, dropped, added](Index row, Index column, Index k) {
            return double{without_bits(static_cast<float>(exact(row, column, k)), dropped, added)};
          };
        }
      }
    }
    return all;
  }

 private:
  /// What is right, for a guess to be made of it.
  Guess& add(std::vector<Guess>& all, std::string text) const {
    all.push_back(right());
    all.back().text = std::move(text);
    return all.back();
  }

  /// Operands that are read in another order, or a result that is written in one.
  void add_layouts(std::vector<Guess>& all) const {
    const Problem& p = p_;
    for (const bool ta : {false, true}) {
      for (const bool tb : {false, true}) {
        if (ta == p.transposed_a && tb == p.transposed_b) {
          continue;
        }
        const std::string advice = ta || tb
                                       ? fmt::format("--sizes with :{}{} asks for that", ta ? 't' : 'n', tb ? 't' : 'n')
                                       : "sizes without an ending ask for that";
        Guess& guess =
            add(all, fmt::format("; C is A{} B{} of what lies in memory: {}", ta ? "^T" : "", tb ? "^T" : "", advice));
        guess.a = of_a(p.a, ta ? p.m : p.k, ta);
        guess.b = of_b(p.b, tb ? p.k : p.n, tb);
      }
    }
    Guess& guess = add(all,
                       "; C is what a kernel for matrices in column-major order gives, B A of matrices in rows: "
                       "exchange M with N and A with B in the call");
    guess.a = [p](Index row, Index column, Index k) { return double{p.a[k * p.m + (row * p.n + column) % p.m]}; };
    guess.b = [p](Index row, Index column, Index k) { return double{p.b[(row * p.n + column) / p.m * p.k + k]}; };
    Guess& turned =
        add(all, "; C lies transposed, in M elements for each column: exchange its indices where it is written");
    turned.a = [p, a = turned.a](Index row, Index column, Index k) { return a((row * p.n + column) % p.m, 0, k); };
    turned.b = [p, b = turned.b](Index row, Index column, Index k) { return b(0, (row * p.n + column) / p.m, k); };
    if (!p.transposed_a && p.n < p.k) {
      add(all, "; A was read with N elements between its rows, which have K").a = of_a(p.a, p.n, false);
    }
    if (!p.transposed_b && p.k < p.n) {
      add(all, "; B was read with K elements between its rows, which have N").b = of_b(p.b, p.k, false);
    }
  }

  void add_factors(std::vector<Guess>& all) const {
    if (p_.alpha != 1.0F) {
      add(all, "; C lacks the factor alpha").alpha = 1.0;
    }
    if (p_.beta != 0.0F) {
      add(all, "; C lacks beta * C").beta = 0.0;
      if (p_.beta != 1.0F) {
        add(all, "; C was added without the factor beta").beta = 1.0;
      }
      if (p_.alpha != 1.0F) {
        if (p_.beta != 1.0F && p_.beta != p_.alpha) {  // or it is alpha * C, or beta * beta * C
          add(all, "; beta * C was multiplied by alpha as well").beta = double{p_.alpha} * p_.beta;
        }
        Guess& without_both = add(all, "; C lacks alpha and beta");
        without_both.alpha = 1.0;
        without_both.beta = 0.0;
      }
      Guess& twice = add(all, "; the product was computed twice, the second time with the first result as C");
      twice.alpha = p_.alpha * (1.0 + double{p_.beta});
      twice.beta = double{p_.beta} * p_.beta;
    }
    add(all, "; every product was added twice").alpha = 2.0 * p_.alpha;
    constexpr auto MANY = 8;
    if (std::ranges::count_if(samples_, [&](Index at) { return value_of(right(), at).first < 0; }) >= MANY) {
      add(all, "; C is 0 where the product is negative, as behind a ReLU").clipped = true;
    }
  }

  /// Products of triangular matrices, which read a part of A, of B or of both.
  void add_triangles(std::vector<Guess>& all) const {
    for (const bool upper : {true, false}) {
      const auto within = [upper](Index row, Index column) { return upper ? row <= column : row >= column; };
      for (const char* const parts : {"A and B", "A", "B"}) {
        Guess& guess = add(
            all, fmt::format("; C is the product with the {} triangle of {} alone", upper ? "upper" : "lower", parts));
        if (*parts == 'A') {
          guess.a = [a = guess.a, within](Index row, Index column, Index k) {
            return within(row, k) ? a(row, column, k) : 0.0;
          };
        }
        if (std::string_view(parts).ends_with('B')) {
          guess.b = [b = guess.b, within](Index row, Index column, Index k) {
            return within(k, column) ? b(row, column, k) : 0.0;
          };
        }
      }
    }
  }

  std::pair<double, double> value_of(const Guess& guess, Index element) const {
    const Index row = element / p_.n;
    const Index column = element % p_.n;
    double value = 0.0;
    double magnitude = 0.0;
    for (Index k = guess.first_k; k < guess.end_k; ++k) {
      const double term = guess.a(row, column, k) * guess.b(row, column, k);
      value += term;
      magnitude += std::fabs(term);
    }
    const double c0 = guess.beta == 0.0 ? 0.0 : guess.beta * p_.c[row * p_.ldc + column];
    const double result = guess.alpha * value + c0;
    return {guess.clipped ? std::max(result, 0.0) : result, std::fabs(guess.alpha) * magnitude + std::fabs(c0)};
  }

  const Problem& p_;
  const float* const c_;
  std::vector<Index> samples_;
};

}  // namespace

std::string cause_of_wrong(const Problem& problem, const float* c) {
  if (problem.batch > 1 || problem.k == 0) {
    return "";
  }
  const Suspect suspect(problem, c);
  if (std::string text = suspect.unwritten(); !text.empty()) {
    return text;
  }
  if (suspect.has_unset_locals()) {
    return "; C has what a local variable holds that nothing was assigned to: does each sum begin at 0?";
  }
  const Guess right = suspect.right();
  if (suspect.fits(right)) {
    return "";  // few elements are wrong
  }
  for (const Guess& guess : suspect.guesses()) {
    if (suspect.fits(guess)) {
      return guess.text;
    }
  }
  const double distance = suspect.distance(right);
  for (const Guess& guess : suspect.rounded_guesses()) {
    constexpr double MUCH_NEARER = 16.0 * 16.0;
    if (suspect.distance(guess) * MUCH_NEARER < distance) {
      return guess.text;
    }
  }
  if (const int bits = suspect.bits(right)) {
    return fmt::format(
        "; C is right to about {} of FP32's 24 bits, as with sums in FP16 or BF16, or operands of 8 bits", bits);
  }
  return "";
}

}  // namespace sgemm
