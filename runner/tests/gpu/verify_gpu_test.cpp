// The verifier on a GPU: it accepts a right kernel, finds a wrong element anywhere, and finds the same as the verifier
// on the host. tests/wrong_kernels has kernels that are wrong.

#include "base/kernel.hpp"
#include "common/cuda_check.hpp"
#include "device/device_problem.hpp"
#include "fixtures/device_case.hpp"
#include "fixtures/product_case.hpp"
#include "problem/operands.hpp"
#include "problem/sizes.hpp"
#include "verify/verify.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace sgemm::test {
namespace {

/// Nothing is covered in full, and operands are copied in panels of a few columns.
Coverage sampled() {
  Coverage coverage;
  coverage.max_full_products = -1.0;
  coverage.workspace_bytes = std::size_t{1} << 16U;
  return coverage;
}

/// Chapter 2, which takes every product.
void by_chapter_2(const Problem& p, cudaStream_t stream) {
  find_kernel("02_smem_tiled")->build(Target::for_gpu).prepare(p)(p, stream);
}

TEST(GpuVerifierTest, FindsOneWrongElementAnywhere) {
  const ProductCase product{100, 90, 33};
  DeviceCase on_device(product, sampled());
  const Verdict first = on_device.run(by_chapter_2, AccuracyClass::fp32);
  ASSERT_TRUE(first.correct() && !first.full);
  const Matrix right = on_device.result();
  const Problem problem = on_device.problem();
  for (std::int64_t row = 0; row < product.m; row += 9) {
    for (std::int64_t col = 0; col < product.n; col += 7) {
      Matrix wrong = right;
      wrong.at(row, col) += 0.01F;
      on_device.set_result(wrong);
      const Verdict verdict = on_device.reference().check(problem.c, problem.ldc, AccuracyClass::fp32);
      ASSERT_FALSE(verdict.correct());
      ASSERT_EQ(verdict.first_wrong_row, row);
      ASSERT_EQ(verdict.first_wrong_col, col);
      ASSERT_FLOAT_EQ(static_cast<float>(verdict.first_wrong_value), wrong.at(row, col));
    }
  }
}

TEST(GpuVerifierTest, SampledCasesTakeEveryLayoutAndValue) {
  for (const CaseGroup& group : case_groups(FEW_PRODUCTS, Shapes::all)) {
    for (const ProductCase& product : group.cases) {
      SCOPED_TRACE(product.describe());
      DeviceCase on_device(product, sampled());
      const Verdict verdict = on_device.run(by_chapter_2, AccuracyClass::fp32);
      EXPECT_TRUE(verdict.correct()) << verdict.describe();
    }
  }
}

void expect_same(const Verdict& gpu, const Verdict& cpu) {
  EXPECT_EQ(gpu.compared, cpu.compared);
  EXPECT_EQ(gpu.wrong, cpu.wrong);
  EXPECT_NEAR(gpu.rel_err(), cpu.rel_err(), 1e-6 * cpu.rel_err() + 1e-12);
  EXPECT_NEAR(gpu.max_bound_ratio, cpu.max_bound_ratio, 1e-5 * cpu.max_bound_ratio);
  EXPECT_NEAR(gpu.componentwise_err, cpu.componentwise_err, 1e-5 * cpu.componentwise_err);
  EXPECT_NEAR(gpu.condition().value_or(-1.0), cpu.condition().value_or(-1.0), 1e-9 * cpu.condition().value_or(1.0));
  EXPECT_EQ(gpu.full, cpu.full);
  EXPECT_EQ(gpu.non_finite, cpu.non_finite);
  EXPECT_EQ(gpu.non_finite_wrong, cpu.non_finite_wrong);
  EXPECT_EQ(gpu.first_wrong_row, cpu.first_wrong_row);
  EXPECT_EQ(gpu.first_wrong_col, cpu.first_wrong_col);
  EXPECT_NEAR(gpu.first_wrong_expected, cpu.first_wrong_expected, 1e-12);
  EXPECT_NEAR(gpu.first_wrong_bound, cpu.first_wrong_bound, 1e-12);
}

TEST(GpuVerifierTest, FindsWhatTheHostFinds) {
  ProductCase product{131, 77, 65, -2.5F, 1.0F};
  product.c = {1, 3, 1};
  DeviceCase on_device(product);
  Matrix c0 = on_device.host().c;
  const auto on_host = Reference::compute(on_device.host().problem(c0), Platform::cpu, HostCase::SEED);

  ASSERT_TRUE(on_device.run(by_chapter_2, AccuracyClass::fp32).correct());
  Matrix c = on_device.result();
  const auto compare = [&] {
    on_device.set_result(c);
    const Problem problem = on_device.problem();
    expect_same(on_device.reference().check(problem.c, problem.ldc, AccuracyClass::fp32),
                on_host->check(c.data(), c.ld(), AccuracyClass::fp32));
  };
  compare();
  c.at(130, 76) = 1000.0F;
  compare();
  c.at(64, 13) += 0.5F;
  compare();
  c.at(3, 70) = std::numeric_limits<float>::quiet_NaN();
  c.at(3, 71) = std::numeric_limits<float>::infinity();
  compare();
  c.fill(std::numeric_limits<float>::quiet_NaN());
  compare();
}

/// The same operands in the host's memory and the device's, and the C of cuBLAS.
struct LayoutCase {
  explicit LayoutCase(const Shape& shape)
      : host(make_operands(shape, Distribution::uniform, HostCase::SEED)),
        on_host(packed(shape, host.a.data(), host.b.data(), host.c0.data())),
        on_device(shape, host, false),
        result(host.c0.size()) {
    const Problem p = on_device.operands();
    on_device.restore(1, nullptr);
    find_kernel("cublas")->build(Target::for_gpu).prepare(p)(p, nullptr);
    CUDA_CHECK(cudaMemcpy(result.data(), p.c, result.size() * sizeof(float), cudaMemcpyDeviceToHost));
  }

