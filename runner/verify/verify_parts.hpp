#pragma once

// The code that the host's and the GPU's references share, besides the check of an element.

#include "verify/verify.hpp"
#include "verify/verify_element.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace sgemm {

/// Whether the sum over k is empty or multiplied by 0, so that A and B are not read and C becomes beta * C0.
inline bool reads_no_operands(const Problem& problem) { return problem.alpha == 0.0F || problem.k == 0; }

bool covers_everything(const Problem& problem, const Coverage& coverage);

/// Rows and columns of C that a sampled reference covers, ascending.
struct Samples {
  std::vector<std::int64_t> rows;
  std::vector<std::int64_t> columns;
};
Samples make_samples(const Problem& problem, std::int64_t band, std::uint64_t seed);

/// The number of columns of A and rows of B, of all k, that are copied at a time. `lines` is the number of rows of A
/// and columns of B together, and `element_bytes` the size of an element. The result is at least 1.
std::int64_t panel_depth(std::int64_t k, std::int64_t lines, std::size_t element_bytes, std::size_t workspace_bytes);

ErrorBound error_bound(AccuracyClass accuracy, std::int64_t k, float alpha, Roundings roundings);

/// `columns` is the number of columns of C; `full` is Verdict::full.
Verdict to_verdict(const Tally& tally, std::int64_t columns, bool full);

/// A reference of one product.
class ProductReference : public Reference {
 protected:
  ProductReference(const Problem& problem, const Coverage& coverage, Roundings roundings)
      : n_(problem.n),
        full_(covers_everything(problem, coverage)),
        k_(problem.k),
        alpha_(problem.alpha),
        roundings_(roundings) {}

  ErrorBound bound(AccuracyClass accuracy) const { return error_bound(accuracy, k_, alpha_, roundings_); }

  const std::int64_t n_;
  const bool full_;

 private:
  const std::int64_t k_;
  const float alpha_;
  const Roundings roundings_;
};

/// Reference::compute for operands in device memory.
std::unique_ptr<Reference> compute_gpu_reference(const Problem& problem, std::uint64_t seed, const Coverage& coverage,
                                                 Roundings roundings);

}  // namespace sgemm
