// Verification against double precision on the host, and the error bounds.
//
// The bound. A sum of K single-precision products, in any order, is off by at most K * eps * |A||B| (eps = 2^-24, half
// the distance from 1 to the next float). That worst case needs all roundings to conspire, and would let a wrong kernel
// through at large K. Higham and Mary ("A new approach to probabilistic rounding error analysis", SISC 41, 2019) show
// that roundings which behave like independent random errors of mean 0 give lambda * sqrt(K) * eps * |A||B|, exceeded
// with a probability of at most 2 exp(-lambda^2 / 2) that is already very pessimistic. With
//
//     c(K) = 4 + 2 sqrt(K)
//
// all-positive data, the harder case, has a standard deviation of about 0.24 sqrt(K) * eps * |A||B| when summed one by
// one (the partial sum grows as k/K, each addition rounds by 0.41 eps of it, and the squares add up to a third): the
// bound is more than 8 of them away. On data of mean 0 the partial sums are smaller by another sqrt(k). The 4 covers
// the roundings outside the sum: by alpha, by beta, of their sum, of the operands of a short sum.
//
// If roundings do not average out, K + 4 takes the place of 4 + 2 sqrt(K): the worst case, up to second order. This
// happens if products have very different sizes. A product below half a unit in the last place of the partial sum is
// lost, and positive sums always come out too small then. Data of the kind exp(4 z), z normal, exceeds 4 + 2 sqrt(K)
// from K = 1024 on when summed one by one.
//
// TF32 rounds each operand to 10 mantissa bits, a relative error of up to 2^-11 = 2^13 eps, and then adds products in
// single precision: c(K) = 2 * 2^13 + 4 + 2 sqrt(K).
//
// The class fp32_split splits operands into two TF32 terms, makes three products for each product in FP32, and adds the
// sums of 16 of those in single precision:
//
//     c(K) = 92 + 2 sqrt(K)
//
// Two things are left out. Tensor cores cut off the smaller term, up to 2 eps of each operand. The product of both
// smaller terms is up to 2^-22. Together that is 8 eps of a product at worst. Within 16 products tensor cores do not
// round but cut off. We assume that they keep no more than the 24 bits of the largest addend, and add four products to
// a sum at a time. Then all five addends except the largest lose up to 2 eps of it, and so does the new sum: 10 eps.
// The 16 products are 6 instructions of two such additions. The first two instructions add products with smaller terms
// alone, 2^-10 of the whole at most, and lose next to nothing. Eight additions are left, 80 eps at worst. The rest is
// 4 + 2 sqrt(K) as above, with a sixteenth of the additions. This holds for operands that are 0 or at least 2^-113. In
// smaller operands the smaller term loses bits to underflow, up to 2^-136 of each operand.
//
// The classes bf16_split and fp16_split split scaled operands into three BF16 terms with six products, or two FP16
// terms with three products. They add sums of 64 products in single precision:
//
//     c(K) = 148 + 2 sqrt(K)
//
// Three BF16 terms leave out nothing. The products that are not made are up to 2 * 2^-24 of the whole, 2 eps. Two FP16
// terms leave out up to 2^-23 of each operand. Of operands below 2^-2 after scaling they leave out up to 2^-25, which
// is relatively more, so the class is not for all operands. The product of both smaller terms is up to 2^-22: 8 eps
// again. Scaling by powers of two rounds nothing. The instructions that multiply the largest terms matter, four of 16
// products for each sum. In the model above all addends except the largest lose up to 2 eps of it, and so does the new
// sum: 34 eps, 136 in all.
//
// This holds if the terms can hold the numbers that count. The largest of 64 neighbours along k is scaled to 2^7 or
// more. Then BF16 terms hold numbers from 2^-110 on, and FP16 terms numbers from 2^-3 on. FP16 leaves out up to 2^-25
// of smaller numbers. Beside the largest number that is no more than the above, but it is more in elements that are
// sums of small numbers alone.
//
// The class int8_split makes integers of operands, X = x * 2^e + r with one power of two for each row of A and each
// column of B, and multiplies three digits to the base 256 of each. It looks at the largest number a of the row and b
// of the column, and has a term of its own beside those of fp32:
//
//     c(K) = 4 + 2 sqrt(K), plus 12.2 K eps a b
//
// Nothing is assumed for this term. The largest number comes to at least 2^21.988, so that a unit of the integers is at
// most 2^-21.988 of a or b. Rounding an operand loses half a unit: 2^-21.988 a b of a product for both operands. Three
// products of digits are not made, two of the weight 256 and one of the weight 1, with digits of at most 128 each: (2 *
// 256 + 1) * 128^2 products of units, 2^-20.97 a b. Together they are less than 12.2 eps a b for each of K products.
// The sums of digits are exact. Two roundings make a float of them, and every 128 k may add a partial sum to others:
// these are fewer than 2 sqrt(K) up to K = 65536, from where on blocks have longer parts. Elements that are computed in
// single precision have the bound of fp32.
//
// Chapter 14 adds up products of parts of K. A part has scales of its own, which its own largest numbers decide. They
// are at most a and b, so that the terms of all parts together are at most 12.2 K eps a b. The additions of so many
// parts as a grid has are among those of c(K).
//
// Underflow adds an absolute error instead of a relative one: each product may lose up to half of the smallest
// subnormal number, 2^-149, before it is multiplied by alpha, and the last products by alpha and beta the same once
// more. (1 + |alpha|) (K + 2) 2^-149 is above their sum.
//
// A kernel of TF32 precision is still told from an FP32 one where the bound is smaller than TF32's errors. For data
// uniform on (-1, 1) an operand's rounding error has a variance of 0.19 * 2^-24, so that a sum of K products is off by
// 0.36 sqrt(K) 2^-12 (standard deviation), while |A||B| is near K / 4 and the bound near K sqrt(K) / 2 * 2^-24. The
// error of the worst of a million elements, 5 standard deviations, is above the bound while K is below about 14000;
// K = 8192 is safe to rely on. For longer sums the relative Frobenius error, near 2^-12 for TF32 at every K and at most
// about 0.3 sqrt(K) eps for FP32 (5e-6 at K = 65536), still tells the two apart.

