// Kernels of the reproducible class on a GPU against their definition, bit by bit.

#include "base/kernel.hpp"
#include "common/cuda_check.hpp"
#include "device/device.hpp"
#include "device/device_buffer.hpp"
#include "fixtures/device_case.hpp"
#include "fixtures/known_kernels.hpp"
#include "fixtures/product_case.hpp"
#include "fixtures/same_bits.hpp"
#include "fixtures/tested_kernel.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace sgemm::test {
namespace {

std::vector<KernelAndGroup> groups() {
  constexpr std::int64_t ANY = std::numeric_limits<std::int64_t>::max();
  std::vector<KernelAndGroup> all = kernels_and_groups(Platform::gpu, ANY, Shapes::all);
  std::erase_if(all, [](const KernelAndGroup& each) { return !each.kernel->is_reproducible(); });
  return all;
}

bool runs_here(const Kernel& kernel) { return has_to_run(kernel, query_device(0).device->compute_capability); }

std::vector<const Kernel*> reproducible_kernels_here() {
  return kernels_where([](const Kernel& kernel) { return kernel.is_reproducible() && runs_here(kernel); });
}

class GpuReproducibleTest : public testing::TestWithParam<KernelAndGroup> {
 protected:
  void SetUp() override {
    if (!runs_here(*GetParam().kernel)) {
      GTEST_SKIP() << "not for this compute capability";
    }
  }
};

/// Launches with C, and what lies around it, from `c`, and copies it back.
void run(DeviceOperands& gpu, const Prepared& prepared, const Problem& p, Matrix& c) {
  gpu.set_result(c);
  prepared(p, nullptr);
  CUDA_CHECK(cudaDeviceSynchronize());
  c = gpu.result();
}

/// Each configuration. The second launch finds the workspace as the first has left it.
TEST_P(GpuReproducibleTest, HasTheBitsOfTheDefinition) {
  const Build& build = GetParam().kernel->build(Target::for_gpu);
  for (const ProductCase& product : GetParam().group.cases) {
    SCOPED_TRACE(product.describe());
    const HostCase host(product);
    const Matrix expected = defined_result(host);
    DeviceOperands gpu(host);
    for (const Configuration& configuration : build.configurations(gpu.problem())) {
      const Prepared prepared = build.prepare(configuration);
      for (int launch = 0; launch < 2; ++launch) {
        Matrix c = host.c;
        run(gpu, prepared, gpu.problem(), c);
        ASSERT_TRUE(same_bits(c, expected)) << configuration.name << ", launch " << launch;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Registered, GpuReproducibleTest, testing::ValuesIn(groups()), NAMED);

/// Parts of a product, at any place in memory and in every configuration, have the bits of the whole one.
TEST(GpuReproducibleBlocks, HaveTheBitsOfTheWholeProduct) {
  RandomProducts random(4);
  for (const Kernel* const kernel : reproducible_kernels_here()) {
    const Build& build = kernel->build(Target::for_gpu);
    for (int product = 0; product < 300; ++product) {
      const HostCase host = random.next(300, 300, 600);
      DeviceOperands gpu(host);
      expect_blocks_of_the_whole(host, 4, random, [&](const Block& block, Matrix& c) {
        const Problem p = block_of(gpu.problem(), block);
        for (const Configuration& configuration : build.configurations(p)) {
          c = host.c;
          run(gpu, build.prepare(configuration), p, c);
        }
      });
    }
  }
}

TEST(GpuReproducibleBlocks, ArePermutedWithRowsAndColumns) {
  RandomProducts random(5);
  for (const Kernel* const kernel : reproducible_kernels_here()) {
    const Build& build = kernel->build(Target::for_gpu);
    for (int product = 0; product < 300; ++product) {
      expect_permuted_result(random.next(200, 200, 300), random, [&](const HostCase& moved, Matrix& c) {
        DeviceOperands gpu(moved);
        run(gpu, build.prepare(gpu.problem()), gpu.problem(), c);
      });
    }
  }
}

/// Products on eight streams at a time have the bits of one after the other.
TEST(GpuReproducibleStreams, ShareAGpuWithoutAnyOtherBits) {
  constexpr int STREAMS = 8;
  const HostCase host({700, 650, 900, 1.5F, 0.0F});
  for (const Kernel* const kernel : reproducible_kernels_here()) {
    const Build& build = kernel->build(Target::for_gpu);
    DeviceOperands gpu(host);
    Matrix expected = host.c;
    run(gpu, build.prepare(gpu.problem()), gpu.problem(), expected);
    std::vector<DeviceBuffer<float>> results;
    std::vector<Prepared> prepared;
    std::vector<cudaStream_t> streams(STREAMS);
    for (cudaStream_t& stream : streams) {
      CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
      results.emplace_back(host.c.storage().size());
      results.back().copy_from_host(host.c.storage());
      prepared.push_back(build.prepare(gpu.problem()));
    }
    CUDA_CHECK(cudaDeviceSynchronize());
    for (int round = 0; round < 10; ++round) {
      for (std::size_t i = 0; i < STREAMS; ++i) {
        Problem p = gpu.problem();
        p.c = results[i].data() + host.c.start();
        prepared[i](p, streams[i]);
      }
    }
    CUDA_CHECK(cudaDeviceSynchronize());
    for (std::size_t i = 0; i < STREAMS; ++i) {
      Matrix c = host.c;
      results[i].copy_to_host(c.storage());
      EXPECT_TRUE(same_bits(c, expected)) << kernel->id() << ", stream " << i;
      CUDA_CHECK(cudaStreamDestroy(streams[i]));
    }
  }
}

}  // namespace
}  // namespace sgemm::test
