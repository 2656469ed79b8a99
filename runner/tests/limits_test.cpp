#include "judge/limits.hpp"
#include "cli/options.hpp"
#include "expectations.hpp"
#include "fakes.hpp"
#include "problem/batch.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>

#include <gtest/gtest.h>

namespace sgemm {
namespace {

using Operands = Circumstances::Operands;

Kernel file_of(AccuracyClass accuracy) {
  Kernel kernel;
  kernel.accuracy = accuracy;
  return kernel;
}

double least_us(const Shape& shape, AccuracyClass accuracy = AccuracyClass::fp32, const Circumstances& how = {},
                const Device& device = fake_device()) {
  double us = 0.0;
  for (const Limit& limit : limits_of(device, shape, file_of(accuracy), how)) {
    us = std::max(us, limit.us);
  }
  return us;
}

/// The outcome and the reason, or nothing.
std::string refusal(double us, const Shape& shape, const Circumstances& how = {}) {
  return end_of(
      [&] { require_possible(us, limits_of(fake_device(), shape, file_of(AccuracyClass::fp32), how), "in a turn: "); });
}

constexpr Shape CUBE_4096{4096, 4096, 4096};

TEST(Limits, AnFp32ProductTakesTwoUnitsOfFp16) {
  // 132 * 2048 * 2 * 1980 MHz / 2 = 535.2 TFLOP/s
  EXPECT_NEAR(least_us(CUBE_4096), 2.0 * 4096 * 4096 * 4096 / 535.2e6, 0.5);
  for (const AccuracyClass split :
       {AccuracyClass::fp32_split, AccuracyClass::bf16_split, AccuracyClass::fp16_split, AccuracyClass::int8_split}) {
    EXPECT_EQ(least_us(CUBE_4096, split), least_us(CUBE_4096));
  }
  EXPECT_NEAR(least_us(CUBE_4096, AccuracyClass::tf32), least_us(CUBE_4096) / 2.0, 1e-9);
  const double halved = least_us({32768, 32768, 40000}) / (least_us({8192, 8192, 10000}) * 64.0);
  EXPECT_NEAR(halved, 7.0 / 8.0 * 7.0 / 8.0, 1e-9) << "Strassen";
}

TEST(Limits, AChapterMultipliesNumbersOfOneKind) {
  const auto tflops = [](AccuracyClass accuracy) {
    Kernel chapter = file_of(accuracy);
    chapter.number = 9;
    return flops(CUBE_4096) / limits_of(fake_device(), CUBE_4096, chapter, {}).front().us / 1e6;
  };
  EXPECT_NEAR(tflops(AccuracyClass::fp32), *fake_device().fp32_peak_gflops() / 1e3, 1e-6);
  EXPECT_NEAR(tflops(AccuracyClass::fp32_strassen), tflops(AccuracyClass::fp32) * 512.0 / 343.0, 1e-6);
  EXPECT_NEAR(tflops(AccuracyClass::fp32_split), 178.4, 0.1);
  EXPECT_NEAR(tflops(AccuracyClass::bf16_split), 178.4, 0.1);
  EXPECT_NEAR(tflops(AccuracyClass::fp16_split), 356.8, 0.1);
  EXPECT_NEAR(tflops(AccuracyClass::int8_split), 428.2, 0.1);
  EXPECT_NEAR(tflops(AccuracyClass::tf32), 535.2, 0.1);
}

TEST(Limits, GpusAndBatchesCount) {
  Shape batch = CUBE_4096;
  batch.batch = 3;
  EXPECT_NEAR(least_us(batch), 3.0 * least_us(CUBE_4096), 1e-6);
  EXPECT_NEAR(least_us(CUBE_4096, AccuracyClass::fp32, {Operands::unknown, 4}), least_us(CUBE_4096) / 4.0, 1e-6);
}

TEST(Limits, ColdOperandsComeFromDram) {
  const Shape flat{8192, 8192, 16};  // two inputs of 0.5 MB, and a C of 268 MB of which an L2 keeps a part
  const double peak = fake_device().dram_peak_gbytes_s() * 1e3;
  const double read = 4.0 * 2 * 8192 * 16;
  const double written = 4.0 * 8192 * 8192 - 62914560.0;
  EXPECT_NEAR(least_us(flat), (read + written) / peak, 1e-6);
  EXPECT_NEAR(least_us(flat, AccuracyClass::fp32, {Operands::anywhere}), written / peak, 1e-6);
  EXPECT_LT(least_us(flat, AccuracyClass::fp32, {Operands::unknown}), 10.0);
  Shape adds = flat;
  adds.beta = 1.0F;
  EXPECT_NEAR(least_us(adds), (read + 4.0 * 8192 * 8192 + written) / peak, 1e-6);
  EXPECT_NEAR(least_us(adds, AccuracyClass::fp32, {Operands::anywhere}), (read + 2.0 * written) / peak, 1e-6);
}

TEST(Limits, NothingIsMultipliedByZero) {
  Shape scaled = CUBE_4096;
  scaled.alpha = 0.0F;
  EXPECT_NEAR(least_us(scaled), (4.0 * 4096 * 4096 - 62914560.0) / (fake_device().dram_peak_gbytes_s() * 1e3), 1e-6);
}

TEST(Limits, ASampleHoldsALaunch) {
  EXPECT_EQ(refusal(1.2, {8, 8, 8}, {Operands::in_dram, 1, 1, 2.4}), "");
  EXPECT_EQ(refusal(0.1, {8, 8, 8}, {Operands::in_dram, 1, 32, 2.4}), "");
  EXPECT_EQ(
      refusal(0.5, {8, 8, 8}, {Operands::in_dram, 1, 1, 2.4}),
      "implausible: in a turn: took 0.5 us, and at least 1.2 us are needed: half of an empty kernel's 2.4 us over "
      "1 launches");
}

TEST(Limits, WhatIsFasterIsImplausibleAndTheReasonHasTheFormula) {
  EXPECT_EQ(refusal(256.9, CUBE_4096), "");
  EXPECT_EQ(refusal(256.8 / 1.04, CUBE_4096), "");  // clocks may be a little faster
  EXPECT_TRUE(refusal(256.8 * 0.9, CUBE_4096).starts_with("implausible: "));
  const std::string reason = refusal(100.0, CUBE_4096);
  EXPECT_NE(reason.find("took 100 us, and at least 256.8 us are needed: 137.4 GFLOP at 535.3 TFLOP/s = 132 SMs x 2048 "
                        "multiply-adds of fp16 x 2 x 1980 MHz / 2 for each product"),
            std::string::npos)
      << reason;
  EXPECT_TRUE(refusal(0.0, CUBE_4096).starts_with("implausible: "));
  EXPECT_TRUE(refusal(std::nan(""), CUBE_4096).starts_with("implausible: "));
}

TEST(Limits, WhatIsImplausibleMakesTheRunFail) {
  EXPECT_EQ(exit_status({{Outcome::measured, 3}}), ALL_WELL);
  for (const Outcome wrong : {Outcome::incorrect, Outcome::implausible, Outcome::failed}) {
    EXPECT_EQ(exit_status({{Outcome::measured, 3}, {wrong, 1}}), CASES_WRONG) << to_string(wrong);
  }
  EXPECT_EQ(exit_status({{Outcome::skipped, 1}}), NOTHING_MEASURED);
}

TEST(Limits, AnUnknownGpuHasNone) {
  Device unknown = fake_device();
  unknown.compute_capability = 250;
  EXPECT_LT(least_us(CUBE_4096, AccuracyClass::fp32, {}, unknown), 40.0);  // of DRAM alone
  unknown.max_memory_clock_mhz = 0;
  EXPECT_TRUE(limits_of(unknown, CUBE_4096, file_of(AccuracyClass::fp32), {}).empty());
  Device without_tensor_rates = unknown;
  without_tensor_rates.compute_capability = 110;
  EXPECT_TRUE(limits_of(without_tensor_rates, CUBE_4096, file_of(AccuracyClass::fp32), {}).empty());
}

TEST(Limits, RatesAreThoseOfTheDatasheets) {
  const auto tflops = [](int capability, const char* kind, double sms, double ghz) {
    return 2e-3 * *multiply_adds_per_cycle(capability, kind) * sms * ghz;
  };
  EXPECT_NEAR(tflops(90, "fp16", 132, 1.83), 989.4, 1.0);
  EXPECT_NEAR(tflops(80, "tf32", 108, 1.41), 156.0, 1.0);
  EXPECT_NEAR(tflops(80, "int8", 108, 1.41), 624.0, 1.0);
  EXPECT_NEAR(tflops(70, "fp16", 80, 1.53), 125.0, 1.0);
  EXPECT_NEAR(tflops(86, "fp16", 84, 1.74), 149.7, 1.0);
  EXPECT_NEAR(tflops(100, "fp16", 148, 1.85), 2250, 10.0);
  EXPECT_NEAR(tflops(120, "fp16", 188, 2.617), 503.8, 1.0);
  EXPECT_FALSE(multiply_adds_per_cycle(250, "fp32"));
  EXPECT_FALSE(multiply_adds_per_cycle(70, "int8"));
}

TEST(Device, PeaksAreThoseOfTheDatasheet) {
  EXPECT_NEAR(*fake_device().fp32_peak_gflops(), 66.9e3, 50.0);
  EXPECT_EQ(fake_device().fp32_peak_basis(), "132 SMs x 128 FP32 lanes x 2 x 1980 MHz (maximum SM clock)");
  EXPECT_NEAR(fake_device().dram_peak_gbytes_s(), 4.9e3, 50.0);
  Device a100;
  a100.compute_capability = 80;
  a100.multiprocessors = 108;
  a100.max_sm_clock_mhz = 1410;
  EXPECT_NEAR(*a100.fp32_peak_gflops(), 19.5e3, 50.0);
  a100.compute_capability = 250;
  EXPECT_FALSE(a100.fp32_peak_gflops()) << "of an unknown architecture";
}

TEST(FlushBytes, AreNeverFewerThanAColdCacheTakes) {
  constexpr std::size_t MIB = std::size_t{1} << 20U;
  EXPECT_EQ(flush_bytes(50 * MIB, 80000 * MIB), 256 * MIB);
  EXPECT_EQ(flush_bytes(100 * MIB, 401 * MIB), 400 * MIB);
  EXPECT_EQ(message_of<std::runtime_error>([] { flush_bytes(100 * MIB, 399 * MIB); }),
            "a cold L2 takes 400 MiB of device memory to flush it, and 399 MiB are free; --l2 warm does without");
}

}  // namespace
}  // namespace sgemm
