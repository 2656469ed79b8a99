// Products with an epilogue through the C interface: all kinds, what is refused, and plans. Compiled for the executor
// and for GPUs.

#include "epilogue_case.hpp"

#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

namespace sgemm::test {
namespace {

TEST(EpilogueInterfaceTest, AllKindsInAllLayouts) {
  const Handle handle;
  for (const sgemm_accuracy_t accuracy : {SGEMM_ACCURACY_COMPONENTWISE, SGEMM_ACCURACY_REPRODUCIBLE}) {
    if (accuracy == SGEMM_ACCURACY_REPRODUCIBLE && !has_wgmma()) {
      continue;
    }
    for (const auto& [kind, order, mode] : combinations(EPILOGUES, ORDERS, POINTER_MODES)) {
      for (const auto& [alpha, beta] : {std::pair{1.0F, 0.0F}, {-2.5F, 0.5F}, {0.0F, 1.5F}}) {
        const GemmCase product{13, 37, 29, order, SGEMM_OP_T, SGEMM_OP_N, alpha, beta, 3};
        expect_right(handle, product.with(accuracy).with(mode), kind);
      }
    }
  }
}

TEST(EpilogueInterfaceTest, ColumnsThatFillNoBlockAndEmptySums) {
  const Handle handle;
  for (const EpilogueKind& kind : EPILOGUES) {
    expect_right(handle, {9, 300, 5}, kind);
    expect_right(handle, {300, 9, 5, SGEMM_ORDER_COLUMN_MAJOR, SGEMM_OP_N, SGEMM_OP_N, 1.0F, 1.0F}, kind);
    expect_right(handle, {5, 6, 0, SGEMM_ORDER_ROW_MAJOR, SGEMM_OP_N, SGEMM_OP_N, 1.0F, 2.0F}, kind);
  }
}

TEST(EpilogueInterfaceTest, WithoutAnEpilogueItIsTheProduct) {
  const Handle handle;
  expect_right(handle, {33, 20, 7, SGEMM_ORDER_COLUMN_MAJOR, SGEMM_OP_N, SGEMM_OP_N, 1.0F, 2.0F}, EpilogueKind{});
}

TEST(EpilogueInterfaceTest, BadArgumentsWriteNothing) {
  const Handle handle;
  EpilogueOperands operands({20, 30, 10, SGEMM_ORDER_ROW_MAJOR, SGEMM_OP_N, SGEMM_OP_N, 1.0F, 1.0F},
                            {SGEMM_ACTIVATION_RELU, true, SGEMM_BIAS_OF_ROWS, true, true});
  const sgemm_epilogue_t good = operands.epilogue();
  const auto& [relu, bias_of, bias, aux, ld] = good;
  void* const misaligned = static_cast<char*>(aux) + 2;
  const auto expect_refused = [&](const char* what, const sgemm_product_t& call) {
    EXPECT_EQ(sgemm_run(handle, &call), SGEMM_STATUS_INVALID_VALUE) << what;
  };
  for (const auto& [what, epilogue] :
       {std::pair{"activation", sgemm_epilogue_t{static_cast<sgemm_activation_t>(5), bias_of, bias, aux, ld}},
        {"bias_of", {relu, static_cast<sgemm_bias_t>(2), bias, aux, ld}},
        {"no multiple of 128", {relu, bias_of, bias, aux, 64}},
        {"no leading dimension", {relu, bias_of, bias, aux, 0}},
        {"shorter than a row", {SGEMM_ACTIVATION_GELU, bias_of, bias, aux, 29}},
        {"without an activation", {SGEMM_ACTIVATION_NONE, bias_of, bias, aux, ld}},
        {"no mask", {SGEMM_ACTIVATION_RELU_GRADIENT, bias_of, bias, nullptr, ld}},
        {"misaligned mask", {SGEMM_ACTIVATION_RELU_GRADIENT, bias_of, bias, misaligned, ld}},
        {"no argument", {SGEMM_ACTIVATION_GELU_GRADIENT, bias_of, bias, nullptr, ld}},
        {"misaligned argument", {SGEMM_ACTIVATION_GELU_GRADIENT, bias_of, bias, misaligned, ld}}}) {
    expect_refused(what, operands.product(epilogue));
  }
  sgemm_product_t call = operands.product(good);
  call.ldc = 29;
  expect_refused("ldc", call);
  call.c = call.d;
  call.ldc = 31;
  expect_refused("ldc of a C that is D", call);
  call.c = reinterpret_cast<float*>(reinterpret_cast<char*>(call.d) + 2);
  expect_refused("misaligned C", call);
  call = operands.product(good);
  call.batch_count = 2;
  expect_refused("batch", call);
  call.epilogue = nullptr;
  expect_refused("batch with another C", call);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(operands.other_d.memory().download(), std::vector<float>(operands.other_d.memory().host().size(), OUTSIDE));
  call = operands.product(good);
  const float beta = 0.0F;
  call.beta = &beta;
  call.c = nullptr;
  EXPECT_EQ(sgemm_run(handle, &call), SGEMM_STATUS_SUCCESS) << "a C that is not read";
}

sgemm_plan_t plan_of(sgemm_handle_t handle, std::int64_t size, sgemm_op_t transa, const sgemm_epilogue_t& epilogue) {
  sgemm_product_t product = product_of(size, size, size, transa);
  product.order = SGEMM_ORDER_COLUMN_MAJOR;
  product.epilogue = &epilogue;
  return planned(handle, product);
}

/// In the store an epilogue takes no time in the prediction, and a pass of its own does.
TEST(EpilogueInterfaceTest, PlansKnowWhatAnEpilogueTakes) {
  if (!has_wgmma()) {
    GTEST_SKIP() << "chapter 11 needs wgmma";
  }
  const Handle handle;
  constexpr std::int64_t SIZE = 2048;
  const float bias = 0.0F;
  const sgemm_epilogue_t none{};
  sgemm_epilogue_t with_bias{};
  with_bias.bias = &bias;
  for (const auto& [accuracy, kernel, launches] :
       {std::tuple{SGEMM_ACCURACY_COMPONENTWISE, "12_fp16x3_lines", 5}, {SGEMM_ACCURACY_NORMWISE, "12_fp16x3", 2}}) {
    ASSERT_EQ(sgemm_set_accuracy(handle, accuracy), SGEMM_STATUS_SUCCESS);
    for (const std::int64_t size : {SIZE, 2 * SIZE}) {
      const sgemm_plan_t product = plan_of(handle, size, SGEMM_OP_T, none);
      const sgemm_plan_t in_store = plan_of(handle, size, SGEMM_OP_T, with_bias);
      EXPECT_STREQ(in_store.kernel, kernel);
      EXPECT_EQ(in_store.predicted_us, product.predicted_us);
      EXPECT_EQ(in_store.launches, product.launches);
      EXPECT_EQ(in_store.launches, launches) << in_store.configuration;
    }
  }

  ASSERT_EQ(sgemm_set_accuracy(handle, SGEMM_ACCURACY_REPRODUCIBLE), SGEMM_STATUS_SUCCESS);
  const sgemm_plan_t alone = plan_of(handle, SIZE, SGEMM_OP_T, none);
  const sgemm_plan_t with_pass = plan_of(handle, SIZE, SGEMM_OP_T, with_bias);
  EXPECT_GT(with_pass.predicted_us, alone.predicted_us + 5);
  EXPECT_EQ(with_pass.launches, alone.launches + 1);
}

/// A C that is another matrix has to be copied, and D itself has not, also in a plan of the very call that is run.
TEST(EpilogueInterfaceTest, PlansKnowWhetherCIsD) {
  if (!has_wgmma()) {
    GTEST_SKIP() << "chapter 15 needs wgmma";
  }
  const Handle handle;
  ASSERT_EQ(sgemm_set_accuracy(handle, SGEMM_ACCURACY_REPRODUCIBLE), SGEMM_STATUS_SUCCESS);
  float c = 0.0F;
  float d = 0.0F;
  sgemm_product_t product = product_of(2048, 2048, 2048);
  product.ldc = product.ldd;
  sgemm_epilogue_t epilogue{};
  product.epilogue = &epilogue;
  for (const sgemm_activation_t activation : {SGEMM_ACTIVATION_NONE, SGEMM_ACTIVATION_RELU}) {
    epilogue.activation = activation;
    const auto us = [&](const float* of_c, float* of_d) {
      product.c = of_c;
      product.d = of_d;
      return planned(handle, product).predicted_us;
    };
    EXPECT_EQ(us(nullptr, &d), us(nullptr, nullptr));
    EXPECT_EQ(us(&d, &d), us(nullptr, nullptr));
    EXPECT_GT(us(&c, &d), us(nullptr, nullptr) + 5);
    EXPECT_EQ(us(&c, nullptr), us(&c, &d));
  }
}

}  // namespace
}  // namespace sgemm::test
