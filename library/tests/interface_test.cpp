// The C interface: products of all layouts, with epilogues and of packed operands, what it refuses, its settings, and
// plans. Compiled for the executor and for GPUs.

#include "epilogue_case.hpp"
#include "gemm_case.hpp"

#include <climits>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace sgemm::test {
namespace {

class InterfaceTest : public testing::Test {
 protected:
  const Handle handle;
};
using EpilogueInterfaceTest = InterfaceTest;

class WgmmaInterfaceTest : public WgmmaTest {
 protected:
  const Handle handle;
};
using PlanTest = WgmmaInterfaceTest;
using PackedInterfaceTest = WgmmaInterfaceTest;

TEST_F(InterfaceTest, AllLayoutsScalarsAndPaddings) {
  for (const auto& [order, transa, transb, mode] : combinations(ORDERS, OPS, OPS, POINTER_MODES)) {
    for (const auto& [alpha, beta] : {std::pair{1.0F, 0.0F}, {-2.5F, 0.5F}, {0.0F, 1.5F}, {0.0F, 0.0F}}) {
      for (const std::int64_t padding : {0, 5}) {
        const GemmCase product{13, 7, 29, order, transa, transb, alpha, beta};
        expect_right(handle, product.padded(padding, padding).with(mode));
      }
    }
  }
}

TEST_F(InterfaceTest, EveryAccuracyOnSmallSizes) {
  for (const sgemm_accuracy_t accuracy : ACCURACIES) {
    for (const auto& [m, n, k] : {std::tuple{1, 1, 1}, {1, 300, 17}, {255, 1, 3}, {64, 65, 300}, {127, 128, 129}}) {
      expect_right(handle, GemmCase{m, n, k}.with(accuracy).scaled(1.0F, 1.0F));
    }
  }
}

TEST_F(InterfaceTest, EmptySumsScaleC) {
  for (const sgemm_order_t order : ORDERS) {
    expect_right(handle, {5, 6, 0, order, SGEMM_OP_N, SGEMM_OP_T, 1.0F, 0.0F});
    expect_right(handle, {5, 6, 0, order, SGEMM_OP_T, SGEMM_OP_N, 1.0F, -2.0F});
  }
}

TEST_F(InterfaceTest, BatchesByStridesAndByAddresses) {
  for (const sgemm_order_t order : ORDERS) {
    const GemmCase product{9, 14, 20, order, SGEMM_OP_T, SGEMM_OP_N, 1.5F, 0.5F, 2};
    expect_right(handle, product.batched(4));
    expect_right(handle, product.batched(4, true));
    expect_right(handle, product.batched(1, true).with(SGEMM_POINTER_MODE_DEVICE).scaled(0.0F, 0.5F));
  }
}

template <class T>
T* misaligned(T* pointer) {
  return reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(pointer) + sizeof(T) / 2);
}

/// A number of floats whose bytes are more than 64 bits hold.
constexpr std::int64_t FAR = (std::int64_t{1} << 61U) + 1024;

struct Spoiler {
  const char* name;
  std::function<void(sgemm_product_t&)> spoil;
};