#include "verify/verify.hpp"

#include "base/counter_random.hpp"
#include "problem/batch.hpp"
#include "verify/verify_element.hpp"
#include "verify/verify_parts.hpp"

#include <cblas.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace sgemm {
namespace {

constexpr double EPS = 0x1p-24;
constexpr double SMALLEST_SUBNORMAL = 0x1p-149;

std::vector<std::int64_t> one_in_every_band(std::int64_t extent, std::int64_t band, const CounterRandom& random) {
  std::vector<std::int64_t> chosen = {0};
  for (std::int64_t start = 0; start < extent; start += band) {
    const auto length = static_cast<std::uint64_t>(std::min(band, extent - start));
    chosen.push_back(start + static_cast<std::int64_t>(random(static_cast<std::uint64_t>(start)) % length));
  }
  chosen.push_back(extent - 1);
  std::sort(chosen.begin(), chosen.end());
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  return chosen;
}

int blas_int(std::int64_t value) {
  if (value > std::numeric_limits<int>::max()) {
    throw std::length_error("the host's BLAS takes dimensions as 32-bit integers");
  }
  return static_cast<int>(value);
}

std::vector<std::int64_t> all_up_to(std::int64_t count) {
  std::vector<std::int64_t> indices(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    indices[static_cast<std::size_t>(i)] = i;
  }
  return indices;
}

/// The reference for the elements where some rows and some columns of C cross.
class Part {
 public:
  Part(const Problem& problem, std::vector<std::int64_t> rows, std::vector<std::int64_t> columns,
       std::size_t workspace_bytes)
      : rows_(std::move(rows)),
        columns_(std::move(columns)),
        values_(rows_.size() * columns_.size()),
        magnitudes_(rows_.size() * columns_.size()),
        largest_of_rows_(rows_.size()),
        largest_of_columns_(columns_.size()) {
    if (problem.beta != 0.0F) {
      add_c0(problem);
    }
    if (!reads_no_operands(problem)) {
      add_products(problem, workspace_bytes);
    }
  }

