// The drop-in on a GPU: what programs get from an intercepted function beside what cuBLAS's own function gives.

#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "device/device_buffer.hpp"
#include "gpu/streams_and_memory.hpp"

namespace {

using sgemm::test::CapturedGraph;
using sgemm::test::OwnStream;

// Large enough for the library to be faster than cuBLAS, epilogue included.
constexpr int kM = 1537;
constexpr int kN = 1283;
constexpr int kK = 1100;
// Of the norm of |A| |B|: far above the errors of FP32, far below those of TF32 or of a wrong element.
constexpr double kTolerance = 1.0 / (1 << 21);

#define CUDA_OK(call) ASSERT_EQ(call, cudaSuccess)
#define CUBLAS_OK(call) ASSERT_EQ(call, CUBLAS_STATUS_SUCCESS)

/// Numbers on the GPU.
class Numbers : public sgemm::DeviceBuffer<float> {
 public:
  explicit Numbers(const std::vector<float>& values) : DeviceBuffer(values.size()) { copy_from_host(values); }

  std::vector<float> read() const {
    std::vector<float> values;
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    copy_to_host(values);
    return values;
  }
};

std::vector<float> normal(size_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> distribution;
  std::vector<float> values(count);
  for (float& value : values) {
    value = distribution(generator);
  }
  return values;
}

/// A function of cuBLAS itself.
template <class Function>
Function real(const char* library, const char* name, Function /*of this type*/) {
  for (const char* version : {".13", ".12"}) {
    if (void* const handle = dlopen((std::string(library) + version).c_str(), RTLD_LAZY | RTLD_NOLOAD)) {
      return reinterpret_cast<Function>(dlsym(handle, name));
    }
  }
  return nullptr;
}

class DropInGpuTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    ASSERT_NE(dlsym(RTLD_DEFAULT, "cublasSgemm_v2"), dlsym(dlopen("libcublas.so.13", RTLD_LAZY), "cublasSgemm_v2"))
        << "the drop-in is not preloaded";
  }
  void SetUp() override {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
      GTEST_SKIP() << "no usable CUDA device";
    }
    CUBLAS_OK(cublasCreate(&handle_));
    CUBLAS_OK(cublasLtCreate(&lt_));
    CUDA_OK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    CUBLAS_OK(cublasSetStream(handle_, stream_));
    a_ = std::make_unique<Numbers>(normal(size_t{kM} * kK, 1));
    b_ = std::make_unique<Numbers>(normal(size_t{kK} * kN, 2));
    bias_ = std::make_unique<Numbers>(normal(kM, 3));
    old_c_ = normal(size_t{kM} * kN, 4);
    c_ = std::make_unique<Numbers>(old_c_);
  }
  void TearDown() override {
    cublasDestroy(handle_);
    cublasLtDestroy(lt_);
    cudaStreamDestroy(stream_);
  }

  /// Expects that two ways to fill C give nearly the same, but not the same bits: cuBLAS did not do both.
  template <class Ours, class Theirs>
  void expect_like_cublas(const Ours& ours, const Theirs& theirs) {
    c_->copy_from_host(old_c_);
    CUBLAS_OK(ours());
    const std::vector<float> got = c_->read();
    c_->copy_from_host(old_c_);
    CUBLAS_OK(theirs());
    expect_near(got, c_->read());
  }
  /// The same of a function of the drop-in and cuBLAS's own. `call` calls either.
  template <class Function, class Call>
  void expect_like_cublas_in(Function ours, Function theirs, const Call& call) {
    expect_like_cublas([&] { return call(ours); }, [&] { return call(theirs); });
  }
  static void expect_near(const std::vector<float>& got, const std::vector<float>& expected) {
    double difference = 0;
    for (size_t i = 0; i < got.size(); ++i) {
      difference += std::pow(static_cast<double>(got[i]) - expected[i], 2);
    }
    // The elements of |A| |B| are near k * 2 / pi.
    const double terms = std::sqrt(static_cast<double>(got.size())) * kK * 2 / M_PI;
    EXPECT_LE(std::sqrt(difference), kTolerance * terms);
    EXPECT_NE(got, expected) << "cuBLAS computed it";
  }

  /// A product into C.
  cublasStatus_t sgemm(decltype(&cublasSgemm_v2) function, cublasOperation_t transa, cublasOperation_t transb,
                       const float* alpha, const float* beta) {
    return function(handle_, transa, transb, kM, kN, kK, alpha, a_->data(), transa == CUBLAS_OP_N ? kM : kK, b_->data(),
                    transb == CUBLAS_OP_N ? kK : kN, beta, c_->data(), kM);
  }
  cublasStatus_t sgemm(decltype(&cublasSgemm_v2) function) {
    return sgemm(function, CUBLAS_OP_N, CUBLAS_OP_N, &kOne, &kZero);
  }

  static constexpr float kOne = 1;
  static constexpr float kZero = 0;

  cublasHandle_t handle_ = nullptr;
  cublasLtHandle_t lt_ = nullptr;
  cudaStream_t stream_ = nullptr;
  const decltype(&cublasSgemm_v2) cublas_sgemm_ = real("libcublas.so", "cublasSgemm_v2", &cublasSgemm_v2);
  const decltype(&cublasLtMatmul) cublas_lt_matmul_ = real("libcublasLt.so", "cublasLtMatmul", &cublasLtMatmul);
  std::unique_ptr<Numbers> a_, b_, c_, bias_;
  std::vector<float> old_c_;
};

