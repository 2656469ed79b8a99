// The CPU path of the reproducible class against its definition, what the definition promises, and its error. Digests.

#include "reproducible/definition.hpp"
#include "base/usage_error.hpp"
#include "fixtures/product_case.hpp"
#include "fixtures/same_bits.hpp"
#include "problem/operands.hpp"
#include "reproducible/digest.hpp"
#include "verify/verify.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

namespace sgemm::test {
namespace {

TEST(Reproducible, BlocksOfTheCpuHaveTheBitsOfTheWholeDefinition) {
  RandomProducts random(2);
  for (int product = 0; product < 300; ++product) {
    const HostCase host = random.next(30, 30, 60);
    expect_blocks_of_the_whole(host, 5, random, [&](const Block& block, Matrix& c) {
      reproducible::product(block_of(host.problem(c), block));
    });
  }
}

TEST(Reproducible, TransposesAndBatchesHaveTheBitsOfSingleProducts) {
  for (const bool transposed_a : {false, true}) {
    for (const bool transposed_b : {false, true}) {
      Shape shape{9, 11, 35, -1.5F, 0.5F, transposed_a, transposed_b, 3};
      const HostOperands operands = make_operands(shape, Distribution::uniform, 7);
      std::vector<float> c = operands.c0;
      reproducible::product(packed(shape, operands.a.data(), operands.b.data(), c.data()));
      std::vector<float> defined = operands.c0;
      reproducible::reference(packed(shape, operands.a.data(), operands.b.data(), defined.data()));
      EXPECT_EQ(c, defined);
      for (std::uint64_t i = 0; i < 3; ++i) {
        const Shape single{9, 11, 35, -1.5F, 0.5F};
        const HostOperands own = make_operands(single, Distribution::uniform, 7 + i);
        std::vector<float> result = own.c0;
        reproducible::reference(packed(single, own.a.data(), own.b.data(), result.data()));
        EXPECT_TRUE(std::equal(result.begin(), result.end(), c.begin() + static_cast<std::ptrdiff_t>(i * 99)));
      }
    }
  }
}

TEST(Reproducible, WideAndEmptyProductsHaveTheBitsOfTheDefinition) {
  constexpr float INF = std::numeric_limits<float>::infinity();
  for (const ProductCase& product :
       {ProductCase{5, 531, 3}, ProductCase{2, 3, 0, INF}, ProductCase{2, 3, 0, -1.0F}, ProductCase{2, 3, 4, -0.0F}}) {
    const HostCase host(product);
    Matrix c = host.c;
    reproducible::product(host.problem(c));
    EXPECT_TRUE(same_bits(c, defined_result(host))) << product.describe();
  }
}

TEST(Reproducible, PermutationsPermuteTheResult) {
  RandomProducts random(3);
  for (int product = 0; product < 200; ++product) {
    expect_permuted_result(random.next(12, 12, 50), random,
                           [](const HostCase& moved, Matrix& c) { reproducible::product(moved.problem(c)); });
  }
}

float element(float a, float b, float alpha, float beta, float c) {
  reproducible::reference({{1, 1, 1, alpha, beta}, &a, 1, &b, 1, &c, 1});
  return c;
}

TEST(Reproducible, ZerosSpecialNumbersAndRoundingsAreDefined) {
  constexpr float INF = std::numeric_limits<float>::infinity();
  constexpr float DENORMAL = 0x1p-149F;
  const auto bits = [](float x) { return std::bit_cast<std::uint32_t>(x); };
  EXPECT_EQ(bits(element(0.0F, -1.0F, 1.0F, 0.0F, -5.0F)), 0x00000000U);
  EXPECT_EQ(bits(element(0.0F, 1.0F, -1.0F, 0.0F, -5.0F)), 0x80000000U);
  EXPECT_EQ(bits(element(INF, 0.0F, 1.0F, 0.0F, 0.0F)), 0x7FFFFFFFU);
  EXPECT_EQ(bits(element(1.0F, 1.0F, 1.0F, 1.0F, -HostCase::NAN_FLOAT)), 0x7FFFFFFFU);
  EXPECT_EQ(bits(element(HostCase::NAN_FLOAT, 1.0F, 0.0F, 2.0F, 3.0F)), bits(6.0F));
  EXPECT_EQ(bits(element(DENORMAL, 1.0F, 1.0F, 0.0F, 0.0F)), 1U);         // in doubles, as there is no scale
  EXPECT_EQ(element(2.0F, 3.0F, 1.0F, 0.0F, HostCase::NAN_FLOAT), 6.0F);  // C is not read
  EXPECT_EQ(element(-INF, 2.0F, 1.0F, 0.0F, 0.0F), -INF);
  EXPECT_EQ(element(3e38F, 3.0F, 1.0F, 0.0F, 0.0F), INF);
  EXPECT_EQ(element(3e38F, 3.0F, 0.25F, 0.0F, 0.0F), static_cast<float>(3.0 * 0.25 * 3e38F));
  EXPECT_EQ(element(3.0F, 1.0F, 1.0F, 1.0F, 0x1p-30F), 3.0F);  // one rounding at the end
}

TEST(Reproducible, LinesWithoutAScaleAreSumsOfDoublesInTheOrderOfK) {
  constexpr float LARGE = 3.4e38F;  // too large for a scale
  const auto sum = [](std::vector<float> a) {
    const std::vector<float> ones(a.size(), 1.0F);
    const auto k = static_cast<std::int64_t>(a.size());
    std::vector<float> results;
    for (const auto& multiply : {reproducible::reference, reproducible::product}) {
      float c = 0.0F;
      multiply({{1, 1, k, 1.0F, 0.0F}, a.data(), k, ones.data(), 1, &c, 1});
      results.push_back(c);
    }
    EXPECT_EQ(results[0], results[1]);
    return results[0];
  };
  EXPECT_EQ(sum({LARGE, -LARGE, 1.0F}), 1.0F);
  EXPECT_EQ(sum({1.0F, LARGE, -LARGE}), 0.0F);
  EXPECT_EQ(sum({0x1p90F, LARGE, -LARGE}), 0x1p90F);  // a float would lose it
}

TEST(Reproducible, ScalesAreTheLargestThatFit) {
  using reproducible::Line;
  const auto code = [](float x) { return Line(&x, 1, 1).code(); };
  EXPECT_EQ(code(0.0F), 127);
  EXPECT_EQ(code(1.0F), 127);
  EXPECT_EQ(code(0x1.FDFDFCp0F), 127);  // 0x7F7F7F
  EXPECT_EQ(code(0x1.FDFDFEp0F), 128);
  EXPECT_EQ(code(0x1.FDFDFCp127F), 254);
  EXPECT_EQ(code(0x1.FDFDFEp127F), 255);
  EXPECT_EQ(code(0x1p-126F), 1);
  EXPECT_EQ(code(0x1p-127F), 255);
  const float number = -8290432.0F;  // as the long sums of other tests take it
  EXPECT_EQ(Line(&number, 1, 1).digits(0), (Line::Digits{-126, -128, -128}));
}

/// The bound of the class holds, and errors are those of chapter 13.
TEST(Reproducible, ErrorsAreThoseOfTheClass) {
  for (const Distribution data : DISTRIBUTIONS) {
    const Shape shape{60, 70, 256};
    const HostOperands operands = make_operands(shape, data, 5);
    std::vector<float> c(60 * 70);
    const Problem p = packed(shape, operands.a.data(), operands.b.data(), c.data());
    reproducible::product(p);
    const Verdict verdict = Reference::compute(p, Platform::cpu, 5)->check(c.data(), 70, AccuracyClass::int8_split);
    EXPECT_TRUE(verdict.correct()) << to_string(data) << verdict.describe();
  }
}

std::vector<DigestCase> committed() {
  std::ifstream in(SGEMM_SOURCE_DIR "/reproducible/digests.txt");
  return read_digests(in, "digests.txt");
}

/// The file against the definition itself. The runner compares the rest with faster ways.
TEST(Digests, OfTheFileAreThoseOfTheDefinition) {
  constexpr double MOST_PRODUCTS = 3e6;
  int compared = 0;
  for (const DigestCase& item : committed()) {
    if (products(item.size) < MOST_PRODUCTS) {
      const Shape shape = shape_of(item.size, item.alpha, item.beta);
      const HostOperands operands = make_operands(shape, item.data, item.seed);
      std::vector<float> c = operands.c0;
      c.resize(static_cast<std::size_t>(shape.batch * shape.m * shape.n));
      reproducible::reference(packed(shape, operands.a.data(), operands.b.data(), c.data()));
      EXPECT_EQ(digest_of(c), item.digest) << item.text();
      ++compared;
    }
  }
  EXPECT_GE(compared, 30);
}

TEST(Digests, OfOneBitDiffer) {
  EXPECT_EQ(digest_of({}), "cbf29ce484222325");
  EXPECT_EQ(digest_of({0.0F}), "4d25767f9dce13f5");  // FNV-1a of four zero bytes
  EXPECT_NE(digest_of({0.0F}), digest_of({-0.0F}));
  EXPECT_NE(digest_of({1.0F, 2.0F}), digest_of({2.0F, 1.0F}));
}

TEST(Digests, LinesThatAreNoneAreErrors) {
  const auto read = [](const std::string& text) {
    std::istringstream in(text);
    return read_digests(in, "x");
  };
  EXPECT_EQ(read("# comment\n\n2x3x4:nt 1 -2.5 huge 9 0123456789abcdef\n").front().text(), "2x3x4:nt 1 -2.5 huge 9");
  for (const std::string text : {"", "2x3x4 1 0 uniform", "2x3 1 0 uniform 42 0", "2 x 0 uniform 42 0",
                                 "2 1 0 normal 42 0", "2 1 0 other 42 0"}) {
    EXPECT_THROW(read(text), UsageError) << text;
  }
}

}  // namespace
}  // namespace sgemm::test
