// What a handle does besides computing: where the stream and the workspace go, when memory is allocated, when cuBLAS
// gets a call, and what is remembered of choices and of operands that were slow. On the executor, with a product on the
// CPU in cuBLAS's place.

#include "algorithms.hpp"
#include "common/cuda_check.hpp"
#include "context.hpp"
#include "detour.hpp"
#include "epilogue_case.hpp"
#include "gemm_batch.hpp"
#include "host_blas.hpp"
#include "predicted_time.hpp"
#include "status_error.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

namespace sgemm::test {
namespace {

/// A product that chapter 12 gets, and little for the executor to do: 419 million multiplications.
GemmCase chapter_12_product() {
  return GemmCase{1280, 1280, 256, SGEMM_ORDER_COLUMN_MAJOR, SGEMM_OP_N, SGEMM_OP_T}.with(SGEMM_ACCURACY_NORMWISE);
}

sgemm_plan_t plan_of(sgemm_handle_t handle, const GemmCase& product) {
  GemmOperands operands(product);
  set(handle, product);
  return planned(handle, operands.product());
}

/// A call that has this status, and writes nothing.
void expect_unchanged(sgemm_handle_t handle, const GemmCase& product, sgemm_status_t status) {
  GemmOperands operands(product);
  const Expected expected(operands, 1);
  EXPECT_EQ(operands.call(handle), status);
  expected.check_unchanged(operands);
}

class FreshHostTest : public testing::Test {
 protected:
  FreshHostTest() {
    blas_calls() = {};
    pool_state() = {};
    capture_state() = {};
    host_board() = {};
  }
};

class HandleTest : public FreshHostTest {
 protected:
  const Handle handle;
};

using LengthyHandleTest = HandleTest;

TEST_F(LengthyHandleTest, ALargeProductTakesMemoryFromThePool) {
  const GemmCase product = chapter_12_product();
  ASSERT_STREQ(plan_of(handle, product).kernel, "12_fp16x3") << plan_of(handle, product).reason;
  expect_right(handle, product);
  EXPECT_EQ(blas_calls().products, 0);
  EXPECT_EQ(pool_state().allocations, 1);
  EXPECT_EQ(pool_state().live, 0);
}

/// CUDA would wait for all streams where a kernel of cuBLAS is the first of its kind.
TEST_F(LengthyHandleTest, WhereThePoolIsFullChapter09GetsTheCall) {
  pool_state().full = true;
  expect_right(handle, chapter_12_product());
  expect_right(handle, chapter_12_product().with(&GemmCase::k, 100));  // it is not predicted to be faster than cuBLAS
  EXPECT_EQ(blas_calls().products, 0);
}

TEST_F(LengthyHandleTest, ALimitToTheMemoryIsThatOfAPlan) {
  const GemmCase product = chapter_12_product();
  ASSERT_EQ(sgemm_set_memory_limit(handle, plan_of(handle, product).workspace_bytes), SGEMM_STATUS_SUCCESS);
  EXPECT_STREQ(plan_of(handle, product).kernel, "12_fp16x3");
  ASSERT_EQ(sgemm_set_memory_limit(handle, 1000), SGEMM_STATUS_SUCCESS);
  EXPECT_STREQ(plan_of(handle, product).kernel, "cublas");
  expect_right(handle, product);
  EXPECT_EQ(blas_calls().products, 1);
  EXPECT_EQ(pool_state().allocations, 0);
}

TEST_F(LengthyHandleTest, AWorkspaceIsUsedAndNothingIsAllocated) {
  const GemmCase product = chapter_12_product();
  const std::size_t bytes = plan_of(handle, product).workspace_bytes;
  Mirrored<float> memory(bytes / sizeof(float) + 1, NAN_FLOAT);
  void* const workspace = memory.device();
  ASSERT_EQ(sgemm_set_workspace(handle, workspace, bytes), SGEMM_STATUS_SUCCESS);
  expect_right(handle, product);
  EXPECT_EQ(blas_calls().products, 0);

  ASSERT_EQ(sgemm_set_workspace(handle, workspace, 256), SGEMM_STATUS_SUCCESS);
  EXPECT_STREQ(plan_of(handle, product).kernel, "cublas");
  expect_right(handle, product);
  EXPECT_EQ(blas_calls().products, 1);
  EXPECT_EQ(blas_calls().workspace, workspace);
  EXPECT_EQ(blas_calls().workspace_bytes, 256U);
  EXPECT_EQ(pool_state().allocations, 0);

  ASSERT_EQ(sgemm_set_workspace(handle, nullptr, 0), SGEMM_STATUS_SUCCESS);
  EXPECT_STREQ(plan_of(handle, product).kernel, "12_fp16x3");
}

/// cuBLAS multiplies by an alpha of 0 on the GPU, so that the library keeps a copy of beta * C beside it.
GemmCase product_by_cublas_of_zero_on_the_gpu() {
  const GemmCase product{20, 30, 10, SGEMM_ORDER_ROW_MAJOR, SGEMM_OP_N, SGEMM_OP_T, 0.0F, 0.5F, 2};
  return product.batched(3).with(SGEMM_POINTER_MODE_DEVICE);
}

TEST_F(HandleTest, AnAlphaOfZeroOnTheGpuTakesACopyOfC) {
  const GemmCase product = product_by_cublas_of_zero_on_the_gpu();
  const sgemm_plan_t plan = plan_of(handle, product);
  EXPECT_STREQ(plan.kernel, "cublas");
  EXPECT_EQ(plan.launches, 3);
  EXPECT_GE(plan.workspace_bytes, sizeof(float) * 3 * 20 * 30);
  expect_right(handle, product);
  EXPECT_EQ(pool_state().allocations, 1);
  EXPECT_EQ(pool_state().live, 0);

  // cuBLAS shares a workspace with the copy during such a call.
  alignas(SGEMM_WORKSPACE_ALIGNMENT) static char workspace[16384];
  ASSERT_EQ(sgemm_set_workspace(handle, workspace, sizeof workspace), SGEMM_STATUS_SUCCESS);
  expect_right(handle, product);
  EXPECT_EQ(blas_calls().workspace, workspace + plan.workspace_bytes);
  EXPECT_EQ(blas_calls().workspace_bytes, sizeof workspace - plan.workspace_bytes);
  EXPECT_EQ(pool_state().allocations, 1);

  // It has all of it where that is too small for a copy, and during others.
  ASSERT_EQ(sgemm_set_workspace(handle, workspace, 256), SGEMM_STATUS_SUCCESS);
  expect_right(handle, product.scaled(1.0F, 0.5F));
  EXPECT_EQ(blas_calls().workspace, workspace);
  EXPECT_EQ(blas_calls().workspace_bytes, 256U);
  ASSERT_EQ(sgemm_set_workspace(handle, workspace, sizeof workspace), SGEMM_STATUS_SUCCESS);
  expect_right(handle, product.with(SGEMM_POINTER_MODE_HOST));
  EXPECT_EQ(blas_calls().workspace, workspace);
  EXPECT_EQ(blas_calls().workspace_bytes, sizeof workspace);
}

TEST_F(HandleTest, WithoutRoomForTheCopyChapter09GetsTheCall) {
  pool_state().full = true;
  expect_right(handle, product_by_cublas_of_zero_on_the_gpu());
  EXPECT_EQ(blas_calls().products, 0);
}

/// As under the drop-in, where cuBLAS is the program's own.
TEST_F(HandleTest, WhatCublasRefusesIsTheStatusOfTheCall) {
  blas_calls().refuses = true;
  expect_unchanged(handle, {5, 6, 7}, SGEMM_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(blas_calls().products, 1);
  expect_unchanged(handle, product_by_cublas_of_zero_on_the_gpu(), SGEMM_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(pool_state().allocations, 1);
  EXPECT_EQ(pool_state().live, 0);
}

/// A caller with cuBLAS of its own goes there itself.
TEST_F(HandleTest, WithoutAFallbackNothingIsEnqueued) {
  EXPECT_EQ(setting(sgemm_get_fallback, handle), SGEMM_FALLBACK_CUBLAS);
  ASSERT_EQ(sgemm_set_fallback(handle, SGEMM_FALLBACK_NONE), SGEMM_STATUS_SUCCESS);
  EXPECT_EQ(setting(sgemm_get_fallback, handle), SGEMM_FALLBACK_NONE);
  expect_unchanged(handle, {5, 6, 7}, SGEMM_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(blas_calls().products, 0);
}

/// A handle of cuBLAS takes 64 MiB, and making one would break a capture.
TEST_F(HandleTest, CublasHasAHandleFromItsFirstCallOrPlanOn) {
  const Handle planned;
  ASSERT_EQ(sgemm_set_fallback(planned, SGEMM_FALLBACK_NONE), SGEMM_STATUS_SUCCESS);
  EXPECT_STREQ(plan_of(planned, {5, 6, 7}).kernel, "cublas");
  EXPECT_EQ(blas_calls().handles, 0);
  ASSERT_EQ(sgemm_set_fallback(planned, SGEMM_FALLBACK_CUBLAS), SGEMM_STATUS_SUCCESS);
  plan_of(planned, {5, 6, 7});
  EXPECT_EQ(blas_calls().handles, 1);

  blas_calls().captured = true;
  expect_unchanged(handle, {5, 6, 7}, SGEMM_STATUS_NOT_SUPPORTED);
  EXPECT_STREQ(plan_of(handle, {5, 6, 7}).kernel, "cublas");
  expect_right(planned, {5, 6, 7});
  blas_calls().captured = false;
  expect_right(handle, {5, 6, 7});
  expect_right(handle, {5, 6, 7});
  EXPECT_EQ(blas_calls().handles, 2);
}

TEST_F(HandleTest, StreamsAndMultiprocessorsReachCublas) {
  int unused = 0;
  const auto stream = reinterpret_cast<sgemm_stream_t>(&unused);
  ASSERT_EQ(sgemm_set_stream(handle, stream), SGEMM_STATUS_SUCCESS);
  GemmOperands operands({5, 6, 7});
  ASSERT_EQ(operands.call(handle), SGEMM_STATUS_SUCCESS);
  EXPECT_EQ(blas_calls().stream, stream);
  EXPECT_EQ(setting(sgemm_get_stream, handle), stream);
  ASSERT_EQ(sgemm_set_multiprocessors(handle, 100), SGEMM_STATUS_SUCCESS);
  EXPECT_EQ(blas_calls().multiprocessors, 100);
}

TEST_F(HandleTest, FewerMultiprocessorsChangeThePlan) {
  const GemmCase product = GemmCase{2048, 2048, 2048}.with(SGEMM_ACCURACY_FP32);
  EXPECT_STREQ(plan_of(handle, product).configuration, "128x256") << plan_of(handle, product).reason;
  const double predicted_us = plan_of(handle, product).predicted_us;
  ASSERT_EQ(sgemm_set_multiprocessors(handle, 66), SGEMM_STATUS_SUCCESS);
  EXPECT_STREQ(plan_of(handle, product).configuration, "128x256 stream-k") << "with blocks for so many";
  EXPECT_GT(plan_of(handle, product).predicted_us, 1.9 * predicted_us);
}

TEST_F(HandleTest, CublasGetsWhatNoChapterTakes) {
  const GemmCase product = GemmCase{2048, 2048, 127}.with(SGEMM_ACCURACY_FP32);
  EXPECT_STREQ(plan_of(handle, product).reason, "chapter 09 takes no sums of fewer than 128 products");

  const std::int64_t beyond = std::int64_t{1} << 31U;
  EXPECT_STREQ(planned(handle, product_of(beyond, 64, 64)).reason, "a dimension of 2^31 or more");
  const std::int64_t large = std::int64_t{1} << 30U;
  EXPECT_STREQ(planned(handle, product_of(large, large, 64)).reason, "more than 2^40 elements of C");
  for (const std::int64_t count : {beyond, std::numeric_limits<std::int64_t>::max()}) {
    for (const std::int64_t n : {std::int64_t{64}, std::int64_t{4096}}) {
      const auto batch = [&](std::int64_t size) {
        return by_address(product_of(4096, n, 4096, SGEMM_OP_N, SGEMM_OP_N, size));
      };
      EXPECT_STREQ(planned(handle, batch(count)).reason, "a batch of 2^31 products or more");
      planned(handle, batch(beyond - 1));
    }
  }
}

/// At 400 TFLOP/s, which no GPU of today has, also for operands that no memory has.
TEST_F(HandleTest, PlansOfTheLongestSumsTellTheirTime) {
  constexpr std::int64_t SIZE = 2000;
  constexpr std::int64_t LONGEST = std::numeric_limits<int>::max();
  for (const sgemm_accuracy_t accuracy : OF_SPLIT_OPERANDS) {
    ASSERT_EQ(sgemm_set_accuracy(handle, accuracy), SGEMM_STATUS_SUCCESS);
    EXPECT_GT(planned(handle, product_of(SIZE, SIZE, LONGEST)).predicted_us, 2.0 * SIZE * SIZE * LONGEST / 400e6);
  }
}

TEST_F(HandleTest, BatchesGoToCublasInOneCall) {
  expect_right(handle, GemmCase{20, 30, 10}.batched(5));
  EXPECT_EQ(blas_calls().products, 1);
  EXPECT_EQ(blas_calls().batch_count, 5);
}

/// The second call knows of the first, because the executor has computed it by then. cuBLAS refuses, which spares time.
TEST_F(LengthyHandleTest, OperandsThatAreSlowTakeADetourUntilThatPasses) {
  GemmOperands operands(chapter_12_product());
  const float finite = operands.op_a(0, 5, 7);
  operands.op_a(0, 5, 7) = INF;
  operands.upload();
  blas_calls().refuses = true;
  const auto expect = [&](int calls, sgemm_status_t status, const char* what) {
    const int products = blas_calls().products;
    for (int call = 1; call <= calls; ++call) {
      EXPECT_EQ(operands.call(handle), status) << what;
      EXPECT_EQ(blas_calls().products - products, status == SGEMM_STATUS_SUCCESS ? 0 : call);
    }
  };
  expect(1, SGEMM_STATUS_SUCCESS, "nothing is known of the operands");
  expect(Detour::SHORTEST, SGEMM_STATUS_NOT_SUPPORTED, "the first detour");
  operands.op_a(0, 5, 7) = finite;
  operands.upload();
  expect(1, SGEMM_STATUS_SUCCESS, "the trial");
  expect(Detour::SHORTEST, SGEMM_STATUS_NOT_SUPPORTED, "nothing is known of the trial yet");
  expect(2, SGEMM_STATUS_SUCCESS, "the trial went well");
}

/// Bits may not depend on the memory that is free.
TEST_F(LengthyHandleTest, ARepeatableHandleWithoutRoomComputesNothing) {
  ASSERT_EQ(sgemm_set_repeatable(handle, 1), SGEMM_STATUS_SUCCESS);
  pool_state().full = true;
  for (const GemmCase& product : {chapter_12_product(), product_by_cublas_of_zero_on_the_gpu()}) {
    expect_unchanged(handle, product, SGEMM_STATUS_ALLOC_FAILED);
  }
  EXPECT_EQ(blas_calls().products, 0);
  EXPECT_EQ(sgemm_set_repeatable(handle, 2), SGEMM_STATUS_INVALID_VALUE);
  EXPECT_EQ(setting(sgemm_get_repeatable, handle), 1);
  EXPECT_EQ(pool_state().kept_freed, 0);
  EXPECT_EQ(sgemm_set_repeatable(handle, 0), SGEMM_STATUS_SUCCESS);
  EXPECT_EQ(pool_state().kept_freed, 1);
}

/// Not even C is copied to D.
TEST_F(HandleTest, WithoutRoomAnotherDStaysAsItIs) {
  ASSERT_EQ(sgemm_set_repeatable(handle, 1), SGEMM_STATUS_SUCCESS);
  pool_state().full = true;
  for (const sgemm_accuracy_t accuracy : {SGEMM_ACCURACY_COMPONENTWISE, SGEMM_ACCURACY_REPRODUCIBLE}) {
    const GemmCase product{20, 30, 10, SGEMM_ORDER_ROW_MAJOR, SGEMM_OP_N, SGEMM_OP_N, 1.0F, 1.0F};
    EpilogueOperands operands(product.with(accuracy).with(SGEMM_POINTER_MODE_DEVICE), EPILOGUES[1]);
    const std::vector<float> before = operands.d().memory().host();
    EXPECT_EQ(operands.call(handle), SGEMM_STATUS_ALLOC_FAILED);
    EXPECT_EQ(operands.d().memory().download(), before);
  }
}

TEST_F(HandleTest, ALimitToTheMemoryIsASettingOfTheHandle) {
  setenv("SGEMM_MEMORY", "512M", 1);
  EXPECT_EQ(setting(sgemm_get_memory_limit, Handle()), std::size_t{512} << 20U);
  unsetenv("SGEMM_MEMORY");
  EXPECT_EQ(setting(sgemm_get_memory_limit, Handle()), std::numeric_limits<std::size_t>::max());
}

TEST_F(HandleTest, AWrongSgemmRepeatableIsNamed) {
  setenv("SGEMM_REPEATABLE", "off", 1);
  testing::internal::CaptureStderr();
  EXPECT_EQ(setting(sgemm_get_repeatable, Handle()), 1);
  EXPECT_EQ(setting(sgemm_get_repeatable, Handle()), 1);
  unsetenv("SGEMM_REPEATABLE");
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "libsgemm: SGEMM_REPEATABLE=off is neither 0 nor 1; it is taken for 1\n");
}

/// cudaDeviceReset() has destroyed what the handle has of CUDA's, so it is not freed.
TEST_F(FreshHostTest, AfterAResetOfTheDeviceAHandleIsRefusedAndANewOneWorks) {
  static sgemm_handle_t handle = nullptr;  // which LeakSanitizer finds
  ASSERT_EQ(sgemm_create(&handle), SGEMM_STATUS_SUCCESS);
  GemmOperands operands({5, 6, 7});
  EXPECT_EQ(operands.call(handle), SGEMM_STATUS_SUCCESS);
  ++capture_state().context;
  EXPECT_EQ(operands.call(handle), SGEMM_STATUS_NOT_INITIALIZED);
  EXPECT_EQ(sgemm_set_stream(handle, nullptr), SGEMM_STATUS_NOT_INITIALIZED);
  EXPECT_EQ(sgemm_trim(handle), SGEMM_STATUS_NOT_INITIALIZED);
  EXPECT_EQ(sgemm_destroy(handle), SGEMM_STATUS_NOT_INITIALIZED);
  const Handle next;
  EXPECT_EQ(operands.call(next), SGEMM_STATUS_SUCCESS);
}

TEST_F(LengthyHandleTest, SgemmRepeatableOrNoCublasAllowsNoDetours) {
  setenv("SGEMM_REPEATABLE", "1", 1);
  const Handle repeats;
  unsetenv("SGEMM_REPEATABLE");
  GemmOperands operands(chapter_12_product(), [](GemmOperands& all) { all.op_a(0, 5, 7) = INF; });
  for (int call = 0; call < 2; ++call) {
    EXPECT_EQ(operands.call(repeats), SGEMM_STATUS_SUCCESS);
  }
  for (bool BlasCalls::*const hindrance : {&BlasCalls::missing, &BlasCalls::no_room}) {
    blas_calls().*hindrance = true;
    const Handle handle;
    for (int call = 0; call < 2; ++call) {
      EXPECT_EQ(operands.call(handle), SGEMM_STATUS_SUCCESS);
    }
    blas_calls().*hindrance = false;
  }
  EXPECT_EQ(blas_calls().products, 0);
}

/// cuBLAS allocates where it makes a handle, which CUDA forbids while any thread captures.
TEST_F(FreshHostTest, AHandleMayBeMadeAndFreedWhileAnotherThreadCaptures) {
  capture_state().elsewhere = true;
  sgemm_handle_t handle = nullptr;
  EXPECT_EQ(sgemm_create(&handle), SGEMM_STATUS_SUCCESS);
  EXPECT_EQ(GemmOperands({5, 6, 7}).call(handle), SGEMM_STATUS_SUCCESS);
  EXPECT_EQ(sgemm_trim(handle), SGEMM_STATUS_SUCCESS);
  EXPECT_EQ(sgemm_destroy(handle), SGEMM_STATUS_SUCCESS);
  EXPECT_EQ(capture_state().broken, 0);
  EXPECT_EQ(capture_state().relaxed, 0) << "the mode of the program's own calls has changed";
}

/// An error that the program has not looked at yet is its own.
TEST_F(FreshHostTest, ErrorsOfTheProgramStay) {
  ASSERT_NE(cudaSetDevice(5), cudaSuccess);
  const Handle handle;
  expect_right(handle, {5, 6, 7});
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidDevice);
}

TEST_F(HandleTest, AForkedChildIsRefused) {
  GemmOperands operands({5, 6, 7});
  const pid_t child = fork();
  if (child == 0) {
    const bool refused = operands.call(handle) == SGEMM_STATUS_NOT_INITIALIZED &&
                         sgemm_trim(handle) == SGEMM_STATUS_NOT_INITIALIZED &&
                         sgemm_destroy(handle) == SGEMM_STATUS_NOT_INITIALIZED;
    _exit(refused ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(operands.call(handle), SGEMM_STATUS_SUCCESS);
}

/// An algorithm of three launches, each of one product, of which the second fails, or of one that fails.
struct FailingAlgorithm {
  int enqueued = 0;
  Algorithm algorithm;

  FailingAlgorithm() {
    algorithm.launches = 3;
    algorithm.launch = [this](const GemmBatch& batch, void*, cudaStream_t) {
      for (std::int64_t i = 0; i < batch.count; ++i) {
        if (i == 1 || algorithm.launches == 1) {
          throw CudaError(cudaErrorMemoryAllocation, "", "", 0);
        }
        ++enqueued;
      }
    };
  }
};

TEST_F(HandleTest, CublasComputesABatchThatNothingWasAddedTo) {
  GemmBatch batch{};
  batch.count = 3;
  batch.first.alpha = 1.0F;
  FailingAlgorithm failing;
  EXPECT_FALSE(enqueue(failing.algorithm, batch, nullptr, nullptr, nullptr))
      << "C is not read, so that it can be computed again";
  EXPECT_EQ(failing.enqueued, 1);
  batch.first.beta = 1.0F;
  failing.algorithm.launches = 1;
  EXPECT_FALSE(enqueue(failing.algorithm, batch, nullptr, nullptr, nullptr)) << "the only launch has failed";
}

TEST_F(HandleTest, ABatchThatFailsInTheMiddleIsNotBegunAgain) {
  GemmBatch batch{};
  batch.count = 3;
  const auto status = [&] {
    FailingAlgorithm failing;
    try {
      enqueue(failing.algorithm, batch, nullptr, nullptr, nullptr);
    } catch (const StatusError& error) {
      return error.status();
    }
    return SGEMM_STATUS_SUCCESS;
  };
  batch.first.beta = 1.0F;
  EXPECT_EQ(status(), SGEMM_STATUS_EXECUTION_FAILED);
  batch.first.beta = 0.0F;
  const float beta = 0.0F;  // nobody on the host looks
  batch.first.alpha_at = batch.first.beta_at = &beta;
  EXPECT_EQ(status(), SGEMM_STATUS_EXECUTION_FAILED);
}

// ---- What a handle remembers of its choices ----

/// A product of aligned operands, of which nothing is read.
GemmBatch aligned_product(std::int64_t m, std::int64_t n, std::int64_t k) {
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
  const auto last_of = [&](const std::vector<Call>& calls) {
    sgemm_context context;
    context.accuracy = accuracy;
    std::string last;
    for (const Call& call : calls) {
      last = chosen(context, call.batch, call.epilogue);
    }
    return last;
  };
  ASSERT_NE(last_of({one}), last_of({other})) << "the choices do not differ";
  EXPECT_EQ(last_of({one, other}), last_of({other}));
  EXPECT_EQ(last_of({other, one}), last_of({one}));
}

/// A bias that is a C needs a beta in the workspace, if that is on the GPU.
TEST(ContextTest, ChoicesDependOnWhereTheScalarsAre) {
  const GemmBatch on_host = aligned_product(2048, 2048, 2048);
  GemmBatch on_device = on_host;
  const float scalar = 1.0F;
  on_device.first.alpha_at = on_device.first.beta_at = &scalar;
  const GemmEpilogue epilogue;
  expect_choices_apart({on_host, &epilogue}, {on_device, &epilogue}, SGEMM_ACCURACY_REPRODUCIBLE);
}

TEST(ContextTest, ChoicesDependOnTheAlignmentOfOperands) {
  const GemmBatch aligned = aligned_product(640, 640, 640);
  GemmBatch unaligned = aligned;
  ++unaligned.first.lda;
  expect_choices_apart({aligned}, {unaligned}, SGEMM_ACCURACY_COMPONENTWISE);
  // The kernel for few rows is slow where the long operand is unaligned, and not where the short one is.
  GemmBatch unaligned_a = aligned_product(16, 4096, 4096);
  GemmBatch unaligned_b = unaligned_a;
  ++unaligned_a.first.lda;
  ++unaligned_b.first.ldb;
  expect_choices_apart({unaligned_a}, {unaligned_b}, SGEMM_ACCURACY_COMPONENTWISE);
}

TEST(ContextTest, ChoicesDependOnWhetherThereIsAnythingToMultiply) {
  const GemmBatch whole = aligned_product(2048, 2048, 2048);
  GemmBatch nothing = whole;
  nothing.first.alpha = 0.0F;
  expect_choices_apart({whole}, {nothing}, SGEMM_ACCURACY_COMPONENTWISE);
}

/// An epilogue is a pass of its own behind the kernel for tall products, and moves more bytes where C is not D.
TEST(ContextTest, ChoicesDependOnTheBytesOfAPass) {
  const GemmBatch batch = aligned_product(16384, 128, 8192);
  GemmEpilogue in_place;
  in_place.activation = SGEMM_ACTIVATION_RELU;
  GemmEpilogue to_another = in_place;
  to_another.c_is_another_matrix = true;
  expect_choices_apart({batch, &in_place}, {batch, &to_another}, SGEMM_ACCURACY_COMPONENTWISE);
}

TEST(ContextTest, KernelsBeginWhereTheyWereMeasured) {
  for (const auto& [size, k, accuracy, kernel] : {std::tuple{192, 192, SGEMM_ACCURACY_COMPONENTWISE, ""},  // any
                                                  {2048, 128, SGEMM_ACCURACY_FP32, "09_every_shape"},
                                                  {2048, 1024, SGEMM_ACCURACY_ROWWISE, "15_reproducible"}}) {
    for (const int less : {0, 1}) {
      std::string without;
      const std::vector<Algorithm> all =
          algorithms_for(aligned_product(size, size, k - less), accuracy, MULTIPROCESSORS, MULTIPROCESSORS, without);
      const auto is_it = [&, name = std::string(kernel)](const Algorithm& one) { return one.kernel.starts_with(name); };
      EXPECT_EQ(std::any_of(all.begin(), all.end(), is_it), less == 0) << kernel << ", " << k - less;
    }
  }
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
