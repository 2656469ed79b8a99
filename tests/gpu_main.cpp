// Runs the tests that need a GPU, or tells ctest that they are skipped.

#include "device/device.hpp"

#include <gtest/gtest.h>

#include <iostream>

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const sgemm::DeviceQuery query = sgemm::query_device(0);
  if (!query.device) {
    constexpr int CTEST_SKIPPED = 77;
    std::cout << "skipped: no usable CUDA device: " << query.error << '\n';
    return CTEST_SKIPPED;
  }
  return RUN_ALL_TESTS();
}