TEST_F(DropInGpuTest, SgemmInAllOps) {
  const float alpha = -1.5F;
  const float beta = 0.5F;
  for (const auto transa : {CUBLAS_OP_N, CUBLAS_OP_T}) {
    for (const auto transb : {CUBLAS_OP_N, CUBLAS_OP_T}) {
      expect_like_cublas_in(&cublasSgemm_v2, cublas_sgemm_,
                            [&](auto function) { return sgemm(function, transa, transb, &alpha, &beta); });
    }
  }
}

TEST_F(DropInGpuTest, Tf32GoesToCublas) {
  CUBLAS_OK(cublasSetMathMode(handle_, CUBLAS_TF32_TENSOR_OP_MATH));
  CUBLAS_OK(sgemm(&cublasSgemm_v2));
  const std::vector<float> got = c_->read();
  CUBLAS_OK(sgemm(cublas_sgemm_));
  EXPECT_EQ(got, c_->read());
}

TEST_F(DropInGpuTest, GraphsAreCapturedAndReplayed) {
  CUBLAS_OK(sgemm(&cublasSgemm_v2));  // the library makes its handle
  CUDA_OK(cudaStreamSynchronize(stream_));
  const CapturedGraph graph(stream_, [&] { CUBLAS_OK(sgemm(&cublasSgemm_v2)); });
  const auto replay = [&] {
    return graph.replay() == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
  };
  for (int i = 0; i < 2; ++i) {
    expect_like_cublas(replay, [&] { return sgemm(cublas_sgemm_); });
  }
}

TEST_F(DropInGpuTest, ThreadsWithStreamsOfTheirOwn) {
  CUBLAS_OK(sgemm(&cublasSgemm_v2));
  const std::vector<float> first = c_->read();
  const auto work = [&] {
    const OwnStream stream;
    cublasHandle_t handle = nullptr;
    CUBLAS_OK(cublasCreate(&handle));
    CUBLAS_OK(cublasSetStream(handle, stream));
    Numbers c(old_c_);
    for (int i = 0; i < 20; ++i) {
      CUBLAS_OK(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, kM, kN, kK, &kOne, a_->data(), kM, b_->data(), kK, &kZero,
                            c.data(), kM));
    }
    EXPECT_EQ(c.read(), first) << "same operands, same bits";
    cublasDestroy(handle);
  };
  std::vector<std::jthread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back(work);
  }
}

