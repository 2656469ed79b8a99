// The whole path of a case on a real device, with kernels that misbehave in the ways a kernel can.

#include "bench/case_runner.hpp"

#include "../expectations.hpp"
#include "../fakes.hpp"
#include "common/cuda_check.hpp"
#include "fixtures/configured_kernel.hpp"
#include "fixtures/known_kernels.hpp"
#include "fixtures/product_case.hpp"
#include "problem/operands.hpp"
#include "problem/sizes.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <set>
#include <string_view>
#include <tuple>

namespace sgemm {
namespace {

constexpr Size SMALL{192, 160, 224};

const Kernel& cublas() { return *find_kernel("cublas"); }

const Build& cublas_build() { return cublas().build(Target::for_gpu); }

Kernel with_launch(std::function<void(const Problem&, cudaStream_t)> launch) {
  return launched_by(Target::for_gpu, std::move(launch));
}

/// cuBLAS with its operands tampered with by `change`.
template <class Change>
Kernel tampered(Change change) {
  Kernel kernel = with_launch([change](Problem p, cudaStream_t stream) {
    const Prepared inner = cublas_build().prepare(p);
    change(p);
    inner(p, stream);
  });
  kernel.takes_every_layout = true;
  return kernel;
}

/// Right in its first launch alone.
Kernel honest_once() {
  return with_launch([honest = cublas_build().prepare(Problem{}), launches = std::make_shared<int>(0)](
                         const Problem& p, cudaStream_t stream) {
    if (++*launches <= 1) {
      honest(p, stream);
    }
  });
}

/// Whether this device has to run `kernel` with operands of that size.
bool has_to_run(const Kernel& kernel, const Size& size = SMALL) {
  return test::has_to_run(kernel, query_device(0).device->compute_capability) &&
         !kernel.unsupported(test::HostCase({size.m, size.n, size.k}).shape);
}

/// The kernels of one GPU. Those of several have tests of their own.
std::vector<Kernel> kernels_of_one_gpu() {
  std::vector<Kernel> of_one;
  std::copy_if(kernels().begin(), kernels().end(), std::back_inserter(of_one),
               [](const Kernel& kernel) { return kernel.local_kernel.empty(); });
  return of_one;
}

class CaseRunnerTest : public testing::Test {
 protected:
  Record run(const Kernel& kernel, const Size& size = SMALL) {
    if (!runner_) {
      runner_ = std::make_unique<CaseRunner>(protocol_, query_device(0), CaseRunner::Settings{});
      EXPECT_EQ(runner_->gpu_error(), "");
    }
    return runner_->run({&kernel, size, {}}, [](std::string_view) {});
  }

  static void expect_complete(const Record& record) {
    ASSERT_EQ(record.outcome, Outcome::measured) << record.reason;
    EXPECT_TRUE(record.verified);
    EXPECT_LT(*record.rel_err, record.accuracy == AccuracyClass::tf32 ? 1e-2 : 1e-5);
    const Measurement& measurement = *record.measurement;
    EXPECT_GE(measurement.timings.kernel_us.size(), static_cast<std::size_t>(FEWEST_SAMPLES));
    EXPECT_EQ(measurement.timings.kernel_us.size(), measurement.timings.rival_us.size());
    EXPECT_GT(measurement.time_us.min, 0.0);
    EXPECT_GT(*measurement.vs_cublas, 0.0);
    EXPECT_GT(*measurement.vs_cublas_alone, 0.0);
  }

