// What a handle remembers of its choices and of operands that were slow, and where the library's kernels begin.

#include "context.hpp"

#include "algorithms.hpp"
#include "detour.hpp"
#include "gemm_batch.hpp"
#include "gemm_case.hpp"
#include "host_blas.hpp"
#include "predicted_time.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sgemm::test {
namespace {

/// A product of aligned operands, of which nothing is read.
GemmBatch product(std::int64_t m, std::int64_t n, std::int64_t k) {
  GemmBatch batch{problem_of(m, n, k)};
  batch.first.alpha = 1.0F;
  return batch;
}

/// What a context has chosen, and why.
std::string chosen(sgemm_context& context, const GemmBatch& batch, const GemmEpilogue* epilogue) {
  const Choice& choice = context.choice(batch, epilogue);
  return choice.algorithm ? choice.algorithm->configuration + ": " + choice.reason + ", in " +
                                std::to_string(choice.algorithm->workspace_bytes) + " bytes"
                          : "cuBLAS: " + choice.reason;
}

struct Call {
  GemmBatch batch;
  const GemmEpilogue* epilogue = nullptr;
};

/// That a context which knows one of two calls chooses for the other as one that knows nothing.
void expect_choices_apart(const Call& one, const Call& other, sgemm_accuracy_t accuracy) {
  host_board() = {};
  std::string expected[2];
  for (const bool other_first : {false, true}) {
    sgemm_context context;
    context.accuracy = accuracy;
    const Call& first = other_first ? other : one;
    const Call& second = other_first ? one : other;
    expected[other_first ? 1 : 0] = chosen(context, first.batch, first.epilogue);
    sgemm_context fresh;
    fresh.accuracy = accuracy;
    EXPECT_EQ(chosen(context, second.batch, second.epilogue), chosen(fresh, second.batch, second.epilogue));
  }
  ASSERT_NE(expected[0], expected[1]) << "the choices do not differ";
}

/// A bias that is a C needs a beta in the workspace, if that is on the GPU.
TEST(ContextTest, ChoicesDependOnWhereTheScalarsAre) {
  const GemmBatch on_host = product(2048, 2048, 2048);
  GemmBatch on_device = on_host;
  const float scalar = 1.0F;
  on_device.first.alpha_at = on_device.first.beta_at = &scalar;
  const GemmEpilogue epilogue;
  expect_choices_apart({on_host, &epilogue}, {on_device, &epilogue}, SGEMM_ACCURACY_REPRODUCIBLE);
}

TEST(ContextTest, ChoicesDependOnTheAlignmentOfOperands) {
  const GemmBatch aligned = product(640, 640, 640);
  GemmBatch unaligned = aligned;
  ++unaligned.first.lda;
  expect_choices_apart({aligned}, {unaligned}, SGEMM_ACCURACY_COMPONENTWISE);
}

TEST(ContextTest, ChoicesDependOnWhetherThereIsAnythingToMultiply) {
  const GemmBatch whole = product(2048, 2048, 2048);
  GemmBatch nothing = whole;
  nothing.first.alpha = 0.0F;
  expect_choices_apart({whole}, {nothing}, SGEMM_ACCURACY_COMPONENTWISE);
}

/// An epilogue is a pass of its own behind the kernel for tall products, and moves more bytes where C is not D.
TEST(ContextTest, ChoicesDependOnTheBytesOfAPass) {
  const GemmBatch batch = product(16384, 128, 8192);
  GemmEpilogue in_place;
  in_place.activation = SGEMM_ACTIVATION_RELU;
  GemmEpilogue to_another = in_place;
  to_another.c_is_another_matrix = true;
  expect_choices_apart({batch, &in_place}, {batch, &to_another}, SGEMM_ACCURACY_COMPONENTWISE);
}

/// cuBLAS has all of it then, and no copy of C is made (handle_test.cpp).
TEST(ContextTest, AWorkspaceMayBeTooSmallForACopyOfC) {
  const Handle handle;
  alignas(SGEMM_WORKSPACE_ALIGNMENT) static char workspace[16384];
  constexpr std::size_t SMALL = 256;
  ASSERT_EQ(sgemm_set_workspace(handle, workspace, SMALL), SGEMM_STATUS_SUCCESS);
  EXPECT_EQ(GemmOperands(GemmCase{20, 30, 10}.with(SGEMM_POINTER_MODE_DEVICE)).call(handle), SGEMM_STATUS_SUCCESS);
  EXPECT_EQ(blas_calls().workspace, workspace);
  EXPECT_EQ(blas_calls().workspace_bytes, SMALL);
}

std::vector<std::string> kernels_for(const GemmBatch& batch, sgemm_accuracy_t accuracy) {
  constexpr int ALL = 132;  // multiprocessors
  std::string without;
  std::vector<std::string> names;
  for (const Algorithm& algorithm : algorithms_for(batch, accuracy, ALL, ALL, without)) {
    names.push_back(algorithm.kernel);
  }
  return names;
}

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

TEST(ContextTest, KernelsBeginWhereTheyWereMeasured) {
  EXPECT_TRUE(kernels_for(product(192, 192, 191), SGEMM_ACCURACY_COMPONENTWISE).empty());
  EXPECT_FALSE(kernels_for(product(192, 192, 192), SGEMM_ACCURACY_COMPONENTWISE).empty());
  EXPECT_FALSE(has(kernels_for(product(2048, 2048, 127), SGEMM_ACCURACY_FP32), "09_every_shape"));
  EXPECT_TRUE(has(kernels_for(product(2048, 2048, 128), SGEMM_ACCURACY_FP32), "09_every_shape"));
  EXPECT_FALSE(has(kernels_for(product(2048, 2048, 1023), SGEMM_ACCURACY_ROWWISE), "15_reproducible"));
  EXPECT_TRUE(has(kernels_for(product(2048, 2048, 1024), SGEMM_ACCURACY_ROWWISE), "15_reproducible"));
}

// ---- Which calls of a shape go to cuBLAS because the operands of the last ones were slow ----

/// Calls until one that takes no detour.
int calls_of_detour(Detour& detour) {
  int calls = 0;
  while (detour.next(false)) {
    ++calls;
  }
  return calls;
}

TEST(DetourTest, ASlowCallLeadsToOneAndOneTrial) {
  Detour detour;
  const auto expect_none = [&](const char* why) {
    for (int call = 0; call < 1000; ++call) {
      EXPECT_FALSE(detour.next(false)) << why;
    }
  };
  expect_none("no call was slow");
  EXPECT_TRUE(detour.next(true));
  EXPECT_EQ(calls_of_detour(detour), Detour::SHORTEST - 1);  // and the trial, of which nothing is known yet
  EXPECT_EQ(calls_of_detour(detour), Detour::SHORTEST);
  expect_none("the trial went well");
}

TEST(DetourTest, BadTrialsMakeItLongerUpToALimit) {
  Detour detour;
  int length = Detour::SHORTEST;
  for (int trial = 0; trial < 20; ++trial) {
    EXPECT_TRUE(detour.next(true));
    EXPECT_EQ(calls_of_detour(detour), length - 1) << trial;
    length = length < Detour::LONGEST ? 2 * length : length;
  }
}

/// The GPU may tell of a trial in the middle of the detour behind it.
TEST(DetourTest, ABadTrialIsHeardOfLate) {
  Detour detour;
  detour.next(true);
  calls_of_detour(detour);
  EXPECT_TRUE(detour.next(false));
  EXPECT_TRUE(detour.next(true));
  EXPECT_EQ(calls_of_detour(detour), 2 * Detour::SHORTEST - 1);
}

/// Operands that are always slow cost as much as cuBLAS, and a trial now and then.
TEST(DetourTest, TrialsAreFew) {
  Detour detour;
  int trials = 0;
  bool slow = false;
  for (int call = 0; call < 10000; ++call) {
    slow = !detour.next(slow);
    trials += slow ? 1 : 0;
  }
  EXPECT_LT(trials, 60);
}

/// docs/lab/libsgemm.md: a single row at 2048 makes 425 us of 160, and at 4096 1712 of 1082, where cuBLAS takes 2675.
TEST(DetourTest, TheTimeOfPassesIsAboutWhatWasMeasured) {
  EXPECT_NEAR(recomputed_microseconds({2048, 2048, 2048, 132}, 16), 265, 50);
  EXPECT_NEAR(recomputed_microseconds({4096, 4096, 4096, 132}, 32), 630, 80);
  EXPECT_EQ(recomputed_microseconds({4096, 4096, 4096, 132}, 0), 0);
  EXPECT_GT(recomputed_microseconds({4096, 4096, 4096, 132}, 2048), 4000) << "all of C";
}

}  // namespace
}  // namespace sgemm::test
