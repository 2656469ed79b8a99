// The path of a case on the executor, to the record it ends in.

#include "bench/case_runner.hpp"

#include "expectations.hpp"
#include "fakes.hpp"
#include "fixtures/configured_kernel.hpp"
#include "simt/executor.hpp"
#include "simt/thread.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <utility>

namespace sgemm {
namespace {

constexpr Size SMALL{70, 50, 90};

const Kernel& chapter(std::string_view id) { return *find_kernel(id); }

/// A kernel that only the executor knows.
Kernel with_launch(std::function<void(const Problem&, cudaStream_t)> launch) {
  return launched_by(Target::for_executor, std::move(launch));
}

/// A block of 64 threads.
Kernel running(void (*thread)(const void*)) {
  return with_launch([thread](const Problem&, cudaStream_t) { simt::run({{1, 1, 1}, {64, 1, 1}, 0, thread}); });
}

/// One that takes so long where the estimate launches it.
Kernel slow_at_the_estimate(std::chrono::milliseconds time) {
  return with_launch([time](const Problem& p, cudaStream_t) {
    if (p.k == 64) {
      std::this_thread::sleep_for(time);
    }
  });
}

/// One that has no code for the executor.
Kernel of_a_library() {
  Kernel kernel = with_launch({});
  kernel.build(Target::for_executor) = {};
  return kernel;
}

void do_nothing(const Problem&, cudaStream_t) {}

class ExecutedCaseTest : public testing::Test {
 protected:
  CaseRunner runner() const { return {protocol_, {std::nullopt, "none here"}, settings_}; }

  Record run(const Kernel& kernel, const Size& size = SMALL) const {
    return runner().run({&kernel, size, {}}, [](std::string_view) {});
  }

  Record compare(const Kernel& kernel, Distribution data) {
    protocol_.mode = Mode::accuracy;
    return runner().run({&kernel, SMALL, data}, [](std::string_view) {});
  }

