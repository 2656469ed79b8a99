#include "judge/limits.hpp"
#include "cli/options.hpp"
#include "expectations.hpp"
#include "fakes.hpp"
#include "problem/sizes.hpp"

#include <cmath>
#include <cstddef>
#include <map>
#include <stdexcept>

#include <fmt/ranges.h>
#include <gtest/gtest.h>

namespace sgemm {
namespace {

/// Something that was timed: at first an FP32 product of a file, with a cold L2, on an H200.
struct Timed {
  Device device = fake_device();
  Kernel kernel;
  Shape shape;
  Circumstances how;

  std::vector<Limit> limits() const { return limits_of(device, shape, kernel, how); }
};

/// What a word of limits.txt changes; sizes and classes of accuracy are words as well.
const std::map<std::string, void (*)(Timed&)> WORDS{
    {"chapter", [](Timed& timed) { timed.kernel.number = 9; }},
    {"warm", [](Timed& timed) { timed.how.operands = Circumstances::Operands::anywhere; }},
    {"end-to-end", [](Timed& timed) { timed.how.operands = Circumstances::Operands::unknown; }},
    {"four-GPUs", [](Timed& timed) { timed.how.gpus = 4; }},
    {"beta=1", [](Timed& timed) { timed.shape.beta = 1.0F; }},
    {"alpha=0", [](Timed& timed) { timed.shape.alpha = 0.0F; }},
    {"empty=2.4us", [](Timed& timed) { timed.how.empty_kernel_us = 2.4; }},
    {"32-launches", [](Timed& timed) { timed.how.launches = 32; }},
    {"unknown-GPU", [](Timed& timed) { timed.device.compute_capability = 250; }},
    {"no-tensor-rates", [](Timed& timed) { timed.device.compute_capability = 110; }},
    {"no-memory-clock", [](Timed& timed) { timed.device.max_memory_clock_mhz = 0; }}};

Timed timed(const std::string& words) {
  Timed result;
  std::istringstream in(words);
  for (std::string word; in >> word;) {
    if (const auto accuracy = accuracy_named(word)) {
      result.kernel.accuracy = *accuracy;
    } else if (const auto change = WORDS.find(word); change != WORDS.end()) {
      change->second(result);
    } else {
      result.shape = shape_of(parse_sizes(word).front(), result.shape.alpha, result.shape.beta);
    }
  }
  return result;
}

TEST(Limits, AreThoseOfThePage) {
  expect_answers("limits.txt", [](const std::string& words) {
    std::vector<std::string> limits;
    for (const Limit& limit : timed(words).limits()) {
      limits.push_back(fmt::format("{:.4g} us ({})", limit.us, limit.formula));
    }
    return limits.empty() ? "none" : fmt::to_string(fmt::join(limits, ", "));
  });
}

/// The outcome and the reason, or nothing.
std::string refusal(double us, const std::string& words) {
  return end_of([&] { require_possible(us, timed(words).limits(), "in a turn: "); });
}

TEST(Limits, WhatIsFasterIsImplausibleAndTheReasonHasTheFormula) {
  EXPECT_EQ(refusal(256.9, "4096"), "");
  EXPECT_EQ(refusal(256.8 / 1.04, "4096"), "");  // clocks may be a little faster
  EXPECT_TRUE(refusal(256.8 * 0.9, "4096").starts_with("implausible: "));
  EXPECT_EQ(refusal(100.0, "4096"),
            "implausible: in a turn: took 100 us, and at least 256.8 us are needed: 137.4 GFLOP at 535.3 TFLOP/s = 132 "
            "SMs x 2048 multiply-adds of fp16 x 2 x 1980 MHz / 2 for each product");
  EXPECT_TRUE(refusal(0.0, "4096").starts_with("implausible: "));
  EXPECT_TRUE(refusal(std::nan(""), "4096").starts_with("implausible: "));
  EXPECT_EQ(refusal(1.2, "8 empty=2.4us"), "");
  EXPECT_EQ(refusal(0.1, "8 empty=2.4us 32-launches"), "");
  EXPECT_TRUE(refusal(0.5, "8 empty=2.4us").starts_with("implausible: "));
}

TEST(Limits, WhatIsImplausibleMakesTheRunFail) {
  EXPECT_EQ(exit_status({{Outcome::measured, 3}}), ALL_WELL);
  for (const Outcome wrong : {Outcome::incorrect, Outcome::implausible, Outcome::failed}) {
    EXPECT_EQ(exit_status({{Outcome::measured, 3}, {wrong, 1}}), CASES_WRONG) << to_string(wrong);
  }
  EXPECT_EQ(exit_status({{Outcome::skipped, 1}}), NOTHING_MEASURED);
}

TEST(Limits, RatesAreThoseOfTheDatasheets) {
  const auto tflops = [](int capability, const char* kind, double sms, double ghz) {
    return 2e-3 * *multiply_adds_per_cycle(capability, kind) * sms * ghz;
  };
  EXPECT_NEAR(tflops(90, "fp16", 132, 1.83), 989.4, 1.0);
  EXPECT_NEAR(tflops(80, "fp32", 108, 1.41), 19.5, 0.1);
  EXPECT_NEAR(tflops(80, "tf32", 108, 1.41), 156.0, 1.0);
  EXPECT_NEAR(tflops(80, "int8", 108, 1.41), 624.0, 1.0);
  EXPECT_NEAR(tflops(70, "fp16", 80, 1.53), 125.0, 1.0);
  EXPECT_NEAR(tflops(86, "fp16", 84, 1.74), 149.7, 1.0);
  EXPECT_NEAR(tflops(100, "fp16", 148, 1.85), 2250, 10.0);
  EXPECT_NEAR(tflops(120, "fp16", 188, 2.617), 503.8, 1.0);
  EXPECT_FALSE(multiply_adds_per_cycle(250, "fp32"));
  EXPECT_FALSE(timed("unknown-GPU").device.fp32_peak_gflops());
  EXPECT_FALSE(multiply_adds_per_cycle(70, "int8"));
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