/// With SGEMM_LOG=1 the log has asked for its events while another thread captured, which broke the capture.
TEST_F(DropInGpuTest, ProductsWhileAnotherThreadCaptures) {
  const OwnStream captured;
  cudaGraph_t graph = nullptr;
  CUDA_OK(cudaStreamBeginCapture(captured, cudaStreamCaptureModeGlobal));
  std::thread([&] {
    for (int i = 0; i < 5; ++i) {  // the first makes a handle of libsgemm
      CUBLAS_OK(sgemm(&cublasSgemm_v2));
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }).join();
  EXPECT_EQ(cudaStreamEndCapture(captured, &graph), cudaSuccess) << "the capture was broken";
  cudaGraphDestroy(graph);
}

/// Run with libcublas.so.12 where the loader finds it, as in the package nvidia-cublas-cu12.
TEST_F(DropInGpuTest, AnotherVersionOfCublasGetsItsOwnHandles) {
  void* const other = dlopen("libcublas.so.12", RTLD_NOW | RTLD_LOCAL);
  if (other == nullptr || CUBLAS_VER_MAJOR == 12) {
    GTEST_SKIP() << "there is no other cuBLAS: " << dlerror();
  }
  const auto of_other = [&](const char* name, auto function) {
    return reinterpret_cast<decltype(function)>(dlsym(other, name));
  };
  const auto create = of_other("cublasCreate_v2", &cublasCreate_v2);
  const auto set_stream = of_other("cublasSetStream_v2", &cublasSetStream_v2);
  const auto set_mode = of_other("cublasSetMathMode", &cublasSetMathMode);
  const auto destroy = of_other("cublasDestroy_v2", &cublasDestroy_v2);
  // What a program gets that was linked to it.
  const auto multiply =
      reinterpret_cast<decltype(&cublasSgemm_v2)>(dlvsym(RTLD_DEFAULT, "cublasSgemm_v2", "libcublas.so.12"));
  ASSERT_NE(multiply, nullptr);
  cublasHandle_t handle = nullptr;
  CUBLAS_OK(create(&handle));
  CUBLAS_OK(set_stream(handle, stream_));
  CUBLAS_OK(set_mode(handle, CUBLAS_PEDANTIC_MATH));  // so that cuBLAS computes
  const auto result = [&] {
    EXPECT_EQ(multiply(handle, CUBLAS_OP_N, CUBLAS_OP_N, kM, kN, kK, &kOne, a_->data(), kM, b_->data(), kK, &kZero,
                       c_->data(), kM),
              CUBLAS_STATUS_SUCCESS);
    return c_->read();
  };
  const std::vector<float> by_cublas = result();
  CUBLAS_OK(set_mode(handle, CUBLAS_DEFAULT_MATH));
  expect_near(result(), by_cublas);
  CUBLAS_OK(destroy(handle));
}

/// A product whose terms find no room, although those of all products before it are in the pool.
TEST_F(DropInGpuTest, WithoutMemoryTheCallIsComputedAllTheSame) {
  constexpr int kLarge = 4096;
  constexpr size_t kCount = size_t{kLarge} * kLarge;
  const Numbers a(normal(kCount, 6));
  const std::vector<float> ones(kCount, 1.0F);
  Numbers c(ones);
  const auto result = [&](decltype(&cublasSgemm_v2) function) {
    EXPECT_EQ(function(handle_, CUBLAS_OP_N, CUBLAS_OP_T, kLarge, kLarge, kLarge, &kOne, a.data(), kLarge, a.data(),
                       kLarge, &kOne, c.data(), kLarge),
              CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
    return c.read();
  };
  // The library has its handle and cuBLAS all that it needs, before the memory is taken.
  CUBLAS_OK(sgemm(&cublasSgemm_v2, CUBLAS_OP_N, CUBLAS_OP_N, &kOne, &kOne));
  const std::vector<float> expected = result(cublas_sgemm_);
  c.copy_from_host(ones);
  {
    const AllMemory taken;
    expect_near(result(&cublasSgemm_v2), expected);  // by chapter 09, if there is room for its code
  }
  c.copy_from_host(ones);
  EXPECT_NE(result(&cublasSgemm_v2), expected) << "with memory it is cuBLAS's as well";
}

/// Epilogues by the name of their constant, and whether they have a bias and an auxiliary matrix.
struct LtCase {
  cublasLtEpilogue_t epilogue;
  bool bias;
  bool argument;

  bool is_mask() const {
    return epilogue == CUBLASLT_EPILOGUE_RELU_AUX || epilogue == CUBLASLT_EPILOGUE_RELU_AUX_BIAS ||
           epilogue == CUBLASLT_EPILOGUE_DRELU;
  }
  bool is_gradient() const { return epilogue == CUBLASLT_EPILOGUE_DGELU || epilogue == CUBLASLT_EPILOGUE_DRELU; }
};

/// A call of cublasLtMatmul with an epilogue: D has `m` rows.
class LtCall {
 public:
  LtCall(const LtCase& of, int m, int n, int k, const Numbers& bias)
      : argument_ld_(of.is_mask() ? (m + 127) / 128 * 128 : (m + 3) / 4 * 4),
        argument_(normal(static_cast<size_t>(argument_ld_) * n, 5)) {
    EXPECT_EQ(cublasLtMatmulDescCreate(&description_, CUBLAS_COMPUTE_32F, CUDA_R_32F), CUBLAS_STATUS_SUCCESS);
    set(CUBLASLT_MATMUL_DESC_TRANSA, int32_t{CUBLAS_OP_T});
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, static_cast<uint32_t>(of.epilogue));
    if (of.bias) {
      set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias.data());
    }
    if (of.argument) {
      set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, argument_.data());
      set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, argument_ld_);
    }
    make(a_layout_, k, m);
    make(b_layout_, k, n);
    make(d_layout_, m, n);
  }
  ~LtCall() {
    cublasLtMatmulDescDestroy(description_);
    for (const cublasLtMatrixLayout_t layout : {a_layout_, b_layout_, d_layout_}) {
      cublasLtMatrixLayoutDestroy(layout);
    }
  }
  LtCall(const LtCall&) = delete;
  LtCall& operator=(const LtCall&) = delete;

  cublasStatus_t run(decltype(&cublasLtMatmul) function, cublasLtHandle_t lt, const Numbers& a, const Numbers& b,
                     float beta, const Numbers& c, Numbers& d, cudaStream_t stream) const {
    const float alpha = 0.1F;
    return function(lt, description_, &alpha, a.data(), a_layout_, b.data(), b_layout_, &beta, c.data(), d_layout_,
                    d.data(), d_layout_, nullptr, nullptr, 0, stream);
  }

  Numbers& argument() { return argument_; }
  /// The bit of an element, in a mask as argument().read() gives it.
  bool bit(const std::vector<float>& mask, int row, int column) const {
    const int64_t bit = row + column * argument_ld_;
    uint32_t word = 0;
    std::memcpy(&word, &mask[static_cast<size_t>(bit / 32)], sizeof word);
    return (word >> static_cast<unsigned>(bit % 32) & 1U) != 0;
  }

 private:
  static void make(cublasLtMatrixLayout_t& layout, int rows, int columns) {
    EXPECT_EQ(cublasLtMatrixLayoutCreate(&layout, CUDA_R_32F, rows, columns, rows), CUBLAS_STATUS_SUCCESS);
  }
  template <class Value>
  void set(cublasLtMatmulDescAttributes_t which, Value value) {
    EXPECT_EQ(cublasLtMatmulDescSetAttribute(description_, which, &value, sizeof value), CUBLAS_STATUS_SUCCESS);
  }

  int64_t argument_ld_;
  Numbers argument_;
  cublasLtMatmulDesc_t description_ = nullptr;
  cublasLtMatrixLayout_t a_layout_ = nullptr;
  cublasLtMatrixLayout_t b_layout_ = nullptr;
  cublasLtMatrixLayout_t d_layout_ = nullptr;
};

