// Kernels of chapters 11, 12 and 13 that read packed operands, in every configuration: they have the bits that they
// have when they split both operands.

#include "packed.hpp"
#include "algorithms.hpp"
#include "epilogue_case.hpp"
#include "gemm_batch.hpp"
#include "gemm_case.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

namespace sgemm::test {
namespace {

Method method_of(sgemm_accuracy_t accuracy) {
  return accuracy == SGEMM_ACCURACY_COMPONENTWISE ? Method::bf16x6 : Method::fp16x3;
}

std::vector<Algorithm> algorithms_of(Method method, const GemmBatch& batch) {
  return method == Method::bf16x6 ? bf16x6_algorithms(batch, MULTIPROCESSORS)
                                  : fp16x3_algorithms(batch, MULTIPROCESSORS);
}

/// Which operands are packed, and how.
struct Sides {
  bool a;
  bool b;
};
constexpr Sides ALL_SIDES[] = {{true, false}, {false, true}, {true, true}};

/// The operand tiles of a batch's operands.
class Tiles {
 public:
  Tiles(Method method, const GemmProblem& p, const Sides& sides) {
    packed_.method = method;
    if (sides.a) {
      GemmProblem rows = p;
      rows.n = 0;
      packed_.a = split(method, rows, a_);
    }
    if (sides.b) {  // its columns as rows
      GemmProblem rows = p;
      rows.m = p.n;
      rows.n = 0;
      rows.a = p.b;
      rows.lda = p.ldb;
      rows.a_transposed = !p.b_transposed;
      packed_.b = split(method, rows, b_);
    }
  }
  const PackedTiles& get() const { return packed_; }

 private:
  static const void* split(Method method, const GemmProblem& rows, std::unique_ptr<Mirrored<float>>& memory) {
    const Packing how = packing(method, rows);
    EXPECT_GT(how.bytes, 0);
    memory = std::make_unique<Mirrored<float>>(how.bytes / sizeof(float) + 1, NAN_FLOAT);
    how.enqueue(memory->device(), nullptr);
    return memory->device();
  }

