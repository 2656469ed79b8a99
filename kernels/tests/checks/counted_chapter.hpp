#pragma once

// Products by chapters that are counted.

#include "common/problem.hpp"
#include "counted_product.hpp"

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace sgemm::test {

using simt::LaunchCounts;
using simt::test::expect_same;
using simt::test::NEVER_WHOLE;
using simt::test::SAMPLED;
using simt::test::WHOLE;

/// A product of so many rows, columns and steps, and how it is counted.
class CountedProduct {
 public:
  CountedProduct(std::int64_t m, std::int64_t n, std::int64_t k, float beta = 0.0F)
      : matrices_(m, n, k), problem_{{m, n, k, 1.5F, beta}, matrices_.a(), k, matrices_.b(), n, matrices_.c(), n} {}

  /// Those of the first launch.
  LaunchCounts count(const std::function<void(const Problem&)>& launch, const simt::CountingLimits& limits) const {
    return std::move(count_all(launch, limits).front());
  }
  std::vector<LaunchCounts> count_all(const std::function<void(const Problem&)>& launch,
                                      const simt::CountingLimits& limits) const {
    return matrices_.count([&] { launch(problem_); }, limits);
  }
  const Problem& problem() const { return problem_; }

 private:
  simt::test::CountedMatrices matrices_;
  Problem problem_;
};

}  // namespace sgemm::test