  void compare(const float* c, std::int64_t ldc, std::int64_t n, const ErrorBound& bound, Tally& tally) const {
    std::size_t element = 0;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      for (std::size_t j = 0; j < columns_.size(); ++j) {
        const Terms terms{magnitudes_[element], largest_of_rows_[i] * largest_of_columns_[j]};
        tally.add(c[rows_[i] * ldc + columns_[j]], values_[element], terms, bound, rows_[i] * n + columns_[j]);
        ++element;
      }
    }
  }

 private:
  void add_c0(const Problem& problem) {
    std::size_t element = 0;
    for (const std::int64_t row : rows_) {
      for (const std::int64_t column : columns_) {
        const double term = static_cast<double>(problem.beta) * problem.c[row * problem.ldc + column];
        values_[element] += term;
        magnitudes_[element] += std::fabs(term);
        ++element;
      }
    }
  }

  void add_products(const Problem& problem, std::size_t workspace_bytes) {
    const std::int64_t lines = static_cast<std::int64_t>(rows_.size() + columns_.size());
    const std::int64_t depth = panel_depth(problem.k, lines, sizeof(double), workspace_bytes);
    std::vector<double> a(rows_.size() * static_cast<std::size_t>(depth));
    std::vector<double> b(columns_.size() * static_cast<std::size_t>(depth));
    for (std::int64_t start = 0; start < problem.k; start += depth) {
      const std::int64_t length = std::min(depth, problem.k - start);
      auto element = a.begin();
      for (const std::int64_t row : rows_) {
        for (std::int64_t k = start; k < start + length; ++k) {
          *element++ = problem.a[problem.transposed_a ? k * problem.lda + row : row * problem.lda + k];
        }
      }
      element = b.begin();
      for (std::int64_t k = start; k < start + length; ++k) {
        for (const std::int64_t column : columns_) {
          *element++ = problem.b[problem.transposed_b ? column * problem.ldb + k : k * problem.ldb + column];
        }
      }
      multiply_add(problem.alpha, a, b, length, values_);
      const auto magnitude = [](double x) { return std::fabs(x); };
      std::transform(a.begin(), a.end(), a.begin(), magnitude);
      std::transform(b.begin(), b.end(), b.begin(), magnitude);
      multiply_add(std::fabs(problem.alpha), a, b, length, magnitudes_);
      find_largest(a, b, length);
    }
  }

  /// Raises the largest numbers to those of a panel of magnitudes.
  void find_largest(const std::vector<double>& a, const std::vector<double>& b, std::int64_t depth) {
    auto element = a.begin();
    for (double& largest : largest_of_rows_) {
      largest = std::max(largest, *std::max_element(element, element + depth));
      element += depth;
    }
    element = b.begin();
    for (std::int64_t k = 0; k < depth; ++k) {
      for (double& largest : largest_of_columns_) {
        largest = std::max(largest, *element++);
      }
    }
  }

  void multiply_add(double alpha, const std::vector<double>& a, const std::vector<double>& b, std::int64_t depth,
                    std::vector<double>& sum) const {
    const int m = blas_int(static_cast<std::int64_t>(rows_.size()));
    const int n = blas_int(static_cast<std::int64_t>(columns_.size()));
    const int k = blas_int(depth);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, alpha, a.data(), k, b.data(), n, 1.0, sum.data(),
                n);
  }

  std::vector<std::int64_t> rows_;
  std::vector<std::int64_t> columns_;
  std::vector<double> values_;              ///< alpha * A * B + beta * C0, row-major
  std::vector<double> magnitudes_;          ///< |alpha| |A| |B| + |beta| |C0|
  std::vector<double> largest_of_rows_;     ///< of A, magnitudes
  std::vector<double> largest_of_columns_;  ///< of B
};

class HostReference : public Reference {
 public:
  HostReference(const Problem& problem, std::uint64_t seed, const Coverage& coverage, Roundings roundings)
      : n_(problem.n),
        k_(problem.k),
        alpha_(problem.alpha),
        roundings_(roundings),
        full_(covers_everything(problem, coverage)) {
    const auto add_part = [&](std::vector<std::int64_t> rows, std::vector<std::int64_t> columns) {
      parts_.emplace_back(problem, std::move(rows), std::move(columns), coverage.workspace_bytes);
    };
    if (full_) {
      add_part(all_up_to(problem.m), all_up_to(problem.n));
      return;
    }
    Samples samples = make_samples(problem, coverage.band, seed);
    add_part(std::move(samples.rows), all_up_to(problem.n));
    add_part(all_up_to(problem.m), std::move(samples.columns));
  }

