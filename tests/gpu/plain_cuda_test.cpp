// The features of simt/PLAIN_CUDA.md, compiled by nvcc: a GPU gives what the executor's tests expect of it.

#include "common/cuda_check.hpp"
#include "device/device.hpp"
#include "plain_features.hpp"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <memory>

using simt::test::PLAIN_ELEMENTS;
using simt::test::PlainFeature;

extern "C" simt::test::Table<PlainFeature> plain_features();

namespace sgemm::test {
namespace {

/// Elements that the host and the device see.
std::unique_ptr<float, cudaError_t (*)(void*)> make_elements() {
  void* memory = nullptr;
  CUDA_CHECK(cudaMallocManaged(&memory, PLAIN_ELEMENTS * sizeof(float)));
  return {static_cast<float*>(memory), cudaFree};
}

TEST(PlainCudaOnGpu, FeaturesGiveWhatTheExecutorGives) {
  if (query_device(0).device->compute_capability < 90) {
    GTEST_SKIP() << "some of the features need compute capability 9.0";
  }
  const auto in = make_elements();
  const auto out = make_elements();
  const simt::test::Table<PlainFeature> features = plain_features();
  ASSERT_GT(features.size, 0U);
  for (const PlainFeature* feature = features.begin; feature != features.begin + features.size; ++feature) {
    SCOPED_TRACE(feature->name);
    for (int i = 0; i < PLAIN_ELEMENTS; ++i) {
      in.get()[i] = static_cast<float>(i + 1);
      out.get()[i] = -1.0F;
    }
    feature->run(in.get(), out.get());
    ASSERT_EQ(cudaGetLastError(), cudaSuccess);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    for (int i = 0; i < PLAIN_ELEMENTS; ++i) {
      EXPECT_EQ(out.get()[i], feature->expected(in.get(), i)) << "element " << i;
    }
  }
}

}  // namespace
}  // namespace sgemm::test
