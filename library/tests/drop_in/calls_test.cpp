// Calls of cuBLAS under the drop-in: which of them reach libsgemm, and with what.

#include <cublasLt.h>
#include <cublas_v2.h>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sgemm/drop_in.h>

#include <algorithm>
#include <functional>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "fake_cublas.hpp"
#include "fake_sgemm.hpp"

namespace {

constexpr int kM = 5;
constexpr int kN = 4;
constexpr int kK = 3;
constexpr int kLd = 7;

std::vector<float> numbers(float first) {
  std::vector<float> result(static_cast<size_t>(kLd) * kLd * 2);
  for (size_t i = 0; i < result.size(); ++i) {
    result[i] = first + 0.25F * static_cast<float>(i * 7 % 11);
  }
  return result;
}

/// Calls a function of cuBLAS in its form for sizes of 32 bits and in the one of 64. `then()` follows each.
#define IN_BOTH_FORMS(function, arguments, then)             \
  EXPECT_EQ(function arguments, CUBLAS_STATUS_SUCCESS);      \
  then();                                                    \
  EXPECT_EQ(function##_64 arguments, CUBLAS_STATUS_SUCCESS); \
  then()

class CallsTest : public testing::Test {
 protected:
  void SetUp() override {
    *fake_sgemm() = {};
    fake_cublas() = {};
    // The drop-in remembers what it decided about a shape, so every test has a shape of its own.
    static int tests = 0;
    k_ = kK + ++tests;
    a_ = std::vector<float>(a_.size() + 200 * static_cast<size_t>(k_), 0.5F);
    b_ = a_;
  }

  /// Makes A and B differ, so that it shows when one stands for the other.
  void fill_operands() {
    for (size_t i = 0; i < a_.size(); ++i) {
      a_[i] = static_cast<float>(i % 13);
      b_[i] = static_cast<float>(i % 5) - 2;
    }
  }

  cublasStatus_t sgemm(cublasOperation_t transa = CUBLAS_OP_N, cublasOperation_t transb = CUBLAS_OP_N) {
    return cublasSgemm(handle_, transa, transb, kM, kN, k_, &alpha_, a_.data(), lda(transa), b_.data(), ldb(transb),
                       &beta_, c_.data(), kLd);
  }
  /// What C is after it.
  std::vector<float> expected_c(cublasOperation_t transa = CUBLAS_OP_N, cublasOperation_t transb = CUBLAS_OP_N) const {
    std::vector<float> c = c_;
    host_gemm(transa != CUBLAS_OP_N, transb != CUBLAS_OP_N, kM, kN, k_, alpha_, a_.data(), lda(transa), b_.data(),
              ldb(transb), beta_, c.data(), kLd);
    return c;
  }
  int lda(cublasOperation_t op) const { return op == CUBLAS_OP_N ? kLd : k_ + 1; }
  int ldb(cublasOperation_t op) const { return op == CUBLAS_OP_N ? k_ + 2 : kLd; }

  cublasStatus_t gemm_ex(cudaDataType type, cublasComputeType_t compute) {
    return cublasGemmEx(handle_, CUBLAS_OP_N, CUBLAS_OP_N, kM, kN, k_, &alpha_, a_.data(), type, kLd, b_.data(), type,
                        ldb(CUBLAS_OP_N), &beta_, c_.data(), type, kLd, compute, CUBLAS_GEMM_DEFAULT);
  }

  /// Expects that the library computed `products` calls, and cuBLAS `cublas_products`.
  static void expect_computed(int products, int cublas_products) {
    EXPECT_EQ(fake_sgemm()->products, products);
    EXPECT_EQ(fake_cublas().products(), cublas_products);
  }
  /// The same after one more product, of this status.
  void expect_sgemm(int products, int cublas_products, cublasStatus_t status = CUBLAS_STATUS_SUCCESS) {
    EXPECT_EQ(sgemm(), status);
    expect_computed(products, cublas_products);
  }

  cublasContext context_;
  cublasHandle_t handle_ = &context_;
  int k_ = 0;
  float alpha_ = 2;
  float beta_ = 0.5F;
  std::vector<float> a_ = numbers(-1);
  std::vector<float> b_ = numbers(-0.5F);
  std::vector<float> c_ = numbers(3);
};

TEST_F(CallsTest, ProductsReachTheLibraryWithTheirArguments) {
  fill_operands();
  for (const cublasOperation_t transa : {CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C}) {
    for (const cublasOperation_t transb : {CUBLAS_OP_N, CUBLAS_OP_T}) {
      c_ = numbers(3);
      const std::vector<float> expected = expected_c(transa, transb);
      ASSERT_EQ(sgemm(transa, transb), CUBLAS_STATUS_SUCCESS);
      EXPECT_EQ(c_, expected);
      const sgemm_product_t& asked = fake_sgemm()->product;
      EXPECT_EQ(asked.order, SGEMM_ORDER_COLUMN_MAJOR);
      EXPECT_EQ(asked.a.op, static_cast<sgemm_op_t>(transa));
      EXPECT_EQ(asked.b.op, static_cast<sgemm_op_t>(transb));
      EXPECT_EQ(std::tuple(asked.m, asked.n, asked.k), std::tuple(kM, kN, k_));
      EXPECT_EQ(std::tuple(asked.a.ld, asked.b.ld, asked.ldd), std::tuple(lda(transa), ldb(transb), kLd));
      EXPECT_EQ(asked.batch_count, 1);
      EXPECT_EQ(fake_sgemm()->accuracy, SGEMM_ACCURACY_COMPONENTWISE);
    }
  }
  expect_computed(6, 0);
}

TEST_F(CallsTest, TheSettingsOfTheHandleReachTheLibrary) {
  context_.stream = reinterpret_cast<cudaStream_t>(64);
  context_.pointer_mode = CUBLAS_POINTER_MODE_DEVICE;
  context_.sm_count_target = 12;
  expect_sgemm(1, 0);
  EXPECT_EQ(fake_sgemm()->stream, context_.stream);
  EXPECT_EQ(fake_sgemm()->pointer_mode, SGEMM_POINTER_MODE_DEVICE);
  EXPECT_EQ(fake_sgemm()->multiprocessors, 12);
  EXPECT_EQ(fake_sgemm()->product.alpha, &alpha_);
  EXPECT_EQ(fake_sgemm()->product.beta, &beta_);

  context_ = {};
  ASSERT_EQ(sgemm(), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(fake_sgemm()->stream, nullptr);
  EXPECT_EQ(fake_sgemm()->pointer_mode, SGEMM_POINTER_MODE_HOST);
  EXPECT_EQ(fake_sgemm()->multiprocessors, 0);
}

TEST_F(CallsTest, EveryFormReachesTheLibrary) {
  const int ldb = k_;
  int products = 0;
  const auto computed = [&] {
    expect_computed(++products, 0);
    EXPECT_EQ(fake_sgemm()->product.batch_count, 1);
  };
  IN_BOTH_FORMS(
      cublasSgemm_v2,
      (handle_, CUBLAS_OP_N, CUBLAS_OP_N, kM, kN, k_, &alpha_, a_.data(), kLd, b_.data(), ldb, &beta_, c_.data(), kLd),
      computed);
  IN_BOTH_FORMS(cublasGemmEx,
                (handle_, CUBLAS_OP_N, CUBLAS_OP_N, kM, kN, k_, &alpha_, a_.data(), CUDA_R_32F, kLd, b_.data(),
                 CUDA_R_32F, ldb, &beta_, c_.data(), CUDA_R_32F, kLd, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
                computed);
  int calls = 0;
  const auto by_cublas = [&] { expect_computed(products, ++calls); };
  const auto sgemm_ex = [&](cudaDataType type, auto&& then) {
    IN_BOTH_FORMS(cublasSgemmEx,
                  (handle_, CUBLAS_OP_N, CUBLAS_OP_N, kM, kN, k_, &alpha_, a_.data(), CUDA_R_32F, kLd, b_.data(), type,
                   ldb, &beta_, c_.data(), CUDA_R_32F, kLd),
                  then);
  };
  sgemm_ex(CUDA_R_32F, computed);
  sgemm_ex(CUDA_R_16F, by_cublas);
}

TEST_F(CallsTest, EveryStridedBatchReachesTheLibrary) {
  const int ldb = k_;
  int products = 0;
  const auto expect_batch = [&] {
    expect_computed(++products, 0);
    const sgemm_product_t& asked = fake_sgemm()->product;
    EXPECT_EQ(std::tuple(asked.m, asked.n, asked.k), std::tuple(kM, kN, k_));
    EXPECT_EQ(std::tuple(asked.a.ld, asked.b.ld, asked.ldd), std::tuple(kLd, ldb, kM));
    EXPECT_EQ(std::tuple(asked.a.stride, asked.b.stride, asked.stride_of_d), std::tuple(1, 2, 20));
    EXPECT_EQ(asked.batch_count, 3);
    *fake_sgemm() = {};
    fake_sgemm()->products = products;
  };
  IN_BOTH_FORMS(cublasSgemmStridedBatched,
                (handle_, CUBLAS_OP_N, CUBLAS_OP_N, kM, kN, k_, &alpha_, a_.data(), kLd, 1, b_.data(), ldb, 2, &beta_,
                 c_.data(), kM, 20, 3),
                expect_batch);
  IN_BOTH_FORMS(cublasGemmStridedBatchedEx,
                (handle_, CUBLAS_OP_N, CUBLAS_OP_N, kM, kN, k_, &alpha_, a_.data(), CUDA_R_32F, kLd, 1, b_.data(),
                 CUDA_R_32F, ldb, 2, &beta_, c_.data(), CUDA_R_32F, kM, 20, 3, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
                expect_batch);
}

TEST_F(CallsTest, EveryBatchByAddressReachesTheLibrary) {
  fill_operands();
  std::vector<float> other_c = numbers(7);
  const float* a[] = {a_.data(), b_.data()};
  const float* b[] = {b_.data(), a_.data()};
  float* c[] = {c_.data(), other_c.data()};
  std::vector<float> expected[] = {c_, other_c};
  int products = 0;
  const auto expect_batch = [&] {
    for (const int i : {0, 1}) {
      host_gemm(true, false, kM, kN, k_, alpha_, a[i], k_, b[i], k_, beta_, expected[i].data(), kLd);
      EXPECT_EQ(i == 0 ? c_ : other_c, expected[i]);
    }
    expect_computed(++products, 0);
    EXPECT_EQ(fake_sgemm()->product.batch_count, 2);
    EXPECT_EQ(fake_sgemm()->plans_by_address, 1) << "a second call has the decision of the first";
  };
  IN_BOTH_FORMS(cublasSgemmBatched,
                (handle_, CUBLAS_OP_T, CUBLAS_OP_N, kM, kN, k_, &alpha_, a, k_, b, k_, &beta_, c, kLd, 2),
                expect_batch);
  const auto batched_ex = [&](cudaDataType type, auto&& then) {
    IN_BOTH_FORMS(cublasGemmBatchedEx,
                  (handle_, CUBLAS_OP_T, CUBLAS_OP_N, kM, kN, k_, &alpha_, reinterpret_cast<const void* const*>(a),
                   CUDA_R_32F, k_, reinterpret_cast<const void* const*>(b), type, k_, &beta_,
                   reinterpret_cast<void* const*>(c), CUDA_R_32F, kLd, 2, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
                  then);
  };
  batched_ex(CUDA_R_32F, expect_batch);
  batched_ex(CUDA_R_16F, [&, calls = 0]() mutable { expect_computed(products, ++calls); });
  // The same shape with strides is another question.
  cublasSgemmStridedBatched(handle_, CUBLAS_OP_T, CUBLAS_OP_N, kM, kN, k_, &alpha_, a_.data(), k_, 0, b_.data(), k_, 0,
                            &beta_, c_.data(), kLd, 0, 2);
  EXPECT_EQ(fake_sgemm()->plans, 2);
}

TEST_F(CallsTest, OnlyTheDefaultMathModeIsTheLibrarysWork) {
  int cublas_products = 0;
  for (const cublasMath_t mode :
       {CUBLAS_TF32_TENSOR_OP_MATH, CUBLAS_PEDANTIC_MATH, CUBLAS_TENSOR_OP_MATH, CUBLAS_FP32_EMULATED_BF16X9_MATH}) {
    context_.math_mode = mode;
    sgemm();
    gemm_ex(CUDA_R_32F, CUBLAS_COMPUTE_32F);
    expect_computed(0, cublas_products += 2);
  }
  context_.math_mode =
      static_cast<cublasMath_t>(CUBLAS_DEFAULT_MATH | CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION);
  expect_sgemm(1, cublas_products);
}

TEST_F(CallsTest, OtherTypesAreCublasWork) {
  gemm_ex(CUDA_R_16BF, CUBLAS_COMPUTE_32F);
  gemm_ex(CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32);
  gemm_ex(CUDA_R_32F, CUBLAS_COMPUTE_32F_PEDANTIC);
  expect_computed(0, 3);
  EXPECT_EQ(fake_cublas().calls["cublasGemmEx"], 3);
}

/// It fails, or it would give the call to cuBLAS: that is the program's own call then. With a beta that is not 0, a
/// second product would show.
TEST_F(CallsTest, CublasComputesWhatTheLibraryFailsAt) {
  int calls = 0;
  for (const sgemm_status_t status : {SGEMM_STATUS_ALLOC_FAILED, SGEMM_STATUS_SUCCESS}) {
    const std::vector<float> expected = expected_c();
    fake_sgemm()->status = status;
    fake_sgemm()->products_without_memory = status == SGEMM_STATUS_SUCCESS ? 1 : 0;
    EXPECT_EQ(sgemm(), CUBLAS_STATUS_SUCCESS);
    ++calls;
    expect_computed(calls, calls);
    EXPECT_EQ(fake_cublas().handle, handle_);
    EXPECT_EQ(c_, expected);
  }
}

/// The first product is in C already, so that cuBLAS would add it a second time.
TEST_F(CallsTest, ABatchThatFailsInTheMiddleIsNotBegunAgain) {
  fake_sgemm()->fails_in_batches = 1;
  std::vector<float> expected = c_;
  host_gemm(false, false, kM, kN, k_, alpha_, a_.data(), kLd, b_.data(), k_, beta_, expected.data(), kM);
  EXPECT_EQ(cublasSgemmStridedBatched(handle_, CUBLAS_OP_N, CUBLAS_OP_N, kM, kN, k_, &alpha_, a_.data(), kLd, 0,
                                      b_.data(), k_, 0, &beta_, c_.data(), kM, kM * kN, 2),
            CUBLAS_STATUS_EXECUTION_FAILED);
  expect_computed(1, 0);
  EXPECT_EQ(c_, expected);
}

TEST_F(CallsTest, CublasComputesWhatThePlanLeavesToIt) {
  fake_sgemm()->kernel = "cublas";
  sgemm();
  expect_sgemm(0, 2);
  EXPECT_EQ(fake_sgemm()->plans, 1) << "the library is asked once about a shape";
  fake_sgemm()->kernel = "none";
  ++k_;  // of which the drop-in remembers nothing
  expect_sgemm(0, 3);
}

TEST_F(CallsTest, CublasRefusesItsOwnHandles) {
  handle_ = nullptr;
  expect_sgemm(0, 1, CUBLAS_STATUS_NOT_INITIALIZED);
}

TEST_F(CallsTest, ThreadsThatComeAndGoShareAHandle) {
  sgemm();
  *fake_sgemm() = {};
  for (int i = 0; i < 3; ++i) {
    std::thread([&] { EXPECT_EQ(sgemm(), CUBLAS_STATUS_SUCCESS); }).join();
  }
  expect_computed(3, 0);
  EXPECT_EQ(fake_sgemm()->handles, 0);
}

TEST_F(CallsTest, AnAlphaOfZeroIsCublasWork) {
  alpha_ = 0;
  expect_sgemm(0, 1);
  // On the GPU it can not be seen.
  context_.pointer_mode = CUBLAS_POINTER_MODE_DEVICE;
  expect_sgemm(1, 1);
}

/// A function of the drop-in, or of what stands for CUDA.
template <class Function>
Function function(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

/// An accuracy that products of this thread have.
class Entered {
 public:
  explicit Entered(int accuracy) : before_(function<decltype(&sgemm_drop_in_enter)>("sgemm_drop_in_enter")(accuracy)) {}
  ~Entered() { function<decltype(&sgemm_drop_in_leave)>("sgemm_drop_in_leave")(before_); }
  Entered(const Entered&) = delete;
  Entered& operator=(const Entered&) = delete;

 private:
  int64_t before_;
};

TEST_F(CallsTest, CublasComputesNothingThatIsToBeReproducible) {
  const Entered reproducible(SGEMM_ACCURACY_REPRODUCIBLE);
  EXPECT_EQ(sgemm(), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(fake_sgemm()->accuracy, SGEMM_ACCURACY_REPRODUCIBLE);
  alpha_ = 0;
  expect_sgemm(2, 0);
  fake_sgemm()->status = SGEMM_STATUS_ALLOC_FAILED;
  expect_sgemm(3, 0, CUBLAS_STATUS_NOT_SUPPORTED);
  fake_sgemm()->kernel = "none";
  ++k_;
  expect_sgemm(3, 0, CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(gemm_ex(CUDA_R_16F, CUBLAS_COMPUTE_32F), CUBLAS_STATUS_SUCCESS) << "other types stay with cuBLAS";
  expect_computed(3, 1);
}

/// A row by a layer's weight may come as a vector. The increments are 2 and 3.
TEST_F(CallsTest, ReproducibleProductsByVectorsAreTheLibrarys) {
  fill_operands();
  const auto gemv = [&](cublasOperation_t op, int incx = 2) {
    return cublasSgemv(handle_, op, kM, kN, &alpha_, a_.data(), kLd, b_.data(), incx, &beta_, c_.data(), 3);
  };
  EXPECT_EQ(gemv(CUBLAS_OP_N), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(fake_cublas().calls["cublasSgemv_v2"], 1) << "others stay with cuBLAS";
  const Entered reproducible(SGEMM_ACCURACY_REPRODUCIBLE);
  for (const cublasOperation_t op : {CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C}) {
    std::vector<float> expected = c_ = numbers(3);
    const auto [lines, depth] = op == CUBLAS_OP_N ? std::pair{kM, kN} : std::pair{kN, kM};
    host_gemm(false, op == CUBLAS_OP_N, 1, lines, depth, alpha_, b_.data(), 2, a_.data(), kLd, beta_, expected.data(),
              3);
    EXPECT_EQ(gemv(op), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(c_, expected);
  }
  expect_computed(3, 1);
  EXPECT_EQ(gemv(CUBLAS_OP_N, -1), CUBLAS_STATUS_NOT_SUPPORTED);
  expect_computed(3, 1);

  int products = 3;
  const auto computed = [&] { expect_computed(++products, 1); };
  EXPECT_EQ(cublasSgemv_64(handle_, CUBLAS_OP_T, kM, kN, &alpha_, a_.data(), kLd, b_.data(), 1, &beta_, c_.data(), 1),
            CUBLAS_STATUS_SUCCESS);
  computed();
  IN_BOTH_FORMS(cublasSgemvStridedBatched,
                (handle_, CUBLAS_OP_T, kM, kN, &alpha_, a_.data(), kLd, 4, b_.data(), 1, 5, &beta_, c_.data(), 1, 6, 3),
                computed);
  const sgemm_product_t& asked = fake_sgemm()->product;
  EXPECT_EQ(std::tuple(asked.a.stride, asked.b.stride, asked.stride_of_d, asked.batch_count), std::tuple(5, 4, 6, 3));
  EXPECT_EQ(std::tuple(asked.m, asked.n, asked.k), std::tuple(1, kN, kM));
  const float* a[] = {a_.data()};
  const float* x[] = {b_.data()};
  float* y[] = {c_.data()};
  IN_BOTH_FORMS(cublasSgemvBatched, (handle_, CUBLAS_OP_T, kM, kN, &alpha_, a, kLd, x, 1, &beta_, y, 1, 1), computed);
}

TEST_F(CallsTest, WhatIsNeverReproducibleIsToldOnce) {
  const auto call_all = [&] {
    const cublasOperation_t op[] = {CUBLAS_OP_N};
    const int size[] = {1};
    const float* in[] = {a_.data()};
    float* out[] = {c_.data()};
    EXPECT_EQ(cublasSdot(handle_, kN, a_.data(), 1, b_.data(), 1, c_.data()), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(cublasSdot_v2_64(handle_, kN, a_.data(), 1, b_.data(), 1, c_.data()), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(cublasSger(handle_, kM, kN, &alpha_, a_.data(), 1, b_.data(), 1, c_.data(), kLd), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(cublasSgemmGroupedBatched(handle_, op, op, size, size, size, &alpha_, in, size, in, size, &beta_, out,
                                        size, 1, size),
              CUBLAS_STATUS_SUCCESS);
  };
  testing::internal::CaptureStderr();
  call_all();
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  const Entered reproducible(SGEMM_ACCURACY_REPRODUCIBLE);
  testing::internal::CaptureStderr();
  call_all();
  call_all();
  const std::string told = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(told.begin(), told.end(), '\n'), 4) << told;
  for (const char* const name : {"cublasSdot", "cublasSdot_64", "cublasSger", "cublasSgemmGroupedBatched"}) {
    EXPECT_NE(told.find(std::string(name) + " is cuBLAS's"), std::string::npos) << told;
  }
  expect_computed(0, 12);
}

TEST_F(CallsTest, AHandleOfBeforeAResetIsNotTakenAgain) {
  EXPECT_EQ(sgemm(), CUBLAS_STATUS_SUCCESS);
  *fake_sgemm() = {};
  ++fake_sgemm()->context;
  EXPECT_EQ(sgemm(), CUBLAS_STATUS_SUCCESS);
  expect_sgemm(2, 0);
  EXPECT_EQ(fake_sgemm()->handles, 1);
}

/// As with green contexts, and those of PyCUDA.
TEST_F(CallsTest, EachContextOfADeviceKeepsItsHandle) {
  for (int call = 0; call < 100; ++call) {
    fake_sgemm()->context = 100 + call % 2;
    EXPECT_EQ(sgemm(), CUBLAS_STATUS_SUCCESS);
  }
  expect_computed(100, 0);
  EXPECT_EQ(fake_sgemm()->handles, 2);
}

TEST_F(CallsTest, WithoutRoomARepeatableCallFails) {
  fake_sgemm()->repeatable_by_environment = 1;
  fake_sgemm()->context = 2;  // of no other test, so that the drop-in makes another handle
  fake_sgemm()->status = SGEMM_STATUS_ALLOC_FAILED;
  expect_sgemm(1, 0, CUBLAS_STATUS_ALLOC_FAILED);
}

TEST_F(CallsTest, AProgramSaysWhetherProductsAreRepeatable) {
  const auto set = function<decltype(&sgemm_drop_in_set_repeatable)>("sgemm_drop_in_set_repeatable");
  fake_sgemm()->context = 3;  // so that the drop-in makes another handle
  for (const auto& [said, repeatable] : {std::pair{1, 1}, {0, 0}, {1, 1}, {SGEMM_DROP_IN_UNSET, 0}}) {
    set(said);
    sgemm();
    EXPECT_EQ(fake_sgemm()->repeatable, repeatable) << said;
  }
}

/// Which operands are aligned decides on kernels, and must not be what it was in another call.
TEST_F(CallsTest, ThePlanIsOneForTheAlignmentOfOperands) {
  for (const auto& [offset, stride] : {std::pair{0, 16}, {0, 20}, {1, 16}, {0, 17}, {0, 16}, {1, 16}}) {
    cublasSgemmStridedBatched(handle_, CUBLAS_OP_N, CUBLAS_OP_N, kM, kN, k_, &alpha_, a_.data() + offset, kLd, 16,
                              b_.data(), k_, stride, &beta_, c_.data(), kLd, 0, 1);
  }
  EXPECT_EQ(fake_sgemm()->plans, 3);
}

TEST_F(CallsTest, ThePlanIsOneForTheSettingsTheLeadingDimensionsAndTheAccuracy) {
  sgemm();
  fake_sgemm()->kernel = "cublas";
  context_.pointer_mode = CUBLAS_POINTER_MODE_DEVICE;
  expect_sgemm(1, 1);
  EXPECT_EQ(fake_sgemm()->plans, 2);
  context_.sm_count_target = 12;
  sgemm();
  EXPECT_EQ(fake_sgemm()->plans, 3);
  cublasSgemm(handle_, CUBLAS_OP_N, CUBLAS_OP_N, kM, kN, k_, &alpha_, a_.data(), kLd, b_.data(), k_ + 2, &beta_,
              c_.data(), kLd + 1);
  EXPECT_EQ(fake_sgemm()->plans, 4);
  context_ = {};
  {
    const Entered fp32(SGEMM_ACCURACY_FP32);
    expect_sgemm(1, 4);
  }
  expect_sgemm(2, 4);
  EXPECT_EQ(fake_sgemm()->plans, 5);
}

/// Calls of all shapes are counted, although there is no line for each.
TEST_F(CallsTest, TheTableHasSoManyLines) {
  constexpr int kMost = 4096;
  const auto set_log = function<decltype(&sgemm_drop_in_set_log)>("sgemm_drop_in_set_log");
  set_log(1);
  std::vector<float> c(kMost + 200);
  const auto call = [&](int n) {
    cublasSgemm(handle_, CUBLAS_OP_N, CUBLAS_OP_N, 1, n, 1, &alpha_, a_.data(), 1, c.data(), 1, &beta_, c.data(), 1);
  };
  for (int n = 1; n <= kMost + 100; ++n) {
    call(n);
  }
  call(1);
  fake_sgemm()->kernel = "cublas";
  call(kMost + 101);
  set_log(0);
  const auto table = function<decltype(&sgemm_drop_in_table)>("sgemm_drop_in_table");
  std::string text(table(nullptr, 0), '\0');
  table(text.data(), text.size() + 1);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), kMost + 2);
  EXPECT_NE(text.find("\n100\t0\t0\t0\t0\tothers\t\t0\t0\t0\t0\t11_bf16x6\t"), std::string::npos);
  EXPECT_NE(text.find("\n1\t0\t0\t0\t0\tothers\t\t0\t0\t0\t0\tcublas\t"), std::string::npos);
  EXPECT_NE(text.find("2\t0\t0\t10\t20\tcublasSgemm\tNN\t1\t1\t1\t1\t11_bf16x6\t"), std::string::npos);
}

TEST_F(CallsTest, CallsOfCublasReachCublas) {
  context_.math_mode = CUBLAS_TF32_TENSOR_OP_MATH;
  fake_cublas().products_call_lt_matmul = true;
  expect_sgemm(0, 2);
  EXPECT_EQ(fake_cublas().calls["cublasLtMatmul"], 1);
}

class LtMatmulTest : public CallsTest {
 protected:
  void SetUp() override {
    CallsTest::SetUp();
    beta_ = 0;
    fake_sgemm()->cublas_us = 1e6;
    describe(CUBLAS_COMPUTE_32F);
    cublasLtMatrixLayoutCreate(&a_layout_, CUDA_R_32F, static_cast<uint64_t>(k_), kM, k_ + 1);
    cublasLtMatrixLayoutCreate(&b_layout_, CUDA_R_32F, static_cast<uint64_t>(k_), kN, k_ + 2);
    cublasLtMatrixLayoutCreate(&c_layout_, CUDA_R_32F, kM, kN, kLd);
  }
  void TearDown() override {
    cublasLtMatmulDescDestroy(description_);
    description_ = nullptr;
    for (const cublasLtMatrixLayout_t layout : {a_layout_, b_layout_, c_layout_}) {
      cublasLtMatrixLayoutDestroy(layout);
    }
  }

  void describe(cublasComputeType_t compute) {
    if (description_ != nullptr) {
      cublasLtMatmulDescDestroy(description_);
    }
    cublasLtMatmulDescCreate(&description_, compute, CUDA_R_32F);
    set(CUBLASLT_MATMUL_DESC_TRANSA, int32_t{CUBLAS_OP_T});
  }
  template <class Value>
  void set(cublasLtMatmulDescAttributes_t which, Value value) {
    cublasLtMatmulDescSetAttribute(description_, which, &value, sizeof value);
  }
  template <class Value>
  static void set(cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t which, Value value) {
    cublasLtMatrixLayoutSetAttribute(layout, which, &value, sizeof value);
  }
  cublasStatus_t matmul() { return matmul(c_.data()); }
  cublasStatus_t matmul(const float* c, void* workspace = nullptr, size_t bytes = 0) {
    return cublasLtMatmul(nullptr, description_, &alpha_, a_.data(), a_layout_, b_.data(), b_layout_, &beta_, c,
                          c_layout_, c_.data(), c_layout_, nullptr, workspace, bytes,
                          reinterpret_cast<cudaStream_t>(48));
  }

  /// The library computes, and D has these numbers beside the product's, one for each row.
  void expect_by_library(const std::vector<float>& bias = std::vector<float>(kM)) {
    std::vector<float> expected = expected_c(CUBLAS_OP_T);
    for (int i = 0; i < kM * kN; ++i) {
      expected[i % kM + i / kM * kLd] += bias[i % kM];
    }
    ASSERT_EQ(matmul(), CUBLAS_STATUS_SUCCESS);
    expect_computed(1, 0);
    for (size_t i = 0; i < c_.size(); ++i) {
      EXPECT_NEAR(c_[i], expected[i], 1e-5) << "at " << i;
    }
  }
  cublasLtMatmulDesc_t description_ = nullptr;
  cublasLtMatrixLayout_t a_layout_ = nullptr;
  cublasLtMatrixLayout_t b_layout_ = nullptr;
  cublasLtMatrixLayout_t c_layout_ = nullptr;
  std::vector<float> bias_ = {-8, 7, -6, 5, -4};
};

TEST_F(LtMatmulTest, ProductsReachTheLibraryWithTheirArguments) {
  set(CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, int32_t{9});
  expect_by_library();
  const sgemm_product_t& asked = fake_sgemm()->product;
  EXPECT_EQ(asked.order, SGEMM_ORDER_COLUMN_MAJOR);
  EXPECT_EQ(std::tuple(asked.a.op, asked.b.op), std::tuple(SGEMM_OP_T, SGEMM_OP_N));
  EXPECT_EQ(std::tuple(asked.m, asked.n, asked.k), std::tuple(kM, kN, k_));
  EXPECT_EQ(std::tuple(asked.a.ld, asked.b.ld, asked.ldd), std::tuple(k_ + 1, k_ + 2, kLd));
  EXPECT_EQ(fake_sgemm()->stream, reinterpret_cast<cudaStream_t>(48));
  EXPECT_EQ(fake_sgemm()->multiprocessors, 9);
  beta_ = 0.5F;  // C is D, which is read
  fake_sgemm()->products = 0;
  expect_by_library();
}

TEST_F(LtMatmulTest, AWorkspaceThatIsLargeEnoughServesTheCall) {
  alignas(SGEMM_WORKSPACE_ALIGNMENT) static char memory[3 * SGEMM_WORKSPACE_ALIGNMENT];
  constexpr size_t kNeeded = 300;
  fake_sgemm()->workspace_bytes = kNeeded;
  const auto expect_workspace = [&](void* given, size_t bytes, void* used, size_t used_bytes) {
    ASSERT_EQ(matmul(c_.data(), given, bytes), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(fake_sgemm()->workspace, used);
    EXPECT_EQ(fake_sgemm()->workspace_bytes_of_call, used_bytes);
  };
  expect_workspace(memory, sizeof memory, memory, kNeeded);
  expect_workspace(nullptr, sizeof memory, nullptr, 0);  // each call has its own
  expect_workspace(memory, kNeeded, memory, kNeeded);
  expect_workspace(memory, kNeeded - 1, nullptr, 0);
  expect_workspace(memory + 16, kNeeded, nullptr, 0);
  expect_computed(5, 0);
  EXPECT_EQ(fake_sgemm()->plans, 1);
  SetUp();  // a shape without a plan
  fake_sgemm()->workspace_bytes = 0;
  expect_workspace(memory, sizeof memory, nullptr, 0);
}

TEST_F(LtMatmulTest, BatchesReachTheLibrary) {
  for (const auto& [layout, stride] : {std::pair{a_layout_, 3}, {b_layout_, 4}, {c_layout_, 40}}) {
    set(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, int32_t{2});
    set(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, int64_t{stride});
  }
  ASSERT_EQ(matmul(), CUBLAS_STATUS_SUCCESS);
  expect_computed(1, 0);
  const sgemm_product_t& asked = fake_sgemm()->product;
  EXPECT_EQ(std::tuple(asked.a.stride, asked.b.stride, asked.stride_of_d), std::tuple(3, 4, 40));
  EXPECT_EQ(asked.batch_count, 2);
}

/// Each of them reaches the library with its bias, and with its auxiliary matrix and its leading dimension.
TEST_F(LtMatmulTest, EpiloguesReachTheLibrary) {
  constexpr int64_t kAuxLd = 128;
  std::vector<float> aux(kAuxLd * kN);
  set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias_.data());
  set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, aux.data());
  set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, kAuxLd);
  set(CUBLASLT_MATMUL_DESC_EPILOGUE, uint32_t{CUBLASLT_EPILOGUE_BIAS});
  expect_by_library(bias_);
  int products = 1;
  for (const auto& [epilogue, activation, bias, has_aux] :
       {std::tuple{CUBLASLT_EPILOGUE_BIAS, SGEMM_ACTIVATION_NONE, true, false},
        {CUBLASLT_EPILOGUE_RELU, SGEMM_ACTIVATION_RELU, false, false},
        {CUBLASLT_EPILOGUE_RELU_BIAS, SGEMM_ACTIVATION_RELU, true, false},
        {CUBLASLT_EPILOGUE_RELU_AUX, SGEMM_ACTIVATION_RELU, false, true},
        {CUBLASLT_EPILOGUE_RELU_AUX_BIAS, SGEMM_ACTIVATION_RELU, true, true},
        {CUBLASLT_EPILOGUE_DRELU, SGEMM_ACTIVATION_RELU_GRADIENT, false, true},
        {CUBLASLT_EPILOGUE_GELU, SGEMM_ACTIVATION_GELU, false, false},
        {CUBLASLT_EPILOGUE_GELU_BIAS, SGEMM_ACTIVATION_GELU, true, false},
        {CUBLASLT_EPILOGUE_GELU_AUX, SGEMM_ACTIVATION_GELU, false, true},
        {CUBLASLT_EPILOGUE_GELU_AUX_BIAS, SGEMM_ACTIVATION_GELU, true, true},
        {CUBLASLT_EPILOGUE_DGELU, SGEMM_ACTIVATION_GELU_GRADIENT, false, true}}) {
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, static_cast<uint32_t>(epilogue));
    for (const float beta : {0.0F, 0.5F}) {
      beta_ = beta;
      ASSERT_EQ(matmul(), CUBLAS_STATUS_SUCCESS);
      expect_computed(++products, 0);
      const sgemm_epilogue_t& asked = fake_sgemm()->epilogue;
      EXPECT_EQ(fake_sgemm()->products_with_epilogue, products);
      EXPECT_EQ(asked.activation, activation);
      EXPECT_EQ(asked.bias_of, SGEMM_BIAS_OF_ROWS);
      EXPECT_EQ(asked.bias, bias ? bias_.data() : nullptr) << epilogue;
      EXPECT_EQ(asked.aux, has_aux ? aux.data() : nullptr) << epilogue;
      EXPECT_EQ(asked.aux_ld, has_aux ? kAuxLd : 0);
      EXPECT_EQ(fake_sgemm()->product.c, nullptr) << "C is D";
    }
  }
}

/// A plan is asked for once for each kind of epilogue, and holds for all pointers.
TEST_F(LtMatmulTest, APlanIsThatOfTheEpilogue) {
  fake_sgemm()->kernel = "cublas";
  set(CUBLASLT_MATMUL_DESC_EPILOGUE, uint32_t{CUBLASLT_EPILOGUE_RELU});
  matmul();
  expect_computed(0, 1);
  EXPECT_EQ(fake_sgemm()->epilogue.activation, SGEMM_ACTIVATION_RELU);
  fake_sgemm()->kernel = "11_bf16x6";
  matmul();
  expect_computed(0, 2);
  set(CUBLASLT_MATMUL_DESC_EPILOGUE, uint32_t{CUBLASLT_EPILOGUE_BIAS});
  set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias_.data());
  matmul();
  expect_computed(1, 2);
  set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias_.data() + 1);
  c_ = numbers(3);
  matmul();
  expect_computed(2, 2);
  EXPECT_EQ(fake_sgemm()->plans, 2);
  set(CUBLASLT_MATMUL_DESC_EPILOGUE, uint32_t{CUBLASLT_EPILOGUE_RELU_BIAS});
  matmul();
  EXPECT_EQ(fake_sgemm()->plans, 3) << "RELU had no bias";
}

TEST_F(LtMatmulTest, AnotherCReachesTheLibrary) {
  std::vector<float> other = numbers(9);
  beta_ = 0.5F;
  c_.swap(other);
  const float expected = expected_c(CUBLAS_OP_T)[1];
  c_.swap(other);
  ASSERT_EQ(matmul(other.data()), CUBLAS_STATUS_SUCCESS);
  expect_computed(1, 0);
  EXPECT_EQ(fake_sgemm()->product.c, other.data());
  EXPECT_EQ(c_[1], expected);
  beta_ = 0;  // it is not read then
  matmul(nullptr);
  expect_computed(2, 0);
  EXPECT_EQ(fake_sgemm()->product.c, nullptr);
  EXPECT_EQ(fake_sgemm()->plans, 2) << "a C that is another matrix is copied";
}

TEST_F(LtMatmulTest, WhatTheLibraryDoesNotHaveIsCublasWork) {
  std::vector<float> other = numbers(9);
  const float* c = nullptr;
  const auto take = [&](const float* as_c) {
    beta_ = 1;
    c = as_c;
  };
  const auto make_batch = [&] {
    for (const cublasLtMatrixLayout_t layout : {a_layout_, b_layout_, c_layout_}) {
      set(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, int32_t{2});
    }
  };
  const std::pair<const char*, std::function<void()>> descriptions[] = {
      {"an epilogue of a later version", [&] { set(CUBLASLT_MATMUL_DESC_EPILOGUE, 1U << 20U); }},
      {"the gradient of a bias", [&] { set(CUBLASLT_MATMUL_DESC_EPILOGUE, uint32_t{CUBLASLT_EPILOGUE_BGRADB}); }},
      {"an epilogue for a batch",
       [&] {
         set(CUBLASLT_MATMUL_DESC_EPILOGUE, uint32_t{CUBLASLT_EPILOGUE_RELU});
         make_batch();
       }},
      {"another C of a batch",
       [&] {
         take(other.data());
         make_batch();
       }},
      {"a C that is missing", [&] { take(nullptr); }},
      {"TF32", [&] { describe(CUBLAS_COMPUTE_32F_FAST_TF32); }},
      {"rows", [&] { set(c_layout_, CUBLASLT_MATRIX_LAYOUT_ORDER, int32_t{CUBLASLT_ORDER_ROW}); }},
      {"a vector alpha", [&] { set(CUBLASLT_MATMUL_DESC_POINTER_MODE, int32_t{CUBLASLT_POINTER_MODE_DEVICE_VECTOR}); }},
      {"a scale", [&] { set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, &alpha_); }},
      {"CUBLASLT_MATMUL_DESC_EMULATION_DESCRIPTOR",
       [&] { set(static_cast<cublasLtMatmulDescAttributes_t>(38), &alpha_); }},
      {"CUBLASLT_MATMUL_DESC_ATOMIC_SYNC_IN_COUNTERS_POINTER",
       [&] { set(static_cast<cublasLtMatmulDescAttributes_t>(29), &alpha_); }},
      {"CUBLASLT_MATMUL_DESC_ATOMIC_SYNC_OUT_COUNTERS_POINTER",
       [&] { set(static_cast<cublasLtMatmulDescAttributes_t>(30), &alpha_); }},
      {"CUBLASLT_MATRIX_LAYOUT_BATCH_MODE",
       [&] { set(b_layout_, static_cast<cublasLtMatrixLayoutAttribute_t>(8), uint32_t{1}); }},
      {"another k in A", [&] { set(a_layout_, CUBLASLT_MATRIX_LAYOUT_ROWS, static_cast<uint64_t>(k_) - 1); }},
      {"another m in A", [&] { set(a_layout_, CUBLASLT_MATRIX_LAYOUT_COLS, uint64_t{kM - 1}); }},
      {"another k in B", [&] { set(b_layout_, CUBLASLT_MATRIX_LAYOUT_ROWS, static_cast<uint64_t>(k_) - 1); }},
      {"another n in B", [&] { set(b_layout_, CUBLASLT_MATRIX_LAYOUT_COLS, uint64_t{kN - 1}); }},
  };
  for (const auto& [what, change] : descriptions) {
    SCOPED_TRACE(what);
    TearDown();
    SetUp();
    c = c_.data();
    change();
    ASSERT_EQ(matmul(c), CUBLAS_STATUS_SUCCESS);
    expect_computed(0, 1);
  }
}

}  // namespace
