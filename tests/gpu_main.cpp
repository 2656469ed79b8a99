// Runs the tests that need a GPU, or tells ctest that they are skipped.

#include "bench/gpu_bench.hpp"
#include "device/device.hpp"
#include "judge/launcher.hpp"

#include <gtest/gtest.h>

#include <iostream>

int main(int argc, char** argv) {
  if (sgemm::is_launcher()) {  // of a kernel that a test runs
    sgemm::serve_as_launcher();
    return 0;
  }
  testing::InitGoogleTest(&argc, argv);
  const sgemm::DeviceQuery query = sgemm::query_device(0);
  if (!query.device) {
    constexpr int CTEST_SKIPPED = 77;
    std::cout << "skipped: no usable CUDA device: " << query.error << '\n';
    return CTEST_SKIPPED;
  }
  return RUN_ALL_TESTS();
}
