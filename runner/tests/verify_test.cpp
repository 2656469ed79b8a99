// The verifier on the host: what it accepts, and the wrong results that it has to reject.

#include "verify/verify.hpp"

#include "expectations.hpp"
#include "fixtures/reference_case.hpp"
#include "fixtures/split_cases.hpp"
#include "problem/batch.hpp"
#include "problem/operands.hpp"
#include "verify/accuracy.hpp"
#include "verify/verify_element.hpp"
#include "verify/verify_parts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>
#include <sstream>
#include <utility>
#include <vector>

namespace sgemm::test {
namespace {

constexpr double NAN_DOUBLE = std::numeric_limits<double>::quiet_NaN();
constexpr double INF = std::numeric_limits<double>::infinity();
constexpr float NAN_FLOAT = HostCase::NAN_FLOAT;

/// Rounded to the nearest number with 10 mantissa bits.
float rounded_to_tf32(float x) {
  constexpr std::uint32_t HALF = 1U << 12U;
  return std::bit_cast<float>((std::bit_cast<std::uint32_t>(x) + HALF) >> 13U << 13U);
}

/// A single-precision product, written to C as a kernel does. `operand` is applied to every element of A and B.
template <class Operand>
void multiply(const Problem& p, const Operand& operand) {
  for (std::int64_t i = 0; i < p.m; ++i) {
    for (std::int64_t j = 0; j < p.n; ++j) {
      float sum = 0.0F;
      for (std::int64_t k = 0; k < p.k && p.alpha != 0.0F; ++k) {
        sum += operand(p.a[i * p.lda + k]) * operand(p.b[k * p.ldb + j]);
      }
      float& c = p.c[i * p.ldc + j];
      c = p.beta == 0.0F ? p.alpha * sum : p.alpha * sum + p.beta * c;
    }
  }
}

float unchanged(float x) { return x; }

Coverage sampled() {
  Coverage coverage;
  coverage.max_full_products = 0.0;
  return coverage;
}

/// A problem, a right result in single precision, and its reference.
struct Fixture : ReferenceCase {
  explicit Fixture(const ProductCase& product, const Coverage& coverage = {})
      : ReferenceCase(product, coverage), c(host.c) {
    multiply(host.problem(c), unchanged);
  }

  Verdict check(AccuracyClass accuracy = AccuracyClass::fp32) const {
    return reference->check(c.data(), c.ld(), accuracy);
  }

  /// Computes C anew, of a problem that is not the same.
  void compute(void (*change)(Problem&)) {
    c = host.c;
    Problem other = host.problem(c);
    change(other);
    multiply(other, unchanged);
  }

