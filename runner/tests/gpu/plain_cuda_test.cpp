// The features of simt/PLAIN_CUDA.md, compiled by nvcc: a GPU gives what the executor's tests expect of it.

#include "device/device.hpp"
#include "fixtures/mirrored.hpp"
#include "plain_features.hpp"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <numeric>

using simt::test::PLAIN_ELEMENTS;
using simt::test::PlainFeature;

extern "C" simt::test::Table<PlainFeature> plain_features();

namespace sgemm::test {
namespace {

TEST(PlainCudaOnGpu, FeaturesGiveWhatTheExecutorGives) {
  if (query_device(0).device->compute_capability < 90) {
    GTEST_SKIP() << "some of the features need compute capability 9.0";
  }
  Mirrored<float> in(PLAIN_ELEMENTS, 0.0F);
  std::iota(in.host().begin(), in.host().end(), 1.0F);
  in.upload();
  const simt::test::Table<PlainFeature> features = plain_features();
  ASSERT_GT(features.size, 0U);
  for (const PlainFeature* feature = features.begin; feature != features.begin + features.size; ++feature) {
    SCOPED_TRACE(feature->name);
    Mirrored<float> out(PLAIN_ELEMENTS, -1.0F);
    feature->run(in.device(), out.device());
    ASSERT_EQ(cudaGetLastError(), cudaSuccess);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    out.download();
    for (int i = 0; i < PLAIN_ELEMENTS; ++i) {
      EXPECT_EQ(out.host()[static_cast<std::size_t>(i)], feature->expected(in.host().data(), i)) << "element " << i;
    }
  }
}

}  // namespace
}  // namespace sgemm::test