  PackedTiles packed_;
  std::unique_ptr<Mirrored<float>> a_;
  std::unique_ptr<Mirrored<float>> b_;
};

/// Numbers of which tensor cores can not multiply all.
void spread(GemmOperands& operands) {
  const GemmCase& of = operands.of;
  operands.scale_row(0, of.m / 2, 0x1p-60F);
  operands.scale_column(0, of.n - 1, 0x1p-60F);
  operands.op_a(0, 0, of.k / 2) = INF;
  operands.op_b(0, 0, of.n / 3) = NAN_FLOAT;
  operands.upload();
}

void expect_same_bits(const GemmCase& product) {
  const Method method = method_of(product.accuracy);
  GemmOperands shape(product);
  const std::vector<Algorithm> plain = algorithms_of(method, batch_of(shape));
  ASSERT_FALSE(plain.empty());
  for (std::size_t i = 0; i < plain.size(); ++i) {
    GemmOperands expected(product);
    spread(expected);
    launch(plain[i], batch_of(expected));
    const std::vector<float>& bits = expected.c.memory().download();
    for (const Sides& sides : ALL_SIDES) {
      GemmOperands operands(product);
      spread(operands);
      GemmBatch batch = batch_of(operands);
      const Tiles tiles(method, batch.first, sides);
      batch.first.packed = tiles.get();
      const Algorithm algorithm = algorithms_of(method, batch)[i];
      SCOPED_TRACE(product.describe() + " " + algorithm.kernel + " " + algorithm.configuration);
      EXPECT_EQ(algorithm.configuration, plain[i].configuration + (!sides.b   ? " packed A"
                                                                   : !sides.a ? " packed B"
                                                                              : " packed A and B"));
      EXPECT_LT(algorithm.workspace_bytes, plain[i].workspace_bytes);
      launch(algorithm, batch);
      EXPECT_TRUE(same_bits(operands.c.memory().download(), bits));
    }
  }
}

class PackedTest : public testing::TestWithParam<std::tuple<sgemm_accuracy_t, sgemm_op_t, sgemm_op_t>> {
 protected:
  static GemmCase with(std::int64_t m, std::int64_t n, std::int64_t k) {
    const auto& [accuracy, transa, transb] = GetParam();
    return laid_out(m, n, k, transa, transb, accuracy).scaled(-1.5F, 0.5F);
  }
};

TEST_P(PackedTest, SizesOnBothSidesOfTiles) { expect_same_bits(with(131, 259, 67)); }

TEST_P(PackedTest, AlignedLinesAndLinesWithPadding) {
  expect_same_bits(with(128, 64, 128));
  expect_same_bits(with(9, 130, 132).padded(3, 1));
}

INSTANTIATE_TEST_SUITE_P(Lengthy, PackedTest, testing::ValuesIn(combinations(OF_SPLIT_OPERANDS, N_AND_T, N_AND_T)));

TEST(PackedEpilogueTest, HasTheSameBits) {
  constexpr EpilogueKind KIND{SGEMM_ACTIVATION_RELU, true, SGEMM_BIAS_OF_COLUMNS, true, false};
  for (const sgemm_accuracy_t accuracy : OF_SPLIT_OPERANDS) {
    const GemmCase product = GemmCase{33, 140, 70}.with(accuracy);
    const Method method = method_of(accuracy);
    EpilogueOperands expected(product, KIND);
    const Algorithm plain = algorithms_of(method, batch_of(expected.gemm)).front();
    launch_with_epilogue(plain, expected, workspace_of(plain).device());
    EpilogueOperands operands(product, KIND);
    GemmBatch batch = batch_of(operands.gemm);
    const Tiles tiles(method, batch.first, {false, true});
    batch.first.packed = tiles.get();
    const Algorithm algorithm = algorithms_of(method, batch).front();
    launch_with_epilogue(algorithm, operands, workspace_of(algorithm).device(), tiles.get());
    EXPECT_TRUE(same_bits(operands.d().memory().download(), expected.d().memory().download()));
    EXPECT_EQ(operands.mask.download(), expected.mask.download());
  }
}

/// What no call of the interface makes on one device by one library.
TEST(PackedObjectTest, OfAnotherLayoutOrDeviceIsRefused) {
  const Handle handle;
  GemmOperands operands({13, 7, 29});
  const Expected expected(operands);
  const PackedOperand b(handle, operands, SGEMM_SIDE_B);
  const auto call_spoilt = [&](const auto& spoil) {
    sgemm_packed spoilt = *b.get();
    spoil(spoilt);
    sgemm_product_t product = operands.product();
    product.b.packed = &spoilt;
    return operands.call(handle, product);
  };
  EXPECT_EQ(call_spoilt([](sgemm_packed& it) { ++it.layout; }), SGEMM_STATUS_INVALID_VALUE);
  EXPECT_EQ(call_spoilt([](sgemm_packed& it) { ++it.device; }), SGEMM_STATUS_INVALID_VALUE);
  expected.check_unchanged(operands);
  EXPECT_EQ(call_spoilt([](sgemm_packed&) {}), SGEMM_STATUS_SUCCESS);
  expected.check(operands);
}

/// A product that chapter 12 gets, through the C interface: a packed operand spares the time of its splitting, and bits
/// stay the same.
TEST(LengthyPackedTest, ALargeProductReadsTheTerms) {
  const Handle handle;
  const GemmCase product = laid_out(1280, 1280, 256, SGEMM_OP_N, SGEMM_OP_T, SGEMM_ACCURACY_NORMWISE);
  GemmOperands expected(product);
  ASSERT_EQ(expected.call(handle), SGEMM_STATUS_SUCCESS);
  GemmOperands operands(product);
  const sgemm_plan_t plain = planned(handle, operands.product());
  EXPECT_STREQ(plain.kernel, "12_fp16x3");
  const PackedOperand a(handle, operands, SGEMM_SIDE_A);
  const sgemm_plan_t plan = planned(handle, product_of(operands, &a, nullptr));
  EXPECT_EQ(plan.configuration, std::string(plain.configuration) + " packed B");  // of the row-major product
  EXPECT_LT(plan.predicted_us, plain.predicted_us);
  ASSERT_EQ(operands.call(handle, product_of(operands, &a, nullptr)), SGEMM_STATUS_SUCCESS);
  EXPECT_TRUE(same_bits(operands.c.memory().download(), expected.c.memory().download()));
  operands.of.pointer_mode = SGEMM_POINTER_MODE_DEVICE;  // where an alpha of 0 could not hide a packed NaN
  set(handle, operands.of);
  EXPECT_STREQ(planned(handle, product_of(operands, &a, nullptr)).configuration, plain.configuration);
}

/// Terms of one chapter are nothing to another one.
TEST(PackedAlgorithmTest, IsOfOneMethod) {
  GemmOperands operands({256, 256, 256});
  GemmBatch batch = batch_of(operands);
  batch.first.packed = {Method::fp16x3, nullptr, operands.b.data()};
  EXPECT_EQ(bf16x6_algorithms(batch, MULTIPROCESSORS).front().configuration, "128x128");
  EXPECT_EQ(fp16x3_algorithms(batch, MULTIPROCESSORS).front().configuration, "128x128 packed B");
}

/// The splitting is spared, and memory gives the terms of a few rows no faster.
TEST(PackedAlgorithmTest, IsPredictedToTakeLess) {
  const auto predicted = [](std::int64_t m, Method method, bool packed) {
    GemmBatch batch{problem_of(m, 4096, 4096)};
    batch.first.packed = {method, nullptr, packed ? &batch : nullptr};
    double least = 1e9;
    for (const Algorithm& algorithm : algorithms_of(method, batch)) {
      least = std::min(least, algorithm.microseconds());
    }
    return least;
  };
  for (const Method method : {Method::bf16x6, Method::fp16x3}) {
    const double terms_us = 4096.0 * 4096.0 * (method == Method::bf16x6 ? 6 : 4) / 3.8e6;
    for (const std::int64_t m : {8, 128, 4096}) {
      EXPECT_LT(predicted(m, method, true) + 0.9 * terms_us, predicted(m, method, false)) << m;
      EXPECT_GT(predicted(m, method, true), terms_us);
    }
  }
}

}  // namespace
}  // namespace sgemm::test