  Protocol protocol_;
  CaseRunner::Settings settings_{true, {simt::find_gpu_model("h200"), {}, {}, false}};
};

TEST_F(ExecutedCaseTest, IsCheckedWhereItCanBe) {
  protocol_.check = true;
  const Record record = run(chapter("07_warptile_hilbert"));
  const bool built_with_checks = static_cast<bool>(chapter("07_warptile_hilbert").build(Target::for_checks));
  EXPECT_EQ(record.outcome, built_with_checks ? Outcome::executed : Outcome::not_supported) << record.reason;
  EXPECT_EQ(record.verified, built_with_checks);
}

TEST_F(ExecutedCaseTest, IsCountedAndVerifiedWhereItIsSmall) {
  protocol_.mode = Mode::count;
  const Record record = run(chapter("07_warptile_hilbert"));
  if (!chapter("07_warptile_hilbert").build(Target::for_checks)) {
    expect_end(record, Outcome::not_supported, "GCC without sanitizers");
    return;
  }
  EXPECT_EQ(record.outcome, Outcome::counted) << record.reason;
  EXPECT_TRUE(record.verified);
  ASSERT_TRUE(record.counts.is_object());
  EXPECT_EQ(record.counts["blocks_executed"], record.counts["blocks"]);
  EXPECT_EQ(record.counts["blocks_per_sm"], 1);

  protocol_.verify = false;
  EXPECT_FALSE(run(chapter("01_naive")).verified);
  protocol_.verify = true;

  const Record sampled = run(chapter("01_naive"), {1024, 1024, 64});
  EXPECT_EQ(sampled.outcome, Outcome::counted) << sampled.reason;
  EXPECT_FALSE(sampled.verified) << "only some blocks ran";
  EXPECT_LT(sampled.counts["blocks_executed"], sampled.counts["blocks"]);
  EXPECT_EQ(sampled.counts["global_loads"]["requests"], 2U * 1024U * 1024U * 64U / 32U);
  EXPECT_EQ(sampled.counts["flops"], 2U * 1024U * 1024U * 64U + 1024U * 1024U);
}

TEST_F(ExecutedCaseTest, WhatCanNotBeCountedSaysWhy) {
  protocol_.mode = Mode::count;
  Kernel library = of_a_library();
  expect_end(run(library), Outcome::not_supported, "library");
  library.platform = Platform::cpu;
  expect_end(run(library), Outcome::not_supported, "only GPU kernels");
  expect_end(run(with_launch(do_nothing)), Outcome::not_supported, "GCC without sanitizers");
  if (chapter("07_warptile_hilbert").build(Target::for_checks)) {
    settings_.counting.gpu = simt::find_gpu_model("t4");
    expect_end(run(chapter("07_warptile_hilbert")), Outcome::not_supported, "does not fit on an SM of NVIDIA T4");
  }
}

/// Also of a kernel of the CPU, which is not timed then.
TEST_F(ExecutedCaseTest, ErrorsAreMeasuredOnEveryKindOfOperands) {
  for (const char* const id : {"01_naive", "06_coarse_2d:vectorized", "cpu_naive"}) {
    for (const Distribution data : DISTRIBUTIONS) {
      SCOPED_TRACE(to_string(data));
      const Record record = compare(chapter(id), data);
      EXPECT_EQ(record.outcome, Outcome::compared) << record.reason;
      EXPECT_TRUE(record.verified);
      EXPECT_FALSE(record.measurement);
      ASSERT_TRUE(record.errors);
      EXPECT_FALSE(record.errors->vs_cublas) << "there is no cuBLAS here";
      const bool exact = data == Distribution::integers || data == Distribution::zeros;
      EXPECT_EQ(*record.rel_err == 0.0, exact) << *record.rel_err;
      EXPECT_TRUE(*record.rel_err > 1e-5 || data != Distribution::cancelling);
      EXPECT_EQ(record.errors->verdict.componentwise_err == 0.0, exact);
    }
  }
}

TEST_F(ExecutedCaseTest, ProfilesWhatRunsOnAGpu) {
  protocol_.mode = Mode::profile;
  Kernel spread = chapter("02_smem_tiled");
  spread.local_kernel = "12_fp16x3";
  Kernel on_host = chapter("02_smem_tiled");
  on_host.platform = Platform::cpu;
  EXPECT_EQ(run(spread).reason, "is made of 12_fp16x3, which can be profiled");
  EXPECT_EQ(run(on_host).outcome, Outcome::not_supported);
  EXPECT_EQ(run(chapter("02_smem_tiled")).reason, "none here");
}

// One runner, so that operands and references of one kind must not be taken for those of the next.
TEST_F(ExecutedCaseTest, EachKindHasItsOwnReference) {
  protocol_.mode = Mode::accuracy;
  CaseRunner runs = runner();
  for (const Distribution data : {Distribution::uniform, Distribution::huge, Distribution::uniform}) {
    const Record record = runs.run({&chapter("01_naive"), SMALL, data}, [](std::string_view) {});
    EXPECT_EQ(record.outcome, Outcome::compared) << record.reason;
    EXPECT_TRUE(record.verified);
  }
}

TEST_F(ExecutedCaseTest, ErrorsBeyondTheBoundAreIncorrectWhereTheClassPromisesIt) {
  Kernel kernel = with_launch([](const Problem& p, cudaStream_t) { std::fill_n(p.c, p.m * p.n, 1.0F); });
  for (const AccuracyClass accuracy : {AccuracyClass::fp32, AccuracyClass::tf32}) {
    kernel.accuracy = accuracy;
    const Record record = compare(kernel, Distribution::denormals);
    EXPECT_FALSE(record.verified);
    EXPECT_GT(*record.rel_err, 0.1);
    EXPECT_GT(record.errors->verdict.wrong, 0);
    EXPECT_EQ(record.outcome, accuracy == AccuracyClass::fp32 ? Outcome::incorrect : Outcome::compared);
    EXPECT_EQ(compare(kernel, Distribution::uniform).outcome, Outcome::incorrect);
  }
  const Record unwritten = compare(with_launch(do_nothing), Distribution::zeros);
  EXPECT_EQ(unwritten.outcome, Outcome::incorrect);
  EXPECT_EQ(unwritten.errors->verdict.non_finite_wrong, SMALL.m * SMALL.n);
}

TEST_F(ExecutedCaseTest, WorkspaceAndConfigurationAreRecorded) {
  const Kernel kernel =
      kernel_of(test::configured_chapter_for_executor({test::Way::two_sums, test::Way::one_sum_forgotten}));
  for (const Record& record : {run(kernel), compare(kernel, Distribution::cancelling)}) {
    EXPECT_EQ(record.outcome, record.errors ? Outcome::compared : Outcome::executed) << record.reason;
    EXPECT_TRUE(record.verified);
    EXPECT_EQ(record.detail, "two sums, by cost model");
    EXPECT_EQ(record.workspace_bytes, 5U * 4U * 16U * 16U * sizeof(float));
  }
}

TEST_F(ExecutedCaseTest, WorkspaceThatTheHostHasNoRoomForIsSkipped) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "AddressSanitizer ends the program instead of throwing std::bad_alloc";
#endif
  Kernel kernel = with_launch(do_nothing);
  kernel.build(Target::for_executor) =
      kernel_of(test::configured_chapter_for_executor({test::Way::two_sums})).build(Target::for_executor);
  kernel.build(Target::for_executor).configurations = [](const Problem&) {
    return std::vector{Configuration{"", std::size_t{1} << 56U, {}}};
  };
  for (const Record& record : {run(kernel), compare(kernel, Distribution::uniform)}) {
    expect_end(record, Outcome::skipped, "not enough host memory");
  }
}

TEST_F(ExecutedCaseTest, WhatIsNeverWrittenIsIncorrectWhereItIsVerified) {
  const Kernel idle = with_launch(do_nothing);
  for (const bool verify : {true, false}) {
    protocol_.verify = verify;
    const Record record = run(idle);
    EXPECT_EQ(record.outcome, verify ? Outcome::incorrect : Outcome::executed);
    EXPECT_FALSE(record.verified);
    EXPECT_FALSE(record.rel_err) << "an error of the elements that are finite, of which there are none";
  }
}

TEST_F(ExecutedCaseTest, WhatNoKernelMayDoFails) {
  const Record record = run(running([](const void*) { simt::barrier(0, 96, simt::Site::current()); }));
  expect_end(record, Outcome::failed, "waits for ever at barrier 0");
}

TEST_F(ExecutedCaseTest, WhatCanNotBeExecutedIsNotSupported) {
  const Record unmodelled = run(running([](const void*) { simt::not_supported("thread block clusters"); }));
  expect_end(unmodelled, Outcome::not_supported, "thread block clusters");
  expect_end(run(of_a_library()), Outcome::not_supported, "needs a CUDA device");
  Kernel picky = chapter("01_naive");
  picky.unsupported = [](const Problem&) { return "not this shape"; };
  expect_end(run(picky), Outcome::not_supported, "not this shape");
}

TEST(RequiredCode, IsToldWhereTheGpuOrTheBuildLacksIt) {
  Kernel kernel = fake_kernel(12, "fp16x3");
  kernel.min_compute_capability = kernel.max_compute_capability = 90;
  const auto end_on = [&](int capability) {
    Device device = fake_device();
    device.compute_capability = capability;
    return end_of([&] { require_code_for(device, kernel); });
  };
  EXPECT_EQ(end_on(80), "not_supported: needs compute capability 9.0, this device has 8.0");
  EXPECT_EQ(end_on(90), "");
  EXPECT_EQ(end_on(100), "not_supported: needs instructions of compute capability 9.0, which 10.0 lacks");
  kernel.build(Target::for_gpu).missing_code = "sm_90a";
  EXPECT_EQ(end_on(90), "not_supported: this build has no code for sm_90a: add 90a-real to -DCMAKE_CUDA_ARCHITECTURES");
}

TEST_F(ExecutedCaseTest, WholeBlocksOfThreadsTakeTimeAsWell) {
  protocol_.verify = false;
  const Kernel kernel = slow_at_the_estimate(std::chrono::milliseconds(200));
  const Record record = run(kernel, {1 << 22, 1, 1});
  expect_end(record, Outcome::skipped, "would take about");
  expect_end(record, Outcome::skipped, "--force");
  EXPECT_EQ(run(kernel, {1 << 10, 1, 1}).outcome, Outcome::executed);
}

TEST_F(ExecutedCaseTest, FirstRunOfAKernelIsNotItsSpeed) {
  protocol_.verify = false;
  bool first = true;
  const Kernel kernel = with_launch([&](const Problem&, cudaStream_t) {
    if (std::exchange(first, false)) {
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
  });
  EXPECT_EQ(run(kernel, {1 << 22, 1, 1}).outcome, Outcome::executed);
}

TEST_F(ExecutedCaseTest, SaysHowLongItWillTake) {
  protocol_.verify = false;
  const Kernel kernel = slow_at_the_estimate(std::chrono::milliseconds(50));
  CaseRunner runs = runner();
  std::string told;
  runs.run({&kernel, {1 << 20, 1, 1}, {}}, [&](std::string_view activity) { told = activity; });
  EXPECT_TRUE(told.starts_with("executing, for about ") && told.ends_with(" s")) << told;
  runs.run({&kernel, {1 << 10, 1, 1}, {}}, [&](std::string_view activity) { told = activity; });
  EXPECT_EQ(told, "executing");
}

TEST_F(ExecutedCaseTest, EstimateDoesNotLaunchWhatTheKernelRefuses) {
  protocol_.verify = false;
  Kernel kernel = with_launch([](const Problem& p, cudaStream_t) {
    if (p.m < 300) {
      throw std::runtime_error("launched with fewer than 300 rows");
    }
  });
  kernel.unsupported = [](const Problem& p) {
    return p.m < 300 ? std::optional<std::string>("has fewer than 300 rows") : std::nullopt;
  };
  CaseRunner runs = runner();
  for (const Size& size : {Size{400, 400, 400}, Size{500, 400, 400}, Size{200, 600, 600}}) {
    const Record record = runs.run({&kernel, size, {}}, [](std::string_view) {});
    EXPECT_EQ(record.outcome, size.m < 300 ? Outcome::not_supported : Outcome::executed) << record.reason;
  }
}

TEST_F(ExecutedCaseTest, ForceRunsWithoutAnEstimate) {
  std::vector<std::int64_t> launched;
  const Kernel kernel = with_launch([&](const Problem& p, cudaStream_t) {
    launched.push_back(p.k);
    throw std::runtime_error("k = " + std::to_string(p.k));
  });
  const Size size{400, 400, 400};
  EXPECT_EQ(run(kernel, size).reason, "k = 400");
  EXPECT_EQ(launched, (std::vector<std::int64_t>{64, 400})) << "a small problem was to tell the speed";
  launched.clear();
  settings_.counting.force = true;
  EXPECT_EQ(run(kernel, size).reason, "k = 400");
  EXPECT_EQ(launched, std::vector<std::int64_t>{400});
}

}  // namespace
}  // namespace sgemm