  Verdict check(const Reference& reference) {
    const Problem p = on_device.operands();
    CUDA_CHECK(cudaMemcpy(p.c, result.data(), result.size() * sizeof(float), cudaMemcpyHostToDevice));
    return reference.check(p.c, p.ldc, AccuracyClass::fp32);
  }

  HostOperands host;
  Problem on_host;
  DeviceProblem on_device;
  std::vector<float> result;
};

TEST(GpuVerifierTest, ReadsTransposedOperandsAndBatchesAsTheHostDoes) {
  for (const Size& size : parse_sizes("101x75x70:nt,101x75x70:tn,101x75x70:tt,3x101x75x70,3x101x75x70:tn")) {
    SCOPED_TRACE(to_string(size));
    LayoutCase product(shape_of(size, -1.5F, 0.5F));
    const auto in_full = Reference::compute(product.on_device.reference_operands(), Platform::gpu, HostCase::SEED);
    const auto in_samples =
        Reference::compute(product.on_device.reference_operands(), Platform::gpu, HostCase::SEED, sampled());
    const auto by_host = Reference::compute(product.on_host, Platform::cpu, HostCase::SEED);
    const auto compare = [&] {
      const Verdict expected = by_host->check(product.result.data(), product.on_host.ldc, AccuracyClass::fp32);
      const Verdict found = product.check(*in_full);
      expect_same(found, expected);
      EXPECT_EQ(found.first_wrong_product, expected.first_wrong_product);
      EXPECT_EQ(product.check(*in_samples).correct(), expected.correct());
    };
    EXPECT_TRUE(product.check(*in_full).correct());
    EXPECT_FALSE(product.check(*in_samples).full);
    compare();
    product.result[product.result.size() - 7] += 0.01F;
    compare();
  }
}

}  // namespace
}  // namespace sgemm::test