/// That a product which each of these has spoilt is refused.
void expect_refused(sgemm_handle_t handle, const sgemm_product_t& product, const std::vector<Spoiler>& spoilers) {
  for (const Spoiler& spoiler : spoilers) {
    sgemm_product_t call = product;
    spoiler.spoil(call);
    EXPECT_EQ(sgemm_run(handle, &call), SGEMM_STATUS_INVALID_VALUE) << spoiler.name;
  }
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

/// And that they write nothing.
void expect_refused(GemmOperands& operands, const std::vector<Spoiler>& spoilers) {
  const Handle handle;
  const Expected expected(operands);
  const sgemm_product_t unspoilt = operands.product();
  expect_refused(handle, unspoilt, spoilers);
  EXPECT_EQ(sgemm_run(nullptr, &unspoilt), SGEMM_STATUS_NOT_INITIALIZED);
  EXPECT_EQ(sgemm_run(handle, nullptr), SGEMM_STATUS_INVALID_VALUE);
  expected.check_unchanged(operands);
  expected.check_call(handle, operands, unspoilt);  // so that it was the spoilers that were refused
}

TEST_F(InterfaceTest, BadArgumentsWriteNothing) {
  const std::vector<Spoiler> spoilers{
      {"size", [](sgemm_product_t& call) { --call.size; }},
      {"order", [](sgemm_product_t& call) { call.order = static_cast<sgemm_order_t>(103); }},
      {"transa", [](sgemm_product_t& call) { call.a.op = static_cast<sgemm_op_t>(3); }},
      {"transb", [](sgemm_product_t& call) { call.b.op = static_cast<sgemm_op_t>(3); }},
      {"m", [](sgemm_product_t& call) { call.m = -1; }},
      {"n", [](sgemm_product_t& call) { call.n = -1; }},
      {"k", [](sgemm_product_t& call) { call.k = -1; }},
      {"batch", [](sgemm_product_t& call) { call.batch_count = -1; }},
      {"lda", [](sgemm_product_t& call) { --call.a.ld; }},
      {"ldb", [](sgemm_product_t& call) { --call.b.ld; }},
      {"ldc", [](sgemm_product_t& call) { --call.ldd; }},
      {"stride_a", [](sgemm_product_t& call) { call.a.stride = -1; }},
      {"stride_b", [](sgemm_product_t& call) { call.b.stride = -1; }},
      {"stride_c", [](sgemm_product_t& call) { call.stride_of_d = 1; }},
      {"lda beyond 64 bits", [](sgemm_product_t& call) { call.a.ld = FAR; }},
      {"ldb beyond 64 bits", [](sgemm_product_t& call) { call.b.ld = FAR; }},
      {"ldc beyond 64 bits", [](sgemm_product_t& call) { call.ldd = FAR; }},
      {"stride_a beyond 64 bits", [](sgemm_product_t& call) { call.a.stride = FAR; }},
      {"stride_b beyond 64 bits", [](sgemm_product_t& call) { call.b.stride = FAR; }},
      {"stride_c beyond 64 bits", [](sgemm_product_t& call) { call.stride_of_d = FAR; }},
      {"a batch beyond 64 bits", [](sgemm_product_t& call) { call.batch_count = FAR; }},
      {"alpha", [](sgemm_product_t& call) { call.alpha = nullptr; }},
      {"beta", [](sgemm_product_t& call) { call.beta = nullptr; }},
      {"misaligned alpha", [](sgemm_product_t& call) { call.alpha = misaligned(call.alpha); }},
      {"misaligned beta", [](sgemm_product_t& call) { call.beta = misaligned(call.beta); }},
      {"a", [](sgemm_product_t& call) { call.a.x = nullptr; }},
      {"b", [](sgemm_product_t& call) { call.b.x = nullptr; }},
      {"c", [](sgemm_product_t& call) { call.d = nullptr; }},
      {"misaligned a", [](sgemm_product_t& call) { call.a.x = misaligned(call.a.x); }},
      {"misaligned b", [](sgemm_product_t& call) { call.b.x = misaligned(call.b.x); }},
      {"misaligned c", [](sgemm_product_t& call) { call.d = misaligned(call.d); }},
  };
  for (const sgemm_order_t order : ORDERS) {
    GemmOperands operands(GemmCase{5, 6, 7, order, SGEMM_OP_T, SGEMM_OP_N, 1.0F, 1.0F}.batched(2));
    expect_refused(operands, spoilers);
  }
}

TEST_F(InterfaceTest, BadAddressesWriteNothing) {
  const std::vector<Spoiler> spoilers{
      {"a", [](sgemm_product_t& call) { call.a.addresses = nullptr; }},
      {"b", [](sgemm_product_t& call) { call.b.addresses = nullptr; }},
      {"c", [](sgemm_product_t& call) { call.addresses_of_d = nullptr; }},
      {"misaligned a", [](sgemm_product_t& call) { call.a.addresses = misaligned(call.a.addresses); }},
      {"misaligned b", [](sgemm_product_t& call) { call.b.addresses = misaligned(call.b.addresses); }},
      {"misaligned c", [](sgemm_product_t& call) { call.addresses_of_d = misaligned(call.addresses_of_d); }},
      {"lda", [](sgemm_product_t& call) { --call.a.ld; }},
      {"batch", [](sgemm_product_t& call) { call.batch_count = -1; }},
  };
  GemmOperands operands(GemmCase{5, 6, 7}.batched(2, true).scaled(1.0F, 1.0F));
  sgemm_product_t nothing = operands.product();
  nothing.a.addresses = nothing.b.addresses = nullptr;
  nothing.addresses_of_d = nullptr;
  nothing.batch_count = 0;
  EXPECT_EQ(sgemm_run(handle, &nothing), SGEMM_STATUS_SUCCESS);
  expect_refused(operands, spoilers);
}

TEST_F(InterfaceTest, PointersThatAreNotUsedMayBeNull) {
  GemmOperands operands({5, 6, 7});
  sgemm_product_t call = operands.product();
  call.a.x = call.b.x = nullptr;
  const float zero = 0.0F;
  call.alpha = &zero;
  const auto expect_zero = [&] {
    operands.c.at(0, 4, 5) = 3.0F;
    operands.upload();
    EXPECT_EQ(sgemm_run(handle, &call), SGEMM_STATUS_SUCCESS);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    operands.c.memory().download();
    EXPECT_EQ(operands.c.at(0, 4, 5), 0.0F);
  };
  expect_zero();
  call.k = 0;
  call.addresses_of_d = operands.c.addresses();
  expect_zero();
  call.m = 0;
  call.d = nullptr;
  call.addresses_of_d = nullptr;
  EXPECT_EQ(sgemm_run(handle, &call), SGEMM_STATUS_SUCCESS);
}

TEST_F(InterfaceTest, SettingsAreKeptAndChecked) {
  EXPECT_EQ(setting(sgemm_get_accuracy, handle), SGEMM_ACCURACY_COMPONENTWISE);
  EXPECT_EQ(sgemm_set_accuracy(handle, SGEMM_ACCURACY_ROWWISE), SGEMM_STATUS_SUCCESS);
  EXPECT_EQ(setting(sgemm_get_accuracy, handle), SGEMM_ACCURACY_ROWWISE);

  EXPECT_EQ(sgemm_set_pointer_mode(handle, SGEMM_POINTER_MODE_DEVICE), SGEMM_STATUS_SUCCESS);
  EXPECT_EQ(setting(sgemm_get_pointer_mode, handle), SGEMM_POINTER_MODE_DEVICE);

  EXPECT_EQ(setting(sgemm_get_device, handle), 0);
  EXPECT_EQ(sgemm_set_multiprocessors(handle, 4), SGEMM_STATUS_SUCCESS);
  EXPECT_EQ(sgemm_set_multiprocessors(handle, -1), SGEMM_STATUS_INVALID_VALUE);
  EXPECT_EQ(sgemm_set_multiprocessors(handle, 1 << 20), SGEMM_STATUS_INVALID_VALUE);
  EXPECT_EQ(setting(sgemm_get_multiprocessors, handle), 4);

  Mirrored<float> memory(1024, 0.0F);
  EXPECT_EQ(sgemm_set_workspace(handle, memory.device() + 1, 256), SGEMM_STATUS_INVALID_VALUE);
  EXPECT_EQ(sgemm_set_workspace(handle, nullptr, 256), SGEMM_STATUS_INVALID_VALUE);
  EXPECT_EQ(sgemm_set_workspace(handle, nullptr, 0), SGEMM_STATUS_SUCCESS);
  EXPECT_EQ(sgemm_trim(handle), SGEMM_STATUS_SUCCESS);

#ifndef __SANITIZE_ADDRESS__  // UndefinedBehaviorSanitizer, which comes with it, ends the program: C++ has no such
                              // values
  EXPECT_EQ(sgemm_set_accuracy(handle, static_cast<sgemm_accuracy_t>(5)), SGEMM_STATUS_INVALID_VALUE);
  EXPECT_EQ(sgemm_set_pointer_mode(handle, static_cast<sgemm_pointer_mode_t>(2)), SGEMM_STATUS_INVALID_VALUE);
  EXPECT_EQ(sgemm_set_fallback(handle, static_cast<sgemm_fallback_t>(2)), SGEMM_STATUS_INVALID_VALUE);
#endif
  EXPECT_EQ(sgemm_set_workspace(handle, memory.device(), 0), SGEMM_STATUS_INVALID_VALUE);
  EXPECT_EQ(sgemm_create(nullptr), SGEMM_STATUS_INVALID_VALUE);
}

TEST_F(InterfaceTest, NullHandlesAndNullResultsAreRefused) {
  sgemm_stream_t stream{};
  sgemm_accuracy_t accuracy{};
  sgemm_pointer_mode_t mode{};
  int number = 0;
  sgemm_plan_t plan{};
  const sgemm_product_t product = product_of(8, 8, 8);
  const sgemm_status_t of_null[] = {
      sgemm_destroy(nullptr),
      sgemm_set_stream(nullptr, nullptr),
      sgemm_get_stream(nullptr, &stream),
      sgemm_set_accuracy(nullptr, SGEMM_ACCURACY_FP32),
      sgemm_get_accuracy(nullptr, &accuracy),
      sgemm_set_pointer_mode(nullptr, SGEMM_POINTER_MODE_HOST),
      sgemm_get_pointer_mode(nullptr, &mode),
      sgemm_set_workspace(nullptr, nullptr, 0),
      sgemm_trim(nullptr),
      sgemm_get_device(nullptr, &number),
      sgemm_set_multiprocessors(nullptr, 0),
      sgemm_get_multiprocessors(nullptr, &number),
      sgemm_gemm(nullptr, SGEMM_ORDER_ROW_MAJOR, SGEMM_OP_N, SGEMM_OP_N, 0, 0, 0, nullptr, nullptr, 1, nullptr, 1,
                 nullptr, nullptr, 1),
      sgemm_plan(nullptr, &product, &plan),
  };
  for (const sgemm_status_t status : of_null) {
    EXPECT_EQ(status, SGEMM_STATUS_NOT_INITIALIZED) << &status - of_null;
  }
  EXPECT_EQ(sgemm_get_stream(handle, nullptr), SGEMM_STATUS_INVALID_VALUE);
  EXPECT_EQ(sgemm_get_accuracy(handle, nullptr), SGEMM_STATUS_INVALID_VALUE);
  EXPECT_EQ(sgemm_get_pointer_mode(handle, nullptr), SGEMM_STATUS_INVALID_VALUE);
  EXPECT_EQ(sgemm_get_device(handle, nullptr), SGEMM_STATUS_INVALID_VALUE);
  EXPECT_EQ(sgemm_get_multiprocessors(handle, nullptr), SGEMM_STATUS_INVALID_VALUE);
}

TEST_F(InterfaceTest, StatusesHaveNamesAndSentences) {
  EXPECT_STREQ(sgemm_status_name(SGEMM_STATUS_INVALID_VALUE), "SGEMM_STATUS_INVALID_VALUE");
  EXPECT_NE(std::string(sgemm_status_string(SGEMM_STATUS_ALLOC_FAILED)).find("room"), std::string::npos);
  EXPECT_STREQ(sgemm_status_name(static_cast<sgemm_status_t>(2)), "unknown");
  EXPECT_EQ(sgemm_version(), SGEMM_VERSION);
}

sgemm_plan_t plan_of(sgemm_handle_t handle, sgemm_accuracy_t accuracy, sgemm_op_t transa, std::int64_t m,
                     std::int64_t n, std::int64_t k, std::int64_t batch = 1) {
  EXPECT_EQ(sgemm_set_accuracy(handle, accuracy), SGEMM_STATUS_SUCCESS);
  return planned(handle, product_of(m, n, k, transa, SGEMM_OP_N, batch));
}

/// On an H100 or H200; the executor stands for the latter. Where the choices of the two differ, BoardTest has them.
TEST_F(PlanTest, PlansTellTheChapterAndWhy) {
  const auto kernel = [&](sgemm_accuracy_t accuracy, sgemm_op_t transa, std::int64_t size, std::int64_t batch = 1) {
    return std::string(plan_of(handle, accuracy, transa, size, size, size, batch).kernel);
  };
  EXPECT_EQ(kernel(SGEMM_ACCURACY_FP32, SGEMM_OP_N, 4096), "09_every_shape");
  EXPECT_EQ(kernel(SGEMM_ACCURACY_FP32, SGEMM_OP_T, 4096), "09_every_shape");
  EXPECT_EQ(kernel(SGEMM_ACCURACY_COMPONENTWISE, SGEMM_OP_T, 4096), "12_fp16x3_lines");
  EXPECT_EQ(kernel(SGEMM_ACCURACY_NORMWISE, SGEMM_OP_N, 4096), "12_fp16x3");
  EXPECT_EQ(kernel(SGEMM_ACCURACY_NORMWISE, SGEMM_OP_N, 8192), "12_fp16x3");
  EXPECT_EQ(kernel(SGEMM_ACCURACY_ROWWISE, SGEMM_OP_N, 8192), "15_reproducible");
  EXPECT_EQ(kernel(SGEMM_ACCURACY_ROWWISE, SGEMM_OP_T, 1024), "12_fp16x3");
  EXPECT_EQ(kernel(SGEMM_ACCURACY_ROWWISE, SGEMM_OP_T, 512), "09_every_shape");
  EXPECT_EQ(kernel(SGEMM_ACCURACY_NORMWISE, SGEMM_OP_T, 512), "09_every_shape");
  EXPECT_EQ(kernel(SGEMM_ACCURACY_NORMWISE, SGEMM_OP_N, 100), "cublas");
  EXPECT_EQ(kernel(SGEMM_ACCURACY_NORMWISE, SGEMM_OP_N, 0), "none");
  EXPECT_EQ(kernel(SGEMM_ACCURACY_NORMWISE, SGEMM_OP_N, 300, 1000), "12_fp16x3");
  EXPECT_EQ(kernel(SGEMM_ACCURACY_NORMWISE, SGEMM_OP_N, 150, 1000), "cublas");
  for (const auto& [accuracy, op] : combinations(OF_SPLIT_OPERANDS, N_AND_T)) {
    ASSERT_EQ(sgemm_set_accuracy(handle, accuracy), SGEMM_STATUS_SUCCESS);
    EXPECT_STREQ(planned(handle, product_of(1024, 1024, 1024, op, op)).kernel,
                 accuracy == SGEMM_ACCURACY_COMPONENTWISE ? "11_bf16x6" : "12_fp16x3");
  }

  const sgemm_plan_t plan = plan_of(handle, SGEMM_ACCURACY_COMPONENTWISE, SGEMM_OP_N, 4096, 4096, 4096, 3);
  EXPECT_STREQ(plan.kernel, "12_fp16x3_lines");
  EXPECT_EQ(plan.launches, 3 * 5);
  EXPECT_LT(plan.predicted_us, plan.cublas_us);
  EXPECT_NE(std::string(plan.reason).find("by cuBLAS"), std::string::npos);

  EXPECT_EQ(plan_of(handle, SGEMM_ACCURACY_COMPONENTWISE, SGEMM_OP_N, 4096, 4096, 4096, INT_MAX).launches, INT_MAX)
      << "more launches than an int counts";
  EXPECT_EQ(plan_of(handle, SGEMM_ACCURACY_REPRODUCIBLE, SGEMM_OP_N, 4096, 4096, 4096, 1).launches, 2);

  const sgemm_product_t batch = by_address(product_of(4096, 4096, 4096, SGEMM_OP_N, SGEMM_OP_N, 3));
  ASSERT_EQ(sgemm_set_accuracy(handle, SGEMM_ACCURACY_COMPONENTWISE), SGEMM_STATUS_SUCCESS);
  const sgemm_plan_t of_batch = planned(handle, batch);
  EXPECT_STREQ(of_batch.kernel, "11_bf16x6");
  EXPECT_STREQ(of_batch.configuration, "128x128 stacked");
  EXPECT_EQ(of_batch.launches, 4) << "two products have 512 MiB of terms";
  EXPECT_GT(of_batch.workspace_bytes, 2U * 4096 * 4096 * 6);
  EXPECT_STREQ(plan_of(handle, SGEMM_ACCURACY_FP32, SGEMM_OP_N, 4096, 4096, 4096, 3).kernel, "09_every_shape");
  EXPECT_STREQ(planned(handle, batch).kernel, "09_every_shape");
  EXPECT_EQ(planned(handle, batch).launches, 1);

  sgemm_plan_t unused{};
  sgemm_product_t refused = product_of(8, 8, 8);
  EXPECT_EQ(sgemm_plan(handle, &refused, nullptr), SGEMM_STATUS_INVALID_VALUE);
  refused.a.ld = 7;
  EXPECT_EQ(sgemm_plan(handle, &refused, &unused), SGEMM_STATUS_INVALID_VALUE);
}

// ---- Epilogues ----

TEST_F(EpilogueInterfaceTest, AllKindsInAllLayouts) {
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

TEST_F(EpilogueInterfaceTest, ColumnsThatFillNoBlockAndEmptySums) {
  for (const EpilogueKind& kind : EPILOGUES) {
    expect_right(handle, {9, 300, 5}, kind);
    expect_right(handle, {300, 9, 5, SGEMM_ORDER_COLUMN_MAJOR, SGEMM_OP_N, SGEMM_OP_N, 1.0F, 1.0F}, kind);
    expect_right(handle, {5, 6, 0, SGEMM_ORDER_ROW_MAJOR, SGEMM_OP_N, SGEMM_OP_N, 1.0F, 2.0F}, kind);
  }
}

TEST_F(EpilogueInterfaceTest, WithoutAnEpilogueItIsTheProduct) {
  expect_right(handle, {33, 20, 7, SGEMM_ORDER_COLUMN_MAJOR, SGEMM_OP_N, SGEMM_OP_N, 1.0F, 2.0F}, EpilogueKind{});
}

TEST_F(EpilogueInterfaceTest, BadArgumentsWriteNothing) {
  EpilogueOperands operands({20, 30, 10, SGEMM_ORDER_ROW_MAJOR, SGEMM_OP_N, SGEMM_OP_N, 1.0F, 1.0F},
                            {SGEMM_ACTIVATION_RELU, true, SGEMM_BIAS_OF_ROWS, true, true});
  const sgemm_epilogue_t good = operands.epilogue();
  const auto& [relu, bias_of, bias, aux, ld] = good;
  void* const misaligned_aux = static_cast<char*>(aux) + 2;
  const sgemm_product_t product = operands.product(good);
  std::vector<Spoiler> spoilers{
      {"ldc", [](sgemm_product_t& call) { call.ldc = 29; }},
      {"ldc of a C that is D",
       [](sgemm_product_t& call) {
         call.c = call.d;
         call.ldc = 31;
       }},
      {"misaligned C", [](sgemm_product_t& call) { call.c = misaligned(call.c); }},
      {"batch", [](sgemm_product_t& call) { call.batch_count = 2; }},
      {"batch with another C",
       [](sgemm_product_t& call) {
         call.batch_count = 2;
         call.epilogue = nullptr;
       }},
  };
  const std::pair<const char*, sgemm_epilogue_t> epilogues[] = {
      {"activation", {static_cast<sgemm_activation_t>(5), bias_of, bias, aux, ld}},
      {"bias_of", {relu, static_cast<sgemm_bias_t>(2), bias, aux, ld}},
      {"no multiple of 128", {relu, bias_of, bias, aux, 64}},
      {"no leading dimension", {relu, bias_of, bias, aux, 0}},
      {"shorter than a row", {SGEMM_ACTIVATION_GELU, bias_of, bias, aux, 29}},
      {"without an activation", {SGEMM_ACTIVATION_NONE, bias_of, bias, aux, ld}},
      {"no mask", {SGEMM_ACTIVATION_RELU_GRADIENT, bias_of, bias, nullptr, ld}},
      {"misaligned mask", {SGEMM_ACTIVATION_RELU_GRADIENT, bias_of, bias, misaligned_aux, ld}},
      {"no argument", {SGEMM_ACTIVATION_GELU_GRADIENT, bias_of, bias, nullptr, ld}},
      {"misaligned argument", {SGEMM_ACTIVATION_GELU_GRADIENT, bias_of, bias, misaligned_aux, ld}},
  };
  for (const auto& [name, epilogue] : epilogues) {
    spoilers.push_back({name, [of = &epilogue](sgemm_product_t& call) { call.epilogue = of; }});
  }
  expect_refused(handle, product, spoilers);
  EXPECT_EQ(operands.other_d.memory().download(), std::vector<float>(operands.other_d.memory().host().size(), OUTSIDE));
  sgemm_product_t without_c = product;
  const float beta = 0.0F;
  without_c.beta = &beta;
  without_c.c = nullptr;
  EXPECT_EQ(sgemm_run(handle, &without_c), SGEMM_STATUS_SUCCESS) << "a C that is not read";
}

sgemm_plan_t plan_with(sgemm_handle_t handle, std::int64_t size, sgemm_op_t transa, const sgemm_epilogue_t& epilogue) {
  sgemm_product_t product = product_of(size, size, size, transa);
  product.order = SGEMM_ORDER_COLUMN_MAJOR;
  product.epilogue = &epilogue;
  return planned(handle, product);
}

/// In the store an epilogue takes no time in the prediction, and a pass of its own does.
TEST_F(PlanTest, PlansKnowWhatAnEpilogueTakes) {
  constexpr std::int64_t SIZE = 2048;
  const float bias = 0.0F;
  const sgemm_epilogue_t none{};
  sgemm_epilogue_t with_bias{};
  with_bias.bias = &bias;
  for (const auto& [accuracy, kernel, launches] :
       {std::tuple{SGEMM_ACCURACY_COMPONENTWISE, "12_fp16x3_lines", 5}, {SGEMM_ACCURACY_NORMWISE, "12_fp16x3", 2}}) {
    ASSERT_EQ(sgemm_set_accuracy(handle, accuracy), SGEMM_STATUS_SUCCESS);
    for (const std::int64_t size : {SIZE, 2 * SIZE}) {
      const sgemm_plan_t product = plan_with(handle, size, SGEMM_OP_T, none);
      const sgemm_plan_t in_store = plan_with(handle, size, SGEMM_OP_T, with_bias);
      EXPECT_STREQ(in_store.kernel, kernel);
      EXPECT_EQ(in_store.predicted_us, product.predicted_us);
      EXPECT_EQ(in_store.launches, product.launches);
      EXPECT_EQ(in_store.launches, launches) << in_store.configuration;
    }
  }

  ASSERT_EQ(sgemm_set_accuracy(handle, SGEMM_ACCURACY_REPRODUCIBLE), SGEMM_STATUS_SUCCESS);
  const sgemm_plan_t alone = plan_with(handle, SIZE, SGEMM_OP_T, none);
  const sgemm_plan_t with_pass = plan_with(handle, SIZE, SGEMM_OP_T, with_bias);
  EXPECT_GT(with_pass.predicted_us, alone.predicted_us + 5);
  EXPECT_EQ(with_pass.launches, alone.launches + 1);
}

/// A C that is another matrix has to be copied, and D itself has not, also in a plan of the very call that is run.
TEST_F(PlanTest, PlansKnowWhetherCIsD) {
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
  const float bias = 0.0F;
  epilogue = {};
  epilogue.bias = &bias;
  product.c = product.d = &d;
  EXPECT_NE(std::string(planned(handle, product).reason).find("a pass for the epilogue"), std::string::npos)
      << "as where C is another matrix, whose copy takes as long";
}

// ---- Packed operands ----

/// Small products are cuBLAS's, which reads the matrices themselves: they have to be right wherever packed operands
/// say.
TEST_F(PackedInterfaceTest, AllLayoutsSidesAndScalars) {
  for (const auto& [order, transa, transb, mode] : combinations(ORDERS, OPS, OPS, POINTER_MODES)) {
    GemmOperands operands(GemmCase{13, 7, 29, order, transa, transb, -2.5F, 0.5F, 5}.with(mode));
    const Expected expected(operands);
    const std::vector<float> before = operands.c.memory().host();
    const PackedOperand a(handle, operands, SGEMM_SIDE_A);
    const PackedOperand b(handle, operands, SGEMM_SIDE_B);
    for (const auto& [packs_a, packs_b] : combinations(BOTH, BOTH)) {
      operands.c.memory().host() = before;
      operands.c.memory().upload();
      expected.check_call(handle, operands, product_of(operands, packs_a ? &a : nullptr, packs_b ? &b : nullptr));
    }
  }
}

/// The lines of a matrix are the same on both sides and in both orders.
TEST_F(PackedInterfaceTest, AnOperandFitsBothSides) {
  GemmCase rows{12, 12, 20, SGEMM_ORDER_ROW_MAJOR, SGEMM_OP_N, SGEMM_OP_T};
  GemmOperands operands(rows);
  const PackedOperand x(handle, operands, SGEMM_SIDE_A);
  GemmOperands square(rows);  // X X^T
  for (std::int64_t line = 0; line < 12; ++line) {
    for (std::int64_t k = 0; k < 20; ++k) {
      square.op_b(0, k, line) = square.op_a(0, line, k);
    }
  }
  square.upload();
  const Expected expected(square);
  for (const sgemm_order_t order : ORDERS) {  // which is symmetric
    sgemm_product_t product = product_of(square, &x, &x);
    product.order = order;
    expected.check_call(handle, square, product);
  }
}

TEST_F(PackedInterfaceTest, SizesAreThoseOfTheTerms) {
  const auto size_of = [&](sgemm_accuracy_t accuracy, std::int64_t lines, std::int64_t k) {
    std::size_t bytes = 0;
    sgemm_set_accuracy(handle, accuracy);
    EXPECT_EQ(sgemm_packed_size(handle, lines, k, &bytes), SGEMM_STATUS_SUCCESS);
    return bytes;
  };
  constexpr std::size_t NUMBERS = std::size_t{1024} * 2048;
  const auto is_near = [](std::size_t bytes, std::size_t terms) { return bytes > terms && bytes < terms * 51 / 50; };
  EXPECT_TRUE(is_near(size_of(SGEMM_ACCURACY_COMPONENTWISE, 1024, 2048), NUMBERS * 6));
  EXPECT_TRUE(is_near(size_of(SGEMM_ACCURACY_NORMWISE, 1024, 2048), NUMBERS * 4));
  EXPECT_EQ(size_of(SGEMM_ACCURACY_ROWWISE, 1024, 2048), size_of(SGEMM_ACCURACY_NORMWISE, 1024, 2048));
  std::size_t bytes = 0;
  for (const sgemm_accuracy_t accuracy : {SGEMM_ACCURACY_FP32, SGEMM_ACCURACY_REPRODUCIBLE}) {
    sgemm_set_accuracy(handle, accuracy);
    EXPECT_EQ(sgemm_packed_size(handle, 10, 10, &bytes), SGEMM_STATUS_NOT_SUPPORTED);
  }
  sgemm_set_accuracy(handle, SGEMM_ACCURACY_COMPONENTWISE);
  EXPECT_EQ(sgemm_packed_size(handle, 0, 10, &bytes), SGEMM_STATUS_INVALID_VALUE);
  EXPECT_EQ(sgemm_packed_size(handle, 10, -1, &bytes), SGEMM_STATUS_INVALID_VALUE);
  EXPECT_EQ(sgemm_packed_size(handle, 10, 10, nullptr), SGEMM_STATUS_INVALID_VALUE);
  EXPECT_EQ(sgemm_packed_size(nullptr, 10, 10, &bytes), SGEMM_STATUS_NOT_INITIALIZED);
}

TEST_F(PackedInterfaceTest, BadArgumentsOfPackMakeNothing) {
  sgemm_set_accuracy(handle, SGEMM_ACCURACY_COMPONENTWISE);
  std::size_t size = 0;
  ASSERT_EQ(sgemm_packed_size(handle, 10, 20, &size), SGEMM_STATUS_SUCCESS);
  DeviceBuffer<char> memory(size);
  Mirrored<float> x(200, 1.0F);
  struct Arguments {
    sgemm_order_t order = SGEMM_ORDER_ROW_MAJOR;
    sgemm_side_t side = SGEMM_SIDE_A;
    sgemm_op_t op = SGEMM_OP_N;
    std::int64_t lines = 10, k = 20, ld = 20;
    const float* x = nullptr;
    void* memory = nullptr;
    std::size_t bytes = 0;
  };
  const auto pack = [&](const std::function<void(Arguments&)>& spoil) {
    Arguments it{.x = x.device(), .memory = memory.data(), .bytes = size};
    spoil(it);
    sgemm_packed_t packed = nullptr;
    const sgemm_status_t status =
        sgemm_pack(handle, it.order, it.side, it.op, it.lines, it.k, it.x, it.ld, it.memory, it.bytes, &packed);
    EXPECT_EQ(packed != nullptr, status == SGEMM_STATUS_SUCCESS);
    if (packed != nullptr) {
      sgemm_packed_destroy(packed);
    }
    return status;
  };
  EXPECT_EQ(pack([](Arguments&) {}), SGEMM_STATUS_SUCCESS);
  const std::function<void(Arguments&)> spoilers[] = {
      [](Arguments& it) { it.order = static_cast<sgemm_order_t>(1); },
      [](Arguments& it) { it.side = static_cast<sgemm_side_t>(3); },
      [](Arguments& it) { it.op = static_cast<sgemm_op_t>(3); },
      [](Arguments& it) { it.lines = 0; },
      [](Arguments& it) { it.k = 0; },
      [](Arguments& it) { it.ld = 19; },
      [](Arguments& it) { it.x = nullptr; },
      [](Arguments& it) { it.memory = nullptr; },
      [](Arguments& it) { it.memory = static_cast<char*>(it.memory) + 16; },
      [](Arguments& it) { --it.bytes; },
  };
  for (const auto& spoil : spoilers) {
    EXPECT_EQ(pack(spoil), SGEMM_STATUS_INVALID_VALUE) << &spoil - spoilers;
  }
  sgemm_set_accuracy(handle, SGEMM_ACCURACY_FP32);
  EXPECT_EQ(pack([](Arguments&) {}), SGEMM_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(sgemm_packed_destroy(nullptr), SGEMM_STATUS_INVALID_VALUE);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

TEST_F(PackedInterfaceTest, WhatDoesNotFitIsRefused) {
  GemmOperands operands({13, 7, 29});
  const Expected expected(operands);
  const PackedOperand a(handle, operands, SGEMM_SIDE_A);
  const PackedOperand b(handle, operands, SGEMM_SIDE_B);
  const sgemm_product_t product = product_of(operands, &a, &b);
  expect_refused(handle, product,
                 {{"m", [](sgemm_product_t& call) { call.m = 12; }},
                  {"k", [](sgemm_product_t& call) { call.k = 28; }},
                  {"sides", [](sgemm_product_t& call) { std::swap(call.a, call.b); }},
                  {"batch", [](sgemm_product_t& call) { call.batch_count = 2; }},
                  {"addresses", [&](sgemm_product_t& call) { call.addresses_of_d = operands.c.addresses(); }}});
  for (const sgemm_accuracy_t other : {SGEMM_ACCURACY_NORMWISE, SGEMM_ACCURACY_FP32}) {
    sgemm_set_accuracy(handle, other);
    EXPECT_EQ(sgemm_run(handle, &product), SGEMM_STATUS_INVALID_VALUE) << other;
  }
  expected.check_unchanged(operands);
}

}  // namespace
}  // namespace sgemm::test
