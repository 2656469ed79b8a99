// Predictions and choices for boards other than the H200 that was measured.

#include "board.hpp"

#include "algorithms.hpp"
#include "choice.hpp"
#include "common/tiling.cuh"
#include "gemm_case.hpp"
#include "host_blas.hpp"
#include "predicted_time.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>

namespace sgemm::test {
namespace {

/// As CUDA describes them: two transfers a clock.
Board board(const char* name, int multiprocessors, double clock_mhz, double memory_mhz, double bits) {
  return {name, multiprocessors, clock_mhz, 2 * memory_mhz * bits / 8};
}
const Board H200 = board("NVIDIA H200", 132, 1980, 3201, 6016);
const Board H100_SXM = board("NVIDIA H100 80GB HBM3", 132, 1980, 2619, 5120);
const Board H100_PCIE = board("NVIDIA H100 PCIe", 114, 1755, 1593, 5120);
const Board H100_NVL = board("NVIDIA H100 NVL", 132, 1785, 2619, 6016);
const Board H20 = board("NVIDIA H20", 78, 1980, 2619, 6144);
const Board GH200 = board("NVIDIA GH200 480GB", 132, 1980, 2619, 6144);
const Board MIG = board("NVIDIA H200 MIG 1g.18gb", 16, 1980, 3201, 6016);

TEST(BoardTest, TheMeasuredBoardIsAsItIs) {
  const BoardModel model = model_of(H200);
  const BoardModel plain;
  for (std::size_t method = 0; method < METHODS; ++method) {
    EXPECT_EQ(model.methods[method].clock, plain.methods[method].clock) << method;
    EXPECT_EQ(model.methods[method].throttled, plain.methods[method].throttled) << method;
  }
  EXPECT_DOUBLE_EQ(model[Method::bf16x6].bytes, plain[Method::bf16x6].bytes);
  EXPECT_EQ(model.margin, 1.0);
}

TEST(BoardTest, TheSameBoardWithSlowerMemoryHasAllButItsBandwidth) {
  const BoardModel model = model_of(H100_SXM);
  const BoardModel plain;
  EXPECT_EQ(model[Method::bf16x6].clock, plain[Method::bf16x6].clock);
  EXPECT_EQ(model.margin, 1.0);
  EXPECT_EQ(model.full_clock_cycles, plain.full_clock_cycles);
  EXPECT_NEAR(model[Method::bf16x6].bytes / plain[Method::bf16x6].bytes, 0.697, 0.001);
  EXPECT_NEAR(model.cublas.bytes / plain.cublas.bytes, 0.697, 0.001);
}

TEST(BoardTest, OtherBoardsHaveAMarginAndLessPower) {
  for (const Board& other : {H100_PCIE, H100_NVL, GH200, MIG}) {
    const BoardModel model = model_of(other);
    EXPECT_EQ(model.margin, 1.25) << other.name;
    EXPECT_LT(model[Method::bf16x6].throttled, 0.61 * BoardModel()[Method::bf16x6].throttled) << other.name;
    EXPECT_EQ(model.full_clock_cycles, 0.0) << other.name;
    EXPECT_TRUE(model.knows(Method::reproducible)) << other.name;
  }
  EXPECT_NEAR(model_of(H100_PCIE)[Method::every_shape].clock, 1755, 1e-9);
  EXPECT_NEAR(model_of(MIG)[Method::fp16x3].bytes, BoardModel()[Method::fp16x3].bytes * 16 / 132, 1e-3)
      << "a part of the GPU has a part of the bandwidth";
  EXPECT_NEAR(model_of(MIG).cublas.bytes, BoardModel().cublas.bytes, 1e-3) << "and cuBLAS, to be safe, all";
}

TEST(BoardTest, TensorCoresOfUnknownSpeedAreNotTaken) {
  EXPECT_FALSE(model_of(H20).knows(Method::bf16x6));
  EXPECT_TRUE(model_of(H20).knows(Method::every_shape));
  EXPECT_FALSE(model_of(board("NVIDIA H20-3e", 78, 1980, 3201, 6016)).knows(Method::fp16x3));
  EXPECT_FALSE(model_of(board("Graphics Device", 132, 1980, 3201, 6016)).knows(Method::fp16x3));
  EXPECT_FALSE(model_of({"NVIDIA H200", 132, 0, 0}).knows(Method::reproducible)) << "CUDA told no clock";
  EXPECT_EQ(model_of({"", 0, 0, 0}).margin, 1.25);
}

/// The plan of a batch of square products on a board.
std::string kernel_on(const Board& on, sgemm_accuracy_t accuracy, std::int64_t size, std::int64_t batch = 1) {
  host_board() = model_of(on);
  const Handle handle;
  EXPECT_EQ(sgemm_set_accuracy(handle, accuracy), SGEMM_STATUS_SUCCESS);
  // As many multiprocessors as the executor has are fewer than an H200's, or all of them.
  EXPECT_EQ(sgemm_set_multiprocessors(handle, on.multiprocessors), SGEMM_STATUS_SUCCESS);
  const sgemm_plan_t plan = planned(handle, product_of(size, size, size, SGEMM_OP_N, SGEMM_OP_N, batch));
  host_board() = {};
  return plan.kernel;
}

TEST(BoardTest, TheChoiceIsThatOfTheBoard) {
  EXPECT_EQ(kernel_on(H200, SGEMM_ACCURACY_COMPONENTWISE, 4096), "12_fp16x3_lines");
  EXPECT_EQ(kernel_on(H100_SXM, SGEMM_ACCURACY_COMPONENTWISE, 4096), "12_fp16x3_lines");
  EXPECT_EQ(kernel_on(H100_PCIE, SGEMM_ACCURACY_NORMWISE, 4096), "12_fp16x3");
  for (const sgemm_accuracy_t accuracy : ACCURACIES) {
    EXPECT_EQ(kernel_on(H20, accuracy, 8192), "cublas") << accuracy;
  }
  // Splitting small products costs time of memory, which an H100 has less of.
  EXPECT_EQ(kernel_on(H200, SGEMM_ACCURACY_NORMWISE, 200, 1000), "12_fp16x3");
  EXPECT_EQ(kernel_on(H200, SGEMM_ACCURACY_NORMWISE, 191, 1000), "cublas");
  EXPECT_EQ(kernel_on(H100_SXM, SGEMM_ACCURACY_NORMWISE, 200, 1000), "cublas");
  EXPECT_EQ(kernel_on(H100_SXM, SGEMM_ACCURACY_NORMWISE, 300, 1000), "12_fp16x3");
  // 3 % are a gain on the board that was measured alone.
  EXPECT_EQ(kernel_on(H200, SGEMM_ACCURACY_FP32, 4096), "09_every_shape");
  EXPECT_EQ(kernel_on(H100_PCIE, SGEMM_ACCURACY_FP32, 4096), "cublas");
  // A prediction that is less than 1.25 times as fast as cuBLAS is not enough there.
  EXPECT_EQ(kernel_on(H200, SGEMM_ACCURACY_COMPONENTWISE, 672), "11_bf16x6");
  EXPECT_EQ(kernel_on(MIG, SGEMM_ACCURACY_COMPONENTWISE, 672), "cublas");
}

TEST(BoardTest, TimesGoByTheClockAndTheMemory) {
  host_board() = model_of(H100_PCIE);
  const double pcie = cublas_microseconds({8192, 8192, 8192, 132}, 1);
  const double pcie_vector = cublas_microseconds({1, 8192, 8192, 132}, 1);
  host_board() = {};
  EXPECT_NEAR(pcie / cublas_microseconds({8192, 8192, 8192, 132}, 1), 1980.0 / 1755, 0.01);
  EXPECT_GT(pcie_vector / cublas_microseconds({1, 8192, 8192, 132}, 1), 2.0);
}

/// A kernel that reads A while it multiplies takes at least as long as memory does. An H100 took 99 us for one row and
/// 100 us for 16 rows of 14336 x 4096, where cuBLAS took 85 and 154.
TEST(BoardTest, FewRowsTakeTheTimeOfTheirBytes) {
  host_board() = model_of(H100_SXM);
  for (const auto& [rows, us] : {std::pair{1, 99}, {16, 100}}) {
    GemmProblem few;
    few.m = rows;
    few.n = 14336;
    few.k = few.lda = few.ldb = 4096;
    few.ldc = few.n;
    few.b_transposed = true;
    const double predicted = tall_bf16x6_algorithms({few}, H100_SXM.multiprocessors).front().microseconds();
    EXPECT_NEAR(predicted, us, 2);
    EXPECT_EQ(predicted<cublas_microseconds({rows, few.n, few.k, H100_SXM.multiprocessors, 1}, 1), rows> 1);
  }
  host_board() = {};
}

/// The CUDA programming guide's table of compute capabilities.
TEST(ThreadsTest, AMultiprocessorHoldsAsManyAsTheGuideSays) {
  for (const int architecture : {800, 900, 1000, 1030}) {
    EXPECT_EQ(threads_per_sm(architecture), 2048) << architecture;
  }
  for (const int architecture : {860, 870, 890, 1100, 1200, 1210}) {
    EXPECT_EQ(threads_per_sm(architecture), 1536) << architecture;
  }
  EXPECT_EQ(threads_per_sm(750), 1024);
}

}  // namespace
}  // namespace sgemm::test