class LtMatmulGpuTest : public DropInGpuTest, public testing::WithParamInterface<LtCase> {};

/// Where C is not read, where it is D, and where it is another matrix; with rows that kernels move in pairs, and
/// others.
TEST_P(LtMatmulGpuTest, IsLikeCublas) {
  const LtCase& of = GetParam();
  const Numbers other(old_c_);
  Numbers& d = *c_;
  int compared = 0;
  for (const int m : {kM, kM - 1}) {
    for (const auto& [beta, c] : {std::pair<float, const Numbers*>{0.0F, &d}, {0.5F, &d}, {-0.75F, &other}}) {
      LtCall lt_call(of, m, kN, kK, *bias_);
      const auto call = [&, beta = beta, c = c](decltype(&cublasLtMatmul) function) {
        return lt_call.run(function, lt_, *a_, *b_, beta, *c, d, stream_);
      };
      if (call(cublas_lt_matmul_) == CUBLAS_STATUS_NOT_SUPPORTED) {
        continue;
      }
      ++compared;
      CUDA_OK(cudaStreamSynchronize(stream_));  // D is written from another stream next
      expect_like_cublas_in(&cublasLtMatmul, cublas_lt_matmul_, call);
      if (!of.argument || of.is_gradient()) {
        continue;
      }
      const auto written_by = [&](decltype(&cublasLtMatmul) function) {
        d.copy_from_host(old_c_);
        EXPECT_EQ(call(function), CUBLAS_STATUS_SUCCESS);
        return lt_call.argument().read();
      };
      const std::vector<float> ours = written_by(&cublasLtMatmul);
      const std::vector<float> our_d = d.read();
      const std::vector<float> theirs = written_by(cublas_lt_matmul_);
      const std::vector<float> their_d = d.read();
      if (!of.is_mask()) {
        expect_near(ours, theirs);
        continue;
      }
      int wrong = 0;
      for (int column = 0; column < kN; ++column) {
        for (int row = 0; row < m; ++row) {
          const size_t at = row + static_cast<size_t>(column) * m;
          const bool near_zero = our_d[at] < 1e-4F && their_d[at] < 1e-4F;  // where roundings decide
          wrong += lt_call.bit(ours, row, column) != lt_call.bit(theirs, row, column) && !near_zero ? 1 : 0;
        }
      }
      EXPECT_EQ(wrong, 0) << "bits, with " << m << " rows and beta " << beta;
    }
  }
  if (compared == 0) {
    GTEST_SKIP() << "this cuBLASLt does not support the epilogue in FP32";
  }
}