  Protocol protocol_;
  std::unique_ptr<CaseRunner> runner_;
};

TEST_F(CaseRunnerTest, CublasAgainstItselfIsAsFastAsItself) {
  const Record record = run(cublas(), {1024, 1024, 1024});
  expect_complete(record);
  EXPECT_NEAR(*record.measurement->vs_cublas, 1.0, 0.05);
  EXPECT_NEAR(*record.measurement->vs_cublas_alone, 1.0, 0.1);
  const GpuFacts facts = runner_->gpu_facts();
  EXPECT_GT(facts.flush_bytes, 0U);
  EXPECT_GT(facts.empty_kernel_us, 0.0);
  EXPECT_LT(facts.empty_kernel_us, 100.0);
  EXPECT_GT(facts.event_resolution_us, 0.0);
}

TEST_F(CaseRunnerTest, ShortKernelsAreBatched) {
  const Record record = run(cublas());
  expect_complete(record);
  EXPECT_GT(record.measurement->timings.launches_per_sample, 1);
}

TEST_F(CaseRunnerTest, EveryRegisteredGpuKernelIsMeasured) {
  for (const Kernel& kernel : kernels_of_one_gpu()) {
    if (kernel.platform == Platform::gpu) {
      SCOPED_TRACE(kernel.id());
      const Record record = run(kernel);
      if (has_to_run(kernel)) {
        expect_complete(record);
      } else {
        EXPECT_EQ(record.outcome, Outcome::not_supported);
      }
    }
  }
}

/// Appends the places within `bytes` bytes of the GPU's memory where these numbers begin.
void find_copies(std::uintptr_t begin, std::size_t bytes, const std::vector<float>& numbers,
                 std::vector<float*>& copies) {
  constexpr std::size_t ALIGNMENT = 512;
  std::vector<char> found(bytes);
  if (cudaMemcpy(found.data(), reinterpret_cast<void*>(begin), bytes, cudaMemcpyDeviceToHost) == cudaSuccess) {
    for (std::size_t offset = 0; offset < bytes; offset += ALIGNMENT) {
      if (std::memcmp(found.data() + offset, numbers.data(), ALIGNMENT) == 0) {
        copies.push_back(reinterpret_cast<float*>(begin + offset));
      }
    }
    return;
  }
  cudaGetLastError();  // an allocation begins or ends here, or there is none
  if (bytes > ALIGNMENT) {
    find_copies(begin, bytes / 2, numbers, copies);
    find_copies(begin + bytes / 2, bytes / 2, numbers, copies);
  }
}

bool is_on_device(std::uintptr_t address) {
  cudaPointerAttributes attributes{};
  const cudaError_t status = cudaPointerGetAttributes(&attributes, reinterpret_cast<void*>(address));
  cudaGetLastError();
  return status == cudaSuccess && attributes.type == cudaMemoryTypeDevice;
}

/// All places of the GPU's memory where these numbers lie, within some GiB of `address`. They have to be in allocations
/// of 64 KiB at least, which hold a multiple of that: a small one is in another part of the memory than large ones.
std::vector<float*> copies_near(const void* address, const std::vector<float>& numbers) {
  constexpr std::size_t WINDOW = std::size_t{64} << 10U;
  constexpr std::size_t WINDOWS = std::size_t{1} << 17U;
  const std::uintptr_t first = reinterpret_cast<std::uintptr_t>(address) / WINDOW * WINDOW - WINDOWS / 2 * WINDOW;
  std::vector<float*> copies;
  bool begins_inside = is_on_device(first);
  for (std::size_t i = 0; i < WINDOWS; ++i) {
    const bool ends_inside = is_on_device(first + (i + 1) * WINDOW);
    if (begins_inside || ends_inside) {
      find_copies(first + i * WINDOW, WINDOW, numbers, copies);
    }
    begins_inside = ends_inside;
  }
  return copies;
}

TEST_F(CaseRunnerTest, AFileThatWritesToWhatCIsRestoredFromIsToldSo) {
  protocol_.beta = 1.0F;
  const std::vector<float> c0 =
      make_operands({SMALL.m, SMALL.n, SMALL.k, 1.0F, 1.0F}, Distribution::uniform, protocol_.seed).c0;
  std::size_t written = 0;
  Kernel kernel = with_launch([&](const Problem& p, cudaStream_t stream) {
    for (float* const copy : written > 0 ? std::vector<float*>() : copies_near(p.a, c0)) {
      CUDA_CHECK(cudaMemsetAsync(copy, 0, sizeof(float), stream));  // C as well, so that no result differs
      ++written;
    }
    cublas_build().prepare(p)(p, stream);
  });
  kernel.file = KernelFile{};
  const Record record = run(kernel);
  ASSERT_GE(written, 2U) << "C, and what it is restored from";
  EXPECT_EQ(record.outcome, Outcome::failed);
  EXPECT_EQ(record.reason, "writes to C0, which is an input");
}

/// Where operands lie says nothing of whether a launch is going to be verified or timed.
TEST_F(CaseRunnerTest, OperandsOfVerificationLieAtAnyPlaceOfTheirMemory) {
  std::vector<std::uintptr_t> places;
  Kernel kernel = with_launch([&](const Problem& p, cudaStream_t stream) {
    cublas_build().prepare(p)(p, stream);
    places.push_back(reinterpret_cast<std::uintptr_t>(p.a) % (std::size_t{2} << 20U));
  });
  kernel.file = KernelFile{};
  std::set<std::uintptr_t> of_verification;
  for (protocol_.seed = 40; protocol_.seed < 48; ++protocol_.seed) {
    runner_.reset();
    const std::size_t first = places.size();
    ASSERT_EQ(run(kernel).outcome, Outcome::measured);
    of_verification.insert(places.at(first));
  }
  EXPECT_GT(of_verification.size(), 4U);  // of eight draws of 32
  EXPECT_GT(std::set(places.begin(), places.end()).size(), 24U);
}

class ProtocolTest : public CaseRunnerTest, public testing::WithParamInterface<std::tuple<L2State, TimeMode, float>> {};

TEST_P(ProtocolTest, IsMeasuredAndVerifiedBeforeAndAfter) {
  std::tie(protocol_.l2, protocol_.time, protocol_.beta) = GetParam();
  protocol_.alpha = -2.5F;
  const Record record = run(cublas());
  expect_complete(record);
  if (protocol_.time == TimeMode::end_to_end) {
    EXPECT_EQ(record.measurement->timings.launches_per_sample, 1);
  }
}

INSTANTIATE_TEST_SUITE_P(Protocols, ProtocolTest,
                         testing::Combine(testing::Values(L2State::cold, L2State::warm),
                                          testing::Values(TimeMode::kernel, TimeMode::end_to_end),
                                          testing::Values(0.0F, 0.5F)));

TEST_F(CaseRunnerTest, CpuResultsAreCheckedToo) {
  for (const Kernel& kernel : kernels()) {
    if (kernel.platform == Platform::cpu) {
      const Record record = run(kernel);
      EXPECT_EQ(record.outcome, Outcome::measured) << record.reason;
      EXPECT_TRUE(record.verified);
      EXPECT_FALSE(record.measurement->vs_cublas);
    }
  }
}

TEST_F(CaseRunnerTest, LibrariesComputeTransposedOperandsAndBatches) {
  protocol_.max_seconds = 0.02;
  protocol_.alpha = -1.5F;
  for (const float beta : {0.0F, 0.5F}) {
    protocol_.beta = beta;
    runner_.reset();
    for (const Size& size :
         parse_sizes("320x280x360:nt,320x280x360:tn,320x280x360:tt,3x320x280x360,3x320x280x360:tn")) {
      for (const Kernel& kernel : kernels_of_one_gpu()) {
        SCOPED_TRACE(kernel.id() + " " + to_string(size));
        const Record record = run(kernel, size);
        if (!kernel.takes_every_layout) {
          EXPECT_EQ(record.outcome, Outcome::not_supported);
        } else if (kernel.platform == Platform::gpu) {
          expect_complete(record);
        } else {
          EXPECT_EQ(record.outcome, Outcome::measured) << record.reason;
        }
      }
    }
  }
}

TEST_F(CaseRunnerTest, LayoutThatIsIgnoredIsIncorrect) {
  const Kernel not_transposed = tampered([](Problem& p) { p.transposed_a = p.transposed_b = false; });
  const Kernel one_product = tampered([](Problem& p) { p.batch = 1; });
  for (const std::string_view size : {"192:nt", "192:tn", "192:tt"}) {
    EXPECT_EQ(run(not_transposed, parse_sizes(size).front()).outcome, Outcome::incorrect) << size;
  }
  expect_end(run(one_product, {192, 160, 224, false, false, 3}), Outcome::incorrect, "of product 1");
}

TEST_F(CaseRunnerTest, ErrorsAreMeasuredBesideThoseOfCublas) {
  protocol_.mode = Mode::accuracy;
  CaseRunner runner(protocol_, query_device(0), {});
  const auto compare = [&](const Kernel& kernel, Distribution data) {
    return runner.run({&kernel, SMALL, data}, [](std::string_view) {});
  };
  for (const Distribution data : DISTRIBUTIONS) {
    SCOPED_TRACE(to_string(data));
    for (const Kernel& kernel : kernels_of_one_gpu()) {
      SCOPED_TRACE(kernel.id());
      const bool exact_in_fp32 = data == Distribution::zeros || data == Distribution::integers;
      // Chapter 19 alone has scales that are no powers of two, so that integers are rounded.
      const bool exact = exact_in_fp32 && !(data == Distribution::integers && kernel.id() == "19_int8x5");
      const Record record = compare(kernel, data);
      if (kernel.platform == Platform::gpu && !has_to_run(kernel)) {
        EXPECT_EQ(record.outcome, Outcome::not_supported);
        continue;
      }
      ASSERT_EQ(record.outcome, Outcome::compared) << record.reason;
      EXPECT_TRUE(record.verified || !record.errors->promised);
      EXPECT_FALSE(record.measurement);
      EXPECT_EQ(*record.rel_err == 0.0, exact);
      EXPECT_EQ(record.errors->vs_cublas.has_value(), !exact_in_fp32);
      if (kernel.id() == "cublas" && !exact_in_fp32) {
        EXPECT_DOUBLE_EQ(*record.errors->vs_cublas, 1.0);
      }
    }
  }
  const Record wrong = compare(with_launch([](const Problem&, cudaStream_t) {}), Distribution::uniform);
  EXPECT_EQ(wrong.outcome, Outcome::incorrect);
}

TEST_F(CaseRunnerTest, ResultThatIsNeverWrittenIsIncorrect) {
  const Record record = run(with_launch([](const Problem&, cudaStream_t) {}));
  EXPECT_EQ(record.outcome, Outcome::incorrect);
  EXPECT_FALSE(record.measurement);
  EXPECT_FALSE(record.verified);
}

TEST_F(CaseRunnerTest, KernelThatStopsWorkingIsCaughtAfterTiming) {
  for (const L2State l2 : {L2State::cold, L2State::warm}) {
    protocol_.l2 = l2;
    runner_.reset();
    const Record record = run(honest_once());
    EXPECT_EQ(record.outcome, Outcome::incorrect);
    EXPECT_TRUE(record.reason.starts_with("after timing: ")) << record.reason;
  }
}

TEST_F(CaseRunnerTest, EnergyIsMeasuredAfterTheSamples) {
  protocol_.energy = true;
  const Record record = run(cublas(), {1024, 1024, 1024});
  expect_complete(record);
  ASSERT_TRUE(record.energy.is_object());
  for (const char* const owner : {"kernel", "cublas"}) {
    const auto& turn = record.energy.at(owner);
    EXPECT_NEAR(turn.at("seconds").get<double>(), ENERGY_SECONDS, 0.2);
    EXPECT_LT(turn.at("launch_us"), 2.0 * record.measurement->time_us.median) << "without pauses and with a warm L2";
    if (turn.contains("joules_per_product")) {
      EXPECT_GT(turn.at("joules_per_product"), 0.0);
      EXPECT_LT(turn.at("watts"), 5000.0);
    } else {
      EXPECT_NE(turn.at("no_energy"), "") << "where NVML tells nothing, the record says why";
    }
  }
}

TEST_F(CaseRunnerTest, KernelThatStopsWorkingIsCaughtAfterItsTurn) {
  protocol_.mode = Mode::sustain;
  protocol_.l2 = L2State::warm;
  protocol_.sustain_s = 0.2;
  const Record right = run(cublas());
  EXPECT_EQ(right.outcome, Outcome::sustained) << right.reason;
  EXPECT_TRUE(right.verified);
  ASSERT_TRUE(right.sustained.is_object());
  for (const char* const owner : {"kernel", "cublas"}) {
    EXPECT_NEAR(right.sustained.at(owner).at("seconds").get<double>(), 0.2, 0.1);
  }
  EXPECT_FALSE(right.measurement);
  const Record wrong = run(honest_once());
  EXPECT_EQ(wrong.outcome, Outcome::incorrect);
  EXPECT_TRUE(wrong.reason.starts_with("after its turn: ")) << wrong.reason;
  EXPECT_TRUE(wrong.sustained.is_null());
}

TEST_F(CaseRunnerTest, NothingIsDoneFasterThanTheMachineCanBe) {
  protocol_.verify = false;
  EXPECT_EQ(run(with_launch([](const Problem&, cudaStream_t) {})).outcome, Outcome::implausible);
}

TEST_F(CaseRunnerTest, FailedLaunchIsReportedAndTheNextCaseRuns) {
  const Kernel failing = with_launch([](const Problem&, cudaStream_t) { CUDA_CHECK(cudaErrorInvalidConfiguration); });
  expect_end(run(failing), Outcome::failed, "cudaErrorInvalidConfiguration");
  expect_complete(run(cublas()));
}

TEST_F(CaseRunnerTest, WhatTheDeviceCanNotDoIsNotSupported) {
  Kernel future = cublas();
  future.min_compute_capability = 990;
  EXPECT_EQ(run(future).outcome, Outcome::not_supported);
}

TEST_F(CaseRunnerTest, ProblemLargerThanMemoryIsSkipped) {
  expect_end(run(cublas(), {1 << 19, 1 << 19, 1}), Outcome::skipped, "GiB");  // C alone has 1 TiB
  expect_complete(run(cublas()));
}

/// A kernel that asks for a workspace that no GPU has room for.
Kernel too_large() {
  Kernel kernel = kernel_of(test::configured_chapter_for_gpu({test::Way::two_sums}));
  Build& build = kernel.build(Target::for_gpu);
  build.configurations = [inner = build.configurations](const Problem& problem) {
    std::vector<Configuration> all = inner(problem);
    all.front().workspace_bytes = std::size_t{3} << 50U;
    return all;
  };
  return kernel;
}

/// With errors compared, too, which takes a workspace as well.
TEST(ConfigurationsTest, WorkspaceThatDoesNotFitIsSkippedWithBothSizes) {
  for (const Mode mode : {Mode::measure, Mode::accuracy}) {
    Protocol protocol;
    protocol.mode = mode;
    CaseRunner runner(protocol, query_device(0), CaseRunner::Settings{});
    ASSERT_EQ(runner.gpu_error(), "");
    const auto run = [&](const Kernel& kernel) { return runner.run({&kernel, SMALL, {}}, [](std::string_view) {}); };
    const Record record = run(too_large());
    EXPECT_EQ(record.outcome, Outcome::skipped);
    const char* const needed = mode == Mode::measure ? "needs 3145728.0 GiB of workspace, " : " GiB of workspace, ";
    EXPECT_NE(record.reason.find(needed), std::string::npos) << record.reason;
    EXPECT_NE(record.reason.find(" GiB are free"), std::string::npos) << record.reason;
    EXPECT_FALSE(record.errors);
    EXPECT_EQ(run(kernel_of(test::configured_chapter_for_gpu({test::Way::two_sums}))).outcome,
              mode == Mode::measure ? Outcome::measured : Outcome::compared);
  }
}

// In a process of its own, as the device is unusable afterwards.
TEST(CaseRunnerDeathTest, LostDeviceSkipsTheRestOfTheRun) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto provoke = [] {
    const Protocol protocol;
    CaseRunner runner(protocol, query_device(0), {});
    const auto run = [&](const Kernel& kernel) { return runner.run({&kernel, SMALL, {}}, [](std::string_view) {}); };
    const Record broken = run(tampered([](Problem& p) { p.c = reinterpret_cast<float*>(std::uintptr_t{1} << 12U); }));
    const Record next = run(cublas());
    const bool as_expected =
        broken.outcome == Outcome::failed && next.outcome == Outcome::skipped && next.reason.find("device lost") == 0;
    std::_Exit(as_expected ? 0 : 1);
  };
  EXPECT_EXIT(provoke(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace sgemm