  Matrix c;
};

/// docs/accuracy.md says why.
TEST(Accuracy, ClassesPromiseWhatThePageSays) {
  expect_answers("accuracy.txt", [](const std::string& line) {
    std::istringstream words(line);
    std::string name;
    std::int64_t k = 0;
    words >> name;
    const AccuracyClass accuracy = accuracy_named(name).value();
    if (words >> k) {
      return fmt::format("{} eps, {} without an assumption, and {} for the largest numbers", bound_factor(accuracy, k),
                         bound_factor(accuracy, k, Roundings::any), largest_factor(accuracy, k));
    }
    std::string unpromised = "all";
    for (const Distribution data : KINDS) {
      unpromised += promises(accuracy, data) ? "" : fmt::format(" -{}", to_string(data));
    }
    return unpromised;
  });
  for (const Distribution data : KINDS) {
    EXPECT_EQ(roundings_of(data) == Roundings::any, data == Distribution::lognormal4);
  }
}

TEST(ElementTest, IsRightWhereThePageSaysSo) {
  expect_answers("elements.txt", [](const std::string& line) {
    double got = 0.0;
    double expected = 0.0;
    double bound = 0.0;
    EXPECT_EQ(std::sscanf(line.c_str(), "%lf for %lf within %lf", &got, &expected, &bound), 3) << line;
    return is_wrong(got, expected, bound) ? "wrong" : "right";
  });
}

TEST(TallyTest, MeasuresErrorsOfFiniteElementsAndMergesInAnyOrder) {
  const ErrorBound bound{0.25, 0.0};
  Tally one;
  one.add(3.0, 4.0, {8.0}, bound, 0);
  one.add(INF, INF, {INF}, bound, 2);
  one.add(-INF, INF, {INF}, bound, 7);
  Tally two;
  two.add(NAN_DOUBLE, 1.0, {1.0}, bound, 3);
  two.add(-3.0, -3.0, {6.0}, bound, 4);
  Tally forward = one;
  forward.merge(two);
  Tally backward = two;
  backward.merge(one);
  for (const Tally& merged : {forward, backward}) {
    EXPECT_EQ(merged.compared, 5);
    EXPECT_EQ(merged.wrong, 2);
    EXPECT_EQ(merged.non_finite, 2);
    EXPECT_EQ(merged.non_finite_wrong, 2);
    EXPECT_EQ(merged.first_wrong, 3);
    EXPECT_TRUE(std::isnan(merged.first_wrong_value));
    EXPECT_DOUBLE_EQ(merged.first_wrong_expected, 1.0);
    EXPECT_DOUBLE_EQ(merged.first_wrong_bound, 0.25);
    EXPECT_DOUBLE_EQ(merged.max_bound_ratio, 0.5);
    EXPECT_DOUBLE_EQ(merged.componentwise_err, 0.125);
    const Verdict verdict = to_verdict(merged, 5, true);
    EXPECT_DOUBLE_EQ(verdict.rel_err(), 0.2);
    EXPECT_DOUBLE_EQ(*verdict.condition(), 2.0);
    EXPECT_TRUE(verdict.full);
  }
}

TEST(TallyTest, BoundLooksAtTheLargestNumbersWhereItsClassDoes) {
  const ErrorBound plain{0.25, 0.5};
  const ErrorBound of_integers{0.25, 0.5, 0.125};
  EXPECT_DOUBLE_EQ(plain.of({4.0, 8.0}), 1.5);
  EXPECT_DOUBLE_EQ(plain.of({4.0, INF}), 1.5);
  EXPECT_DOUBLE_EQ(of_integers.of({4.0, 8.0}), 2.5);
}

TEST(TallyTest, WhereAllTermsAreZeroAnElementMustBeExact) {
  const ErrorBound bound{0.25, 1e-40};
  Tally exact;
  exact.add(-0.0, 0.0, {0.0}, bound, 0);
  EXPECT_EQ(exact.wrong, 0);
  EXPECT_EQ(exact.componentwise_err, 0.0);
  EXPECT_FALSE(to_verdict(exact, 1, true).condition());
  Tally off;
  off.add(0x1p-149, 0.0, {0.0}, bound, 0);
  EXPECT_EQ(off.wrong, 1);
  EXPECT_EQ(off.componentwise_err, INF);
}

TEST(SamplesTest, HaveOneLineInEveryBandAndTheEdges) {
  Problem problem;
  problem.m = 1000;
  problem.n = 37;
  const Samples samples = make_samples(problem, 16, 5);
  for (const auto& [lines, extent] : {std::pair(samples.rows, problem.m), std::pair(samples.columns, problem.n)}) {
    EXPECT_EQ(lines.front(), 0);
    EXPECT_EQ(lines.back(), extent - 1);
    EXPECT_TRUE(std::ranges::is_sorted(lines));
    EXPECT_EQ(std::ranges::adjacent_find(lines), lines.end());
    for (std::int64_t band = 0; band < extent; band += 16) {
      EXPECT_TRUE(std::ranges::any_of(lines, [&](std::int64_t x) { return x >= band && x < band + 16; }));
    }
  }
  EXPECT_LE(samples.rows.size(), 65U);
  EXPECT_EQ(samples.rows, make_samples(problem, 16, 5).rows);
  EXPECT_NE(samples.rows, make_samples(problem, 16, 6).rows);
}

TEST(PanelDepthTest, StaysInsideTheWorkspace) {
  EXPECT_EQ(panel_depth(4096, 16384, 8, std::size_t{1} << 29U), 4096);
  EXPECT_EQ(panel_depth(16384, 32768, 8, std::size_t{1} << 29U), 2048);
  EXPECT_EQ(panel_depth(100, 1000000, 8, 1), 1);
  EXPECT_EQ(panel_depth(0, 10, 8, 1000), 1);
}

TEST(VerifierTest, AcceptsSinglePrecisionForEveryKindOfCase) {
  for (const Coverage& coverage : {Coverage{}, sampled()}) {
    for (const CaseGroup& group : case_groups(3'000'000)) {
      for (const ProductCase& product : group.cases) {
        SCOPED_TRACE(product.describe());
        const Fixture fixture(product, coverage);
        const Verdict verdict = fixture.check();
        EXPECT_TRUE(verdict.correct()) << verdict.describe();
        EXPECT_LE(verdict.max_bound_ratio, 1.0);
        EXPECT_LT(verdict.rel_err(), 1e-5);
      }
    }
  }
}

/// So that what a kernel has wrong there is its own doing.
TEST(VerifierTest, AcceptsSinglePrecisionWhereOperandsAreHardToSplit) {
  std::size_t groups = 0;
  for (const CaseGroup& group : split_case_groups(AccuracyClass::bf16_split, FEW_PRODUCTS, shapes_of_this_run())) {
    ++groups;
    for (const ProductCase& product : group.cases) {
      SCOPED_TRACE(product.describe());
      Fixture fixture(product);
      const Verdict verdict = fixture.check();
      EXPECT_TRUE(verdict.correct()) << verdict.describe();
      EXPECT_EQ(verdict.non_finite > 0, group.name == "non_finite_scales");
      EXPECT_EQ(product.m > 129 && std::isinf(fixture.c.at(129, 0)), product.change.name == "sums_beyond_flt_max");
    }
  }
  EXPECT_EQ(groups, 8U);
  EXPECT_EQ(split_case_groups(AccuracyClass::fp16_split, FEW_PRODUCTS, shapes_of_this_run()).size(), groups - 1);
  EXPECT_TRUE(split_case_groups(AccuracyClass::fp32, FEW_PRODUCTS, shapes_of_this_run()).empty());
}

/// One number of a row of A and one of a column of B, 2^20 times the others, allow an error in the elements of that row
/// and that column, in samples that have all rows as well.
TEST(VerifierTest, IntegersMayLoseWhatIsSmallBesideTheLargestNumbers) {
  ProductCase product{20, 24, 100};
  product.change.apply = [](HostCase& host) {
    host.a.at(3, 99) = 0x1p20F;
    host.b.at(99, 5) = 0.0F;
    host.b.at(98, 5) = 0x1p20F;
    host.a.at(3, 98) = 0.0F;
  };
  Coverage all_rows = sampled();
  all_rows.band = 1;
  for (const Coverage& coverage : {Coverage{}, all_rows}) {
    Fixture fixture(product, coverage);
    EXPECT_TRUE(fixture.check(AccuracyClass::int8_split).correct());
    fixture.c.at(3, 5) += 0x1p20F;
    EXPECT_TRUE(fixture.check(AccuracyClass::int8_split).correct());
    EXPECT_FALSE(fixture.check(AccuracyClass::fp16_split).correct());
    fixture.c.at(4, 6) += 0.01F;
    EXPECT_FALSE(fixture.check(AccuracyClass::int8_split).correct());
  }
}

/// Operands that `change` makes of uniform ones.
template <class Change>
void change_operands(HostCase& host, const Change& change) {
  std::ranges::transform(host.a.storage(), host.a.storage().begin(), change);
  std::ranges::transform(host.b.storage(), host.b.storage().begin(), change);
}

TEST(VerifierTest, AcceptsLongSumsOfPositiveData) {
  for (const std::int64_t k : {1, 64, 4096, 65536}) {
    ProductCase product{8, 8, k};
    product.change.apply = [](HostCase& host) { change_operands(host, [](float x) { return std::fabs(x); }); };
    const Verdict verdict = Fixture(product).check();
    EXPECT_TRUE(verdict.correct()) << verdict.describe();
    EXPECT_LT(verdict.max_bound_ratio, 0.75);
  }
}

TEST(VerifierTest, AcceptsResultsThatUnderflow) {
  ProductCase product{8, 8, 32};
  product.change.apply = [](HostCase& host) { change_operands(host, [](float x) { return x * 0x1p-72F; }); };
  const Verdict verdict = Fixture(product).check();
  EXPECT_TRUE(verdict.correct()) << verdict.describe();
}

TEST(VerifierTest, ErrorsAreInUnitsOfTheTermsScaledByAlphaAndBeta) {
  for (const Coverage& coverage : {Coverage{}, sampled()}) {
    for (const bool scaled : {false, true}) {
      HostCase host(scaled ? ProductCase{1, 2, 2, -0.25F, 0.5F} : ProductCase{1, 2, 2});
      host.a.assign({2.0F, -1.0F});
      host.b.assign({3.0F, 5.0F, 2.0F, 8.0F});  // A B = (4 2), |A| |B| = (8 18)
      host.c.assign({4.0F, -2.0F});             // with it the terms' magnitudes are (4 5.5)
      Matrix c = host.c;
      const auto reference = Reference::compute(host.problem(c), Platform::cpu, 1, coverage);
      const auto check = [&](const std::vector<float>& result) {
        c.assign(result);
        return reference->check(c.data(), c.ld(), AccuracyClass::fp32);
      };
      const Verdict exact = check(scaled ? std::vector{1.0F, -1.5F} : std::vector{4.0F, 2.0F});
      EXPECT_EQ(exact.rel_err(), 0.0);
      EXPECT_EQ(exact.componentwise_err, 0.0);
      EXPECT_DOUBLE_EQ(*exact.condition(), scaled ? std::sqrt((16.0 + 30.25) / (1.0 + 2.25)) : std::sqrt(388.0 / 20.0));
      EXPECT_EQ(exact.full, coverage.max_full_products > 0.0);
      const Verdict wrong = check(scaled ? std::vector{1.0F, -1.0F} : std::vector{4.0F, 2.5F});
      EXPECT_FALSE(wrong.correct());
      EXPECT_DOUBLE_EQ(wrong.rel_err(), 0.5 / std::sqrt(scaled ? 1.0 + 2.25 : 20.0));
      EXPECT_DOUBLE_EQ(wrong.componentwise_err, 0.5 / (scaled ? 5.5 : 18.0));
    }
  }
}

/// A problem of a shape whose matrices lie without gaps, and its reference. C holds C0 at first.
struct PackedCase {
  explicit PackedCase(const Shape& shape, Distribution data = Distribution::uniform,
                      Roundings roundings = Roundings::independent, const Coverage& coverage = {})
      : operands(make_operands(shape, data, SEED)), c(operands.c0) {
    c.resize(elements_of_c(shape));
    problem = packed(shape, operands.a.data(), operands.b.data(), c.data());
    reference = Reference::compute(problem, Platform::cpu, SEED, coverage, roundings);
  }
  /// The verdict on the result of a plain loop over k, which knows of neither transposed operands nor batches.
  template <class Operand>
  Verdict check(const Operand& operand, AccuracyClass accuracy = AccuracyClass::fp32) {
    multiply(problem, operand);
    return compare(accuracy);
  }
  Verdict compare(AccuracyClass accuracy = AccuracyClass::fp32) const {
    return reference->check(c.data(), problem.ldc, accuracy);
  }
  /// Computes all products, of uniform operands: those that are not transposed have the same.
  void solve() {
    Shape plain = problem;
    plain.transposed_a = plain.transposed_b = false;
    const HostOperands same = make_operands(plain, Distribution::uniform, SEED);
    const Problem products = packed(plain, same.a.data(), same.b.data(), c.data());
    for (std::int64_t index = 0; index < plain.batch; ++index) {
      multiply(product_of(products, index), unchanged);
    }
  }

