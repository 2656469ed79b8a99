#include "device/device.hpp"

#include "fake_device.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <stdexcept>

namespace sgemm {
namespace {

TEST(Device, PeaksAreThoseOfTheDatasheet) {
  EXPECT_NEAR(*fake_device().fp32_peak_gflops(), 66.9e3, 50.0);
  EXPECT_EQ(fake_device().fp32_peak_basis(), "132 SMs x 128 FP32 lanes x 2 x 1980 MHz (maximum SM clock)");
  EXPECT_NEAR(fake_device().dram_peak_gbytes_s(), 4.9e3, 50.0);
  Device a100;
  a100.compute_capability = 80;
  a100.multiprocessors = 108;
  a100.max_sm_clock_mhz = 1410;
  EXPECT_NEAR(*a100.fp32_peak_gflops(), 19.5e3, 50.0);
}

TEST(Device, PeakOfAnUnknownArchitectureIsAbsent) {
  Device device = fake_device();
  device.compute_capability = 250;
  EXPECT_FALSE(device.fp32_peak_gflops());
}

TEST(Device, CapabilityText) {
  EXPECT_EQ(capability_text(90), "9.0");
  EXPECT_EQ(capability_text(121), "12.1");
}

TEST(FlushBytes, AreNeverFewerThanAColdCacheTakes) {
  constexpr std::size_t MIB = std::size_t{1} << 20U;
  EXPECT_EQ(flush_bytes(50 * MIB, 80000 * MIB), 256 * MIB);
  EXPECT_EQ(flush_bytes(100 * MIB, 401 * MIB), 400 * MIB);
  try {
    flush_bytes(100 * MIB, 399 * MIB);
    FAIL() << "the cache would have been flushed in part";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(),
                 "a cold L2 takes 400 MiB of device memory to flush it, and 399 MiB are free; --l2 warm does without");
  }
}

}  // namespace
}  // namespace sgemm