  Verdict check(const float* c, std::int64_t ldc, AccuracyClass accuracy) const override {
    Tally tally;
    for (const Part& part : parts_) {
      part.compare(c, ldc, n_, error_bound(accuracy, k_, alpha_, roundings_), tally);
    }
    return to_verdict(tally, n_, full_);
  }

  bool full() const override { return full_; }

 private:
  std::int64_t n_;
  std::int64_t k_;
  float alpha_;
  Roundings roundings_;
  bool full_;
  std::vector<Part> parts_;
};

/// The references of all products of a batch.
class BatchReference : public Reference {
 public:
  BatchReference(const Problem& batch, Platform platform, std::uint64_t seed, const Coverage& coverage,
                 Roundings roundings)
      : m_(batch.m) {
    for (std::int64_t index = 0; index < batch.batch; ++index) {
      products_.push_back(Reference::compute(product_of(batch, index), platform, seed, coverage, roundings));
    }
  }

  Verdict check(const float* c, std::int64_t ldc, AccuracyClass accuracy) const override {
    Verdict all;
    std::int64_t index = 0;
    for (const std::unique_ptr<Reference>& product : products_) {
      Verdict verdict = product->check(c + index * m_ * ldc, ldc, accuracy);
      verdict.first_wrong_product = index;
      all.join(verdict);
      ++index;
    }
    return all;
  }

  bool full() const override { return products_.front()->full(); }

 private:
  std::int64_t m_;
  std::vector<std::unique_ptr<Reference>> products_;
};

}  // namespace

double bound_factor(AccuracyClass accuracy, std::int64_t k, Roundings roundings) {
  const double depth = static_cast<double>(k);
  const double sum = 4.0 + (roundings == Roundings::independent ? 2.0 * std::sqrt(depth) : depth);
  constexpr double TF32_OPERAND = 0x1p13;
  constexpr double SPLIT_PRODUCT = 8.0;
  constexpr double SUM_OF_16_K_IN_TENSOR_CORE = 80.0;
  constexpr double SUM_OF_64_K_IN_TENSOR_CORE = 136.0;
  switch (accuracy) {
    case AccuracyClass::fp32:
    case AccuracyClass::int8_split:
      return sum;
    case AccuracyClass::fp32_split:
      return SPLIT_PRODUCT + SUM_OF_16_K_IN_TENSOR_CORE + sum;
    case AccuracyClass::bf16_split:
    case AccuracyClass::fp16_split:
      return SPLIT_PRODUCT + SUM_OF_64_K_IN_TENSOR_CORE + sum;
    case AccuracyClass::tf32:
      break;
  }
  return 2.0 * TF32_OPERAND + sum;
}

double largest_factor(AccuracyClass accuracy, std::int64_t k) {
  constexpr double INT8_DIGITS = 12.2;
  return accuracy == AccuracyClass::int8_split ? INT8_DIGITS * static_cast<double>(k) : 0.0;
}

ErrorBound error_bound(AccuracyClass accuracy, std::int64_t k, float alpha, Roundings roundings) {
  return {bound_factor(accuracy, k, roundings) * EPS,
          (1.0 + std::fabs(alpha)) * (static_cast<double>(k) + 2.0) * SMALLEST_SUBNORMAL,
          std::fabs(alpha) * largest_factor(accuracy, k) * EPS};
}

bool covers_everything(const Problem& problem, const Coverage& coverage) {
  return flops(problem) / 2.0 <= coverage.max_full_products &&
         static_cast<double>(problem.m) * static_cast<double>(problem.n) <=
             static_cast<double>(coverage.max_full_elements);
}

Samples make_samples(const Problem& problem, std::int64_t band, std::uint64_t seed) {
  return {one_in_every_band(problem.m, band, CounterRandom(seed, RandomStream::sampled_rows)),
          one_in_every_band(problem.n, band, CounterRandom(seed, RandomStream::sampled_columns))};
}

