// Every registered GPU kernel and variant against double precision.
//
// SGEMM_TEST_SMALL=1 leaves out the cases of more than 20 million products (about 270 x 270 x 270), for tools such as
// compute-sanitizer's racecheck that slow kernels down a hundredfold.

#include "base/kernel.hpp"
#include "device/device.hpp"
#include "fixtures/device_case.hpp"
#include "fixtures/known_kernels.hpp"
#include "fixtures/product_case.hpp"
#include "fixtures/tested_kernel.hpp"
#include "verify/verify.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <map>

namespace sgemm::test {
namespace {

std::int64_t most_products() {
  const char* const small = std::getenv("SGEMM_TEST_SMALL");
  return small != nullptr && std::string_view(small) == "1" ? FEW_PRODUCTS : std::numeric_limits<std::int64_t>::max();
}

int compute_capability() { return query_device(0).device->compute_capability; }

class GpuKernelTest : public testing::TestWithParam<KernelAndGroup> {
 protected:
  void SetUp() override {
    if (!has_to_run(*GetParam().kernel, compute_capability())) {
      GTEST_SKIP() << "not for compute capability " << compute_capability() / 10 << '.' << compute_capability() % 10;
    }
  }

  static void TearDownTestSuite() { cases().clear(); }

  /// Operands and references are made once and serve every kernel.
  static DeviceCase& device_case(const ProductCase& product) {
    std::unique_ptr<DeviceCase>& entry = cases()[product.describe()];
    if (!entry) {
      entry = std::make_unique<DeviceCase>(product);
    }
    return *entry;
  }

  static void expect_right(DeviceCase& on_device, const Prepared& prepared, AccuracyClass accuracy) {
    const Verdict verdict = on_device.run(prepared, accuracy);
    EXPECT_TRUE(verdict.correct()) << verdict.describe();
    EXPECT_EQ(verdict.compared, on_device.problem().m * on_device.problem().n);
    EXPECT_TRUE(on_device.result().same_outside(on_device.host().c)) << "something around C was overwritten";
  }

  /// Runs one case, in every configuration that the kernel has for it.
  static void run_case(const Kernel& kernel, const ProductCase& product) {
    DeviceCase& on_device = device_case(product);
    const Build& build = kernel.build(Target::for_gpu);
    const Problem problem = on_device.problem();
    if (const std::optional<std::string> reason = kernel.unsupported(problem)) {
      EXPECT_FALSE(takes_every_product(kernel)) << *reason;
      return;
    }
    expect_right(on_device, build.prepare(problem), kernel.accuracy);  // a library may try algorithms on C here
    if (kernel.tunable) {
      for (const Configuration& configuration : build.configurations(problem)) {
        SCOPED_TRACE(configuration.name);
        const Prepared prepared = build.prepare(configuration);
        // The second launch finds the workspace as the first has left it.
        expect_right(on_device, prepared, kernel.accuracy);
        expect_right(on_device, prepared, kernel.accuracy);
      }
    }
  }

 private:
  static std::map<std::string, std::unique_ptr<DeviceCase>>& cases() {
    static std::map<std::string, std::unique_ptr<DeviceCase>> all;
    return all;
  }
};

/// cuBLASLt takes no empty matrices, and reads A and B where alpha is 0.
bool is_refused(const Kernel& kernel, const ProductCase& product) {
  return kernel.id() == "cublaslt_best" && (product.k == 0 || product.alpha == 0.0F);
}

TEST_P(GpuKernelTest, AgreesWithDoublePrecision) {
  const Kernel& kernel = *GetParam().kernel;
  for (const ProductCase& product : GetParam().group.cases) {
    SCOPED_TRACE(product.describe());
    if (is_refused(kernel, product)) {
      EXPECT_TRUE(kernel.unsupported(device_case(product).problem()));
    } else {
      run_case(kernel, product);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Registered, GpuKernelTest,
                         testing::ValuesIn(kernels_and_groups(Platform::gpu, most_products(), Shapes::all)), NAMED);

TEST(GpuKernels, AreAllThere) {
  for (const KnownKernel& known : KNOWN_KERNELS) {
    const auto is_it = [&](const Kernel& kernel) {
      return (kernel.id() == known.name || kernel.numbered_name() == known.name) && kernel.build(Target::for_gpu);
    };
    EXPECT_TRUE(std::any_of(kernels().begin(), kernels().end(), is_it)) << known.name;
  }
}

TEST(GpuChapters, HoldAsManyBlocksOnAnSmAsTheySay) {
  if (compute_capability() != 90) {
    GTEST_SKIP() << "needs a device of compute capability 9.0";
  }
  for (const Kernel& kernel : kernels()) {
    if (kernel.number > 0 && kernel.build(Target::for_gpu).resources) {
      EXPECT_EQ(kernel.blocks_per_sm, kernel.build(Target::for_gpu).resources()->blocks_per_sm) << kernel.id();
    }
  }
}

}  // namespace
}  // namespace sgemm::test
