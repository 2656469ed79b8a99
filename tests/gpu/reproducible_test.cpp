// Kernels of the reproducible class on a GPU against their definition, bit by bit.

#include "common/cuda_check.hpp"
#include "device/device.hpp"
#include "device/device_buffer.hpp"
#include "fixtures/known_kernels.hpp"
#include "fixtures/product_case.hpp"
#include "fixtures/same_bits.hpp"
#include "fixtures/tested_kernel.hpp"
#include "host/kernel.hpp"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

namespace sgemm::test {
namespace {

std::vector<KernelAndGroup> groups() {
  std::vector<KernelAndGroup> all;
  for (const KernelAndGroup& each :
       kernels_and_groups(Platform::gpu, std::numeric_limits<std::int64_t>::max(), Shapes::all)) {
    if (each.kernel->name == "reproducible") {
      all.push_back(each);
    }
  }
  return all;
}

class GpuReproducibleTest : public testing::TestWithParam<KernelAndGroup> {
 protected:
  void SetUp() override {
    if (!has_to_run(*GetParam().kernel, query_device(0).device->compute_capability)) {
      GTEST_SKIP() << "not for this compute capability";
    }
  }
};

/// Each configuration. The second launch finds the workspace as the first has left it.
TEST_P(GpuReproducibleTest, HasTheBitsOfTheDefinition) {
  const Build& build = GetParam().kernel->build(Target::for_gpu);
  for (const ProductCase& product : GetParam().group.cases) {
    SCOPED_TRACE(product.describe());
    const HostCase host(product);
    const Matrix expected = defined_result(host);
    DeviceBuffer<float> a(host.a.storage().size());
    DeviceBuffer<float> b(host.b.storage().size());
    DeviceBuffer<float> c(host.c.storage().size());
    a.copy_from_host(host.a.storage());
    b.copy_from_host(host.b.storage());
    Problem p = host.shape;
    p.a = a.data() + host.a.start();
    p.b = b.data() + host.b.start();
    p.c = c.data() + host.c.start();
    for (const Configuration& configuration : build.configurations(p)) {
      const Prepared prepared = build.prepare(configuration);
      for (int launch = 0; launch < 2; ++launch) {
        Matrix result = host.c;
        c.copy_from_host(result.storage());
        prepared(p, nullptr);
        CUDA_CHECK(cudaDeviceSynchronize());
        c.copy_to_host(result.storage());
        ASSERT_TRUE(same_bits(result, expected)) << configuration.name << ", launch " << launch;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Registered, GpuReproducibleTest, testing::ValuesIn(groups()),
                         [](const auto& info) { return test_name(info.param); });

}  // namespace
}  // namespace sgemm::test
