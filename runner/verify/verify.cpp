// Verification against double precision on the host, and the error bounds, which docs/accuracy.md derives.

#include "verify/verify.hpp"

#include "base/counter_random.hpp"
#include "problem/batch.hpp"
#include "verify/verify_element.hpp"
#include "verify/verify_parts.hpp"

#include <cblas.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace sgemm {
namespace {

constexpr double EPS = 0x1p-24;
constexpr double SMALLEST_SUBNORMAL = 0x1p-149;

std::vector<std::int64_t> one_in_every_band(std::int64_t extent, std::int64_t band, const CounterRandom& random) {
  std::set<std::int64_t> chosen{0, extent - 1};
  for (std::int64_t start = 0; start < extent; start += band) {
    const auto length = static_cast<std::uint64_t>(std::min(band, extent - start));
    chosen.insert(start + static_cast<std::int64_t>(random(static_cast<std::uint64_t>(start)) % length));
  }
  return {chosen.begin(), chosen.end()};
}

int blas_int(std::int64_t value) {
  if (value > std::numeric_limits<int>::max()) {
    throw std::length_error("the host's BLAS takes dimensions as 32-bit integers");
  }
  return static_cast<int>(value);
}

std::vector<std::int64_t> all_up_to(std::int64_t count) {
  std::vector<std::int64_t> indices(static_cast<std::size_t>(count));
  std::iota(indices.begin(), indices.end(), 0);
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

class HostReference : public ProductReference {
 public:
  HostReference(const Problem& problem, std::uint64_t seed, const Coverage& coverage, Roundings roundings)
      : ProductReference(problem, coverage, roundings) {
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
      part.compare(c, ldc, n_, bound(accuracy), tally);
    }
    return to_verdict(tally, n_, full_);
  }

 private:
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
    case AccuracyClass::fp32_strassen:
      return 2.0 * sum;
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
  constexpr double SUMS_OF_BLOCKS = 16.0;
  return (accuracy == AccuracyClass::int8_split      ? INT8_DIGITS
          : accuracy == AccuracyClass::fp32_strassen ? SUMS_OF_BLOCKS
                                                     : 0.0) *
         static_cast<double>(k);
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
  Verdict verdict{tally, full, {}};
  if (tally.wrong > 0) {
    verdict.first_wrong_row = tally.first_wrong / columns;
    verdict.first_wrong_col = tally.first_wrong % columns;
  }
  return verdict;
}

double Verdict::rel_err() const { return error_squares > 0.0 ? std::sqrt(error_squares / reference_squares) : 0.0; }

std::optional<double> Verdict::condition() const {
  return reference_squares > 0.0 ? std::optional(std::sqrt(magnitude_squares / reference_squares)) : std::nullopt;
}

void Verdict::join(const Verdict& other) {
  if (other.compared == 0) {
    return;
  }
  Verdict joined = wrong > 0 ? *this : other;  // whose first wrong element stays the first
  Tally rest = wrong > 0 ? other : *this;
  rest.first_wrong = NONE;
  joined.merge(rest);
  joined.full = other.full && (compared == 0 || full);
  *this = joined;
}

std::string Verdict::describe() const {
  if (compared == 0) {
    return "nothing was compared";
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