  static constexpr std::uint64_t SEED = 3;

  HostOperands operands;
  std::vector<float> c;
  Problem problem;
  std::unique_ptr<Reference> reference;
};

TEST(DistributionTest, EachPrecisionIsInsideItsBound) {
  for (const Distribution distribution : DISTRIBUTIONS) {
    SCOPED_TRACE(to_string(distribution));
    const Roundings roundings = roundings_of(distribution);
    const Verdict verdict = PackedCase({40, 30, 1000}, distribution, roundings).check(unchanged);
    EXPECT_TRUE(verdict.correct()) << verdict.describe();
    EXPECT_EQ(verdict.non_finite > 0, distribution == Distribution::inf || distribution == Distribution::nan);
    const Verdict tf32 =
        PackedCase({40, 30, 1000}, distribution, roundings).check(rounded_to_tf32, AccuracyClass::tf32);
    EXPECT_TRUE(tf32.correct() || !promises(AccuracyClass::tf32, distribution)) << tf32.describe();
  }
}

TEST(DistributionTest, IntegersAreExactInAnyPrecisionAndOneUnitIsSeen) {
  PackedCase exact({40, 30, 1000}, Distribution::integers);
  EXPECT_EQ(exact.check(unchanged).rel_err(), 0.0);
  EXPECT_EQ(exact.check(rounded_to_tf32, AccuracyClass::tf32).componentwise_err, 0.0);
  exact.c[77] += 1.0F;
  EXPECT_FALSE(exact.compare().correct());
}

TEST(DistributionTest, FlushedDenormalsAreSeen) {
  const auto flushed = [](float x) { return std::fpclassify(x) == FP_SUBNORMAL ? 0.0F : x; };
  const Verdict verdict = PackedCase({40, 30, 200}, Distribution::denormals).check(flushed);
  EXPECT_FALSE(verdict.correct());
  EXPECT_NEAR(verdict.rel_err(), std::sqrt(1.0 / 8.0), 0.02);  // what |u| < 1/2 has of the variance of u
  EXPECT_FALSE(PackedCase({40, 30, 200}, Distribution::denormals).check(flushed, AccuracyClass::tf32).correct());
}

// Roundings of one sign add up: what is far smaller than the partial sum is lost.
TEST(DistributionTest, LognormalSumsNeedTheWorstCaseBound) {
  const Shape shape{60, 60, 4096};
  EXPECT_FALSE(PackedCase(shape, Distribution::lognormal4).check(unchanged).correct());
  const Verdict verdict = PackedCase(shape, Distribution::lognormal4, Roundings::any).check(unchanged);
  EXPECT_TRUE(verdict.correct()) << verdict.describe();
  EXPECT_LT(verdict.max_bound_ratio, 0.2);
}

TEST(DistributionTest, PatternOfInfAndNanMustMatch) {
  for (const Distribution distribution : {Distribution::inf, Distribution::nan}) {
    PackedCase product({40, 30, 50}, distribution);
    EXPECT_EQ(product.check(unchanged).non_finite, 3 * 30);
    EXPECT_EQ(product.check(unchanged).non_finite_wrong, 0);
    product.c[std::size_t{16} * 30] = 1.0F;           // expected not to be finite
    product.c[std::size_t{17} * 30 + 3] = NAN_FLOAT;  // expected to be
    product.c[std::size_t{18} * 30] += 1.0F;          // finite, and wrong
    const Verdict verdict = product.compare();
    EXPECT_EQ(verdict.wrong, 3);
    EXPECT_EQ(verdict.non_finite_wrong, 2);
  }
  PackedCase signs({40, 30, 50}, Distribution::inf);
  signs.check(unchanged);
  signs.c[std::size_t{16} * 30] = -signs.c[std::size_t{16} * 30];
  EXPECT_EQ(signs.compare().non_finite_wrong, 1);
}

TEST(VerifierTest, PanelsAlongKGiveTheSameReference) {
  Coverage narrow;
  narrow.workspace_bytes = 10000;
  const ProductCase product{33, 29, 301, -2.5F, 1.0F};
  const Verdict whole = Fixture(product).check();
  const Verdict in_panels = Fixture(product, narrow).check();
  EXPECT_TRUE(in_panels.correct()) << in_panels.describe();
  EXPECT_NEAR(in_panels.rel_err(), whole.rel_err(), 1e-12);
}

TEST(VerifierTest, SamplesAboveEitherLimit) {
  EXPECT_TRUE(Fixture({40, 50, 60}).check().full);
  EXPECT_FALSE(Fixture({40, 50, 60}, sampled()).check().full);
  Coverage few_elements;
  few_elements.max_full_elements = 1999;
  EXPECT_FALSE(Fixture({40, 50, 60}, few_elements).check().full);
}

TEST(VerifierTest, RejectsWhatKernelsDoWrong) {
  using Spoil = void (*)(Fixture&);
  struct Row {
    Spoil spoil;
    std::int64_t least;  ///< elements that are wrong
    std::int64_t most;
    bool in_samples = true;
  };
  const std::vector<Row> rows{
      {[](Fixture& f) { std::swap(f.c.at(17, 20), f.c.at(17, 21)); }, 2, 2, false},
      {[](Fixture& f) { f.c.at(0, 0) = std::numeric_limits<float>::infinity(); }, 1, 1},
      {[](Fixture& f) { f.c.at(39, 49) = NAN_FLOAT; }, 1, 1},
      {[](Fixture& f) { std::swap_ranges(&f.c.at(4, 0), &f.c.at(4, 50), &f.c.at(5, 0)); }, 90, 100},
      {[](Fixture& f) { f.c.fill(NAN_FLOAT); }, 2000, 2000},
      {[](Fixture& f) { f.compute([](Problem& p) { p.k -= 1; }); }, 1900, 2000},
      {[](Fixture& f) { f.compute([](Problem& p) { p.beta = 1.0F; }); }, 1900, 2000},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(&row - rows.data());
    for (const bool full : {true, false}) {
      Fixture fixture({40, 50, 60, 1.0F, -2.5F}, full ? Coverage{} : sampled());
      row.spoil(fixture);
      const Verdict verdict = fixture.check();
      EXPECT_TRUE(!verdict.correct() || !(full || row.in_samples));
      EXPECT_TRUE(!full || (row.least <= verdict.wrong && verdict.wrong <= row.most)) << verdict.describe();
      EXPECT_EQ(verdict.max_bound_ratio > 1.0, verdict.wrong > verdict.non_finite_wrong);
    }
  }
}

TEST(VerifierTest, SamplesSeeEveryUnwrittenTile) {
  constexpr std::int64_t TILE = 16;
  const Fixture right({100, 90, 20}, sampled());
  for (std::int64_t row = 0; row < 100; row += TILE) {
    for (std::int64_t col = 0; col < 90; col += TILE) {
      Matrix c = right.c;
      for (std::int64_t i = row; i < std::min<std::int64_t>(row + TILE, 100); ++i) {
        for (std::int64_t j = col; j < std::min<std::int64_t>(col + TILE, 90); ++j) {
          c.at(i, j) = NAN_FLOAT;
        }
      }
      EXPECT_FALSE(right.reference->check(c.data(), c.ld(), AccuracyClass::fp32).correct());
    }
  }
}

TEST(VerifierTest, RejectsTf32PrecisionAsSinglePrecision) {
  for (const std::int64_t k : {64, 256, 1024, 2048, 8192}) {
    SCOPED_TRACE(k);
    Fixture fixture({64, 64, k});
    multiply(fixture.host.problem(fixture.c), rounded_to_tf32);
    EXPECT_FALSE(fixture.check().correct());
    EXPECT_GT(fixture.check().rel_err(), 1e-4);
    const Verdict verdict = fixture.check(AccuracyClass::tf32);
    EXPECT_TRUE(verdict.correct()) << verdict.describe();
  }
}

constexpr std::array<std::pair<bool, bool>, 4> TRANSPOSITIONS{
    {{false, false}, {false, true}, {true, false}, {true, true}}};

TEST(LayoutTest, TransposedOperandsAndBatchesHaveReferences) {
  for (const auto& [a, b] : TRANSPOSITIONS) {
    for (const std::int64_t batch : {1, 3}) {
      for (const Coverage& coverage : {Coverage{}, sampled()}) {
        PackedCase fixture({40, 50, 60, -1.5F, 0.5F, a, b, batch}, Distribution::uniform, Roundings::independent,
                           coverage);
        fixture.solve();
        const Verdict verdict = fixture.compare();
        EXPECT_TRUE(verdict.correct()) << verdict.describe();
        EXPECT_LT(verdict.rel_err(), 1e-6);
        EXPECT_EQ(verdict.full, coverage.max_full_products > 0.0);
        EXPECT_TRUE(!verdict.full || verdict.compared == batch * 40 * 50);
      }
    }
  }
}

TEST(LayoutTest, RejectsAKernelThatComputesTheFirstProductAlone) {
  const Verdict verdict = PackedCase({40, 50, 60, 1.0F, 0.5F, false, false, 3}).check(unchanged);
  EXPECT_GT(verdict.wrong, 3900);
  EXPECT_EQ(verdict.first_wrong_product, 1);
}

TEST(LayoutTest, FindsAWrongElementInAnyProduct) {
  for (const std::int64_t product : {0, 1, 2}) {
    PackedCase fixture({40, 50, 60, 1.0F, 0.5F, false, true, 3});
    fixture.solve();
    fixture.c[static_cast<std::size_t>((product * 40 + 17) * 50 + 20)] += 0.01F;
    const Verdict verdict = fixture.compare();
    EXPECT_EQ(verdict.wrong, 1);
    EXPECT_EQ(verdict.first_wrong_product, product);
    EXPECT_EQ(verdict.first_wrong_row, 17);
    EXPECT_EQ(verdict.first_wrong_col, 20);
    EXPECT_NE(verdict.describe().find("first C[17][20] of product " + std::to_string(product) + " = "),
              std::string::npos)
        << verdict.describe();
  }
}

TEST(VerifierTest, NothingComparedIsNotCorrect) { EXPECT_FALSE(Verdict{}.correct()); }

TEST(VerdictTest, DescribesItselfInOneLine) {
  Verdict verdict;
  EXPECT_EQ(verdict.describe(), "nothing was compared");
  verdict.compared = 4096;
  verdict.wrong = 17;
  verdict.first_wrong_row = 3;
  verdict.first_wrong_col = 5;
  verdict.first_wrong_value = NAN_DOUBLE;
  verdict.first_wrong_expected = 0.25;
  verdict.first_wrong_bound = 1e-6;
  EXPECT_EQ(verdict.describe(), "17 of 4096 elements wrong, first C[3][5] = nan, expected 0.25 (bound 1e-06)");
}

}  // namespace
}  // namespace sgemm::test