std::int64_t panel_depth(std::int64_t k, std::int64_t lines, std::size_t element_bytes, std::size_t workspace_bytes) {
  const std::size_t affordable = workspace_bytes / (static_cast<std::size_t>(lines) * element_bytes);
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(affordable), 1, std::max<std::int64_t>(k, 1));
}

Verdict to_verdict(const Tally& tally, std::int64_t columns, bool full) {
  Verdict verdict;
  verdict.full = full;
  verdict.compared = tally.compared;
  verdict.wrong = tally.wrong;
  verdict.non_finite = tally.non_finite;
  verdict.non_finite_wrong = tally.non_finite_wrong;
  verdict.max_bound_ratio = tally.max_bound_ratio;
  verdict.componentwise_err = tally.max_scaled_error;
  verdict.reference_squares = tally.reference_squares;
  if (tally.error_squares > 0.0) {
    verdict.rel_err = std::sqrt(tally.error_squares / tally.reference_squares);  // Inf against a reference of zeros
  }
  if (tally.reference_squares > 0.0) {
    verdict.condition = std::sqrt(tally.magnitude_squares / tally.reference_squares);
  }
  if (tally.wrong > 0) {
    verdict.first_wrong_row = tally.first_wrong / columns;
    verdict.first_wrong_col = tally.first_wrong % columns;
    verdict.first_wrong_value = tally.first_wrong_value;
    verdict.first_wrong_expected = tally.first_wrong_expected;
    verdict.first_wrong_bound = tally.first_wrong_bound;
  }
  return verdict;
}

void Verdict::join(const Verdict& other) {
  if (other.compared == 0) {
    return;
  }
  if (compared == 0) {
    *this = other;
    return;
  }
  const double squares = reference_squares + other.reference_squares;
  const auto joined = [&](double mine, double others) {
    return std::sqrt((mine * mine * reference_squares + others * others * other.reference_squares) / squares);
  };
  if (squares > 0.0) {
    rel_err = joined(rel_err, other.rel_err);
    condition = joined(condition.value_or(0.0), other.condition.value_or(0.0));
  } else {
    rel_err = std::max(rel_err, other.rel_err);
  }
  reference_squares = squares;
  max_bound_ratio = std::max(max_bound_ratio, other.max_bound_ratio);
  componentwise_err = std::max(componentwise_err, other.componentwise_err);
  if (wrong == 0) {
    first_wrong_product = other.first_wrong_product;
    first_wrong_row = other.first_wrong_row;
    first_wrong_col = other.first_wrong_col;
    first_wrong_value = other.first_wrong_value;
    first_wrong_expected = other.first_wrong_expected;
    first_wrong_bound = other.first_wrong_bound;
  }
  full = full && other.full;
  compared += other.compared;
  wrong += other.wrong;
  non_finite += other.non_finite;
  non_finite_wrong += other.non_finite_wrong;
}

std::string Verdict::describe() const {
  if (compared == 0) {
    return "nothing was compared";
  }
  if (wrong == 0) {
    return fmt::format("{} elements right, relative error {:.2g}, at most {:.2g} of the bound", compared, rel_err,
                       max_bound_ratio);
  }
  const std::string product = first_wrong_product ? fmt::format(" of product {}", *first_wrong_product) : "";
  return fmt::format("{} of {} elements wrong, first C[{}][{}]{} = {:.9g}, expected {:.9g} (bound {:.2g})", wrong,
                     compared, first_wrong_row, first_wrong_col, product, first_wrong_value, first_wrong_expected,
                     first_wrong_bound);
}

std::unique_ptr<Reference> Reference::compute(const Problem& problem, Platform platform, std::uint64_t seed,
                                              const Coverage& coverage, Roundings roundings) {
  if (problem.batch > 1) {
    return std::make_unique<BatchReference>(problem, platform, seed, coverage, roundings);
  }
  if (platform == Platform::gpu) {
    return compute_gpu_reference(problem, seed, coverage, roundings);
  }
  return std::make_unique<HostReference>(problem, seed, coverage, roundings);
}

}  // namespace sgemm