INSTANTIATE_TEST_SUITE_P(
    Epilogues, LtMatmulGpuTest,
    testing::Values(LtCase{CUBLASLT_EPILOGUE_DEFAULT, false, false}, LtCase{CUBLASLT_EPILOGUE_BIAS, true, false},
                    LtCase{CUBLASLT_EPILOGUE_RELU, false, false}, LtCase{CUBLASLT_EPILOGUE_RELU_BIAS, true, false},
                    LtCase{CUBLASLT_EPILOGUE_RELU_AUX, false, true},
                    LtCase{CUBLASLT_EPILOGUE_RELU_AUX_BIAS, true, true}, LtCase{CUBLASLT_EPILOGUE_DRELU, false, true},
                    LtCase{CUBLASLT_EPILOGUE_GELU, false, false}, LtCase{CUBLASLT_EPILOGUE_GELU_BIAS, true, false},
                    LtCase{CUBLASLT_EPILOGUE_GELU_AUX, false, true},
                    LtCase{CUBLASLT_EPILOGUE_GELU_AUX_BIAS, true, true}, LtCase{CUBLASLT_EPILOGUE_DGELU, false, true}),
    [](const auto& info) { return "epilogue_" + std::to_string(info.param.epilogue); });

/// An argument of 0 and one of NaN, whose bits roundings do not decide. No other test has its shape, because cuBLAS may
/// get the next calls of a shape with NaN.
TEST_F(DropInGpuTest, MasksOfReluHaveTheBitsOfCublasForZeroAndNan) {
  constexpr int kColumns = kN - 2;
  constexpr int kZeroRow = 5;
  constexpr int kNanRow = 7;
  std::vector<float> a = normal(size_t{kM} * kK, 1);
  for (int k = 0; k < kK; ++k) {
    a[kZeroRow * size_t{kK} + k] = 0;
  }
  a[kNanRow * size_t{kK}] = std::nanf("");
  const Numbers operand(a);
  Numbers& d = *c_;
  LtCall lt_call({CUBLASLT_EPILOGUE_RELU_AUX, false, true}, kM, kColumns, kK, *bias_);
  const auto written_by = [&](decltype(&cublasLtMatmul) function) {
    EXPECT_EQ(lt_call.run(function, lt_, operand, *b_, 0, d, d, stream_), CUBLAS_STATUS_SUCCESS);
    return lt_call.argument().read();
  };
  if (lt_call.run(cublas_lt_matmul_, lt_, operand, *b_, 0, d, d, stream_) == CUBLAS_STATUS_NOT_SUPPORTED) {
    GTEST_SKIP() << "this cuBLASLt does not support the epilogue in FP32";
  }
  const std::vector<float> theirs = written_by(cublas_lt_matmul_);
  const std::vector<float> their_d = d.read();
  const std::vector<float> ours = written_by(&cublasLtMatmul);
  const std::vector<float> our_d = d.read();
  for (const int row : {kZeroRow, kNanRow}) {
    for (int column = 0; column < kColumns; ++column) {
      const size_t at = row + static_cast<size_t>(column) * kM;
      ASSERT_EQ(lt_call.bit(ours, row, column), lt_call.bit(theirs, row, column))
          << row << ", " << column << ": D is " << our_d[at] << ", cuBLAS's is " << their_d[at];
      ASSERT_TRUE(our_d[at] == their_d[at] || (std::isnan(our_d[at]) && std::isnan(their_d[at])))
          << row << ", " << column << ": D is " << our_d[at] << ", cuBLAS's is " << their_d[at];
    }
  }
}

}  // namespace
