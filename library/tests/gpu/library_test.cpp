// libsgemm on a GPU: products that its own kernels compute, and how it works with streams, graphs, threads and memory.
// library/tests/ has the tests of its interface, which run here as well.

#include "device/cublas_handle.hpp"
#include "device/device_buffer.hpp"
#include "epilogue_case.hpp"
#include "gemm_case.hpp"
#include "gpu/streams_and_memory.hpp"

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

namespace sgemm::test {
namespace {

using OwnKernelsTest = WgmmaTest;

std::string kernel_of(sgemm_handle_t handle, GemmOperands& operands) {
  set(handle, operands.of);
  return planned(handle, operands.product()).kernel;
}

/// Sizes for which the split kernels are predicted to be faster than cuBLAS.
class LargeProductTest : public testing::TestWithParam<std::tuple<sgemm_accuracy_t, sgemm_order_t, sgemm_op_t>> {};

TEST_P(LargeProductTest, IsRightForBothLayoutsOfB) {
  const Handle handle;
  const auto& [accuracy, order, transa] = GetParam();
  for (const auto& [transb, mode] : combinations(OPS, POINTER_MODES)) {
    for (const auto& [m, n, k] : {std::tuple{1024, 1152, 1280}, {1111, 999, 1301}, {2051, 517, 1000}}) {
      const GemmCase product{m, n, k, order, transa, transb, -1.5F, m == 1024 ? 0.0F : 0.5F};
      expect_right(handle, (m == 2051 ? product.padded(5, 1) : product).with(accuracy).with(mode));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Library, LargeProductTest, testing::ValuesIn(combinations(ACCURACIES, ORDERS, N_AND_T)));

TEST(LibraryTest, SmallSizesOfAllKinds) {
  const Handle handle;
  for (const sgemm_accuracy_t accuracy : ACCURACIES) {
    for (std::int64_t m = 1; m <= 300; m += 23) {
      for (std::int64_t n = 1; n <= 300; n += 59) {
        const GemmCase product{m, n, (m * 7 + n * 13) % 300 + 1, ORDERS[(m + n) % 2], OPS[m % 3], OPS[n % 3]};
        expect_right(handle, product.with(accuracy).scaled(1.0F, m % 2 == 0 ? 0.0F : 1.0F));
      }
    }
  }
}

/// C with few columns or rows: one kernel splits the long operand while it multiplies.
TEST_F(OwnKernelsTest, ThinProductsInEveryLayout) {
  const Handle handle;
  const auto change = [&](GemmOperands& operands) {
    const GemmCase& of = operands.of;
    EXPECT_EQ(kernel_of(handle, operands), "11_bf16x6") << of.describe();
    operands.op_a(0, 0, 7) = INF;
    operands.op_b(0, 11, of.n - 1) = NAN_FLOAT;
    operands.op_a(0, of.m / 2, 4000) = 0x1p90F;
    operands.scale_row(0, of.m - 1, 0x1p-100F);
    for (std::int64_t k = 0; k < of.k; ++k) {
      operands.op_b(0, k, 1) *= k % 2 == 0 ? 0x1p-20F : 0x1p20F;
    }
  };
  for (const auto& [transa, transb] : combinations(N_AND_T, N_AND_T)) {
    for (const auto& [m, n, batch] :
         {std::tuple{12010, 32, 1}, {32, 12010, 1}, {5000, 60, 1}, {61, 5000, 2}, {3001, 128, 1}, {127, 4096, 3}}) {
      const sgemm_order_t order = batch == 1 ? SGEMM_ORDER_ROW_MAJOR : SGEMM_ORDER_COLUMN_MAJOR;
      const GemmCase product{m, n, 4098, order, transa, transb, -1.5F, 0.5F, 2};
      expect_right(handle, product.batched(batch), change, 5);
    }
  }
}

TEST(LibraryTest, InfNanAndDenormals) {
  const Handle handle;
  for (const sgemm_accuracy_t accuracy : ACCURACIES) {
    const GemmCase product{1030, 900, 1100, SGEMM_ORDER_COLUMN_MAJOR, SGEMM_OP_T, SGEMM_OP_N};
    const auto change = [](GemmOperands& operands) {
      operands.op_a(0, 3, 7) = INF;
      operands.op_a(0, 1029, 1000) = NAN_FLOAT;
      operands.op_b(0, 20, 899) = -INF;
      operands.scale_row(0, 500, 0x1p-130F);  // denormals
      operands.scale_column(0, 41, 0x1p100F);
    };
    expect_right(handle, product.with(accuracy), change, 1030);
  }
}

/// In tiles of C with one such row, with 43, and where all ranges of k are far apart, so that nothing is left to
/// tensor cores. A second call gives the same bits.
TEST(LibraryTest, RowsColumnsAndRangesOfKThatAreFarApart) {
  for (const sgemm_accuracy_t accuracy :
       {SGEMM_ACCURACY_COMPONENTWISE, SGEMM_ACCURACY_NORMWISE, SGEMM_ACCURACY_ROWWISE}) {
    for (const sgemm_op_t op : N_AND_T) {
      for (const bool everywhere : {false, true}) {
        const GemmCase product{1030, 900, 1100, SGEMM_ORDER_ROW_MAJOR, op, op};
        GemmOperands operands(product.with(accuracy));
        operands.scale_a([&](std::int64_t row, std::int64_t k) {
          const bool far = everywhere ? k < 64 : row == 1000 || (row < 128 && row % 3 == 0);
          return far ? 0x1p60F : 1.0F;
        });
        operands.scale_column(0, 41, everywhere ? 1.0F : 0x1p-60F);
        operands.upload();
        const Expected expected(operands);
        std::vector<float> first;
        for (int run = 0; run < 3; ++run) {
          const Handle handle;  // one that has not learned that cuBLAS is faster here
          ASSERT_EQ(operands.call(handle), SGEMM_STATUS_SUCCESS);
          ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
          if (run == 0) {
            expected.check(operands);
            first = operands.c.memory().download();
          }
          EXPECT_EQ(operands.c.memory().download(), first) << operands.of.describe();
        }
      }
    }
  }
}

/// Large products one by one, some 100 MB of terms each, so that each launch has a few of them, and many in a launch.
TEST(LibraryTest, Batches) {
  const Handle handle;
  const auto change = [](GemmOperands& operands) {
    for (std::int64_t item = 0; item < operands.of.batch; item += 7) {
      operands.op_a(item, 3, 9) = item % 2 == 0 ? INF : 0x1p-70F;
    }
  };
  for (const auto& [accuracy, by_address] : combinations(ACCURACIES, BOTH)) {
    const GemmCase large{1000, 1100, 900, SGEMM_ORDER_ROW_MAJOR, SGEMM_OP_N, SGEMM_OP_T};
    expect_right(handle, large.with(accuracy).batched(3, by_address));
  }
  for (const auto& [accuracy, by_address] : combinations(OF_SPLIT_OPERANDS, BOTH)) {
    const GemmCase of_long_sums{250, 390, 29999, SGEMM_ORDER_ROW_MAJOR, SGEMM_OP_T, SGEMM_OP_N};
    expect_right(handle, of_long_sums.with(accuracy).batched(11, by_address), change_nothing, 2);
    for (const sgemm_op_t transb : N_AND_T) {
      const GemmCase small{300, 390, 300, SGEMM_ORDER_COLUMN_MAJOR, SGEMM_OP_N, transb, -0.5F, 2.0F};
      expect_right(handle, small.with(accuracy).batched(200, by_address).padded(by_address ? 1 : 0), change, 4);
    }
  }
}

TEST(LibraryTest, AWorkspaceServesProductsOfDifferentShapesInTurn) {
  Mirrored<float> workspace(std::size_t{64} << 20U, NAN_FLOAT);
  const Handle handle;
  ASSERT_EQ(sgemm_set_workspace(handle, workspace.device(), workspace.host().size() * sizeof(float)),
            SGEMM_STATUS_SUCCESS);
  for (const sgemm_accuracy_t accuracy : ACCURACIES) {
    for (const auto& [m, n, k] :
         {std::tuple{1500, 1500, 1500}, {1024, 1024, 3000}, {700, 3000, 1024}, {1500, 1500, 1500}}) {
      expect_right(handle, GemmCase{m, n, k}.with(accuracy));
    }
  }
}

TEST(LibraryTest, TheSameCallGivesTheSameBits) {
  const Handle handle;
  for (const sgemm_accuracy_t accuracy : ACCURACIES) {
    for (const auto& [m, n, k] : {std::tuple{1500, 1400, 3000}, {512, 512, 512}, {100, 100, 100}}) {
      GemmOperands operands(GemmCase{m, n, k}.with(accuracy));
      std::vector<float> first;
      for (int run = 0; run < 10; ++run) {
        ASSERT_EQ(operands.call(handle), SGEMM_STATUS_SUCCESS);
        ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
        if (run == 0) {
          first = operands.c.memory().download();
        }
        EXPECT_EQ(operands.c.memory().download(), first) << operands.of.describe();
      }
    }
  }
}

/// Captures a call, and replays it twice with an A that changes in between.
void expect_right_in_a_graph(const GemmCase& product, bool packs_b = false) {
  SCOPED_TRACE(product.describe());
  const OwnStream stream;
  const Handle handle;
  ASSERT_EQ(sgemm_set_stream(handle, stream), SGEMM_STATUS_SUCCESS);
  ASSERT_EQ(GemmOperands({5, 6, 7}).call(handle), SGEMM_STATUS_SUCCESS);  // cuBLAS has a handle from now on
  GemmOperands operands(product);
  std::optional<PackedOperand> b;
  if (packs_b) {
    b.emplace(handle, operands, SGEMM_SIDE_B);
  }
  const sgemm_product_t call = product_of(operands, nullptr, b ? &*b : nullptr);
  const CapturedGraph graph(stream, [&] { EXPECT_EQ(operands.call(handle, call), SGEMM_STATUS_SUCCESS); });
  for (int replay = 0; replay < 2; ++replay) {
    operands.op_a(0, 1, 2) += 1.0F;
    operands.upload();
    const Expected expected(operands);
    ASSERT_EQ(graph.replay(), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    expected.check(operands);
  }
}

TEST(LibraryTest, CallsAreCapturedIntoGraphs) {
  for (const sgemm_accuracy_t accuracy : ACCURACIES) {
    const GemmCase product = GemmCase{1500, 1500, 1500}.with(accuracy);
    expect_right_in_a_graph(product);
    expect_right_in_a_graph(product.with(&GemmCase::transa, SGEMM_OP_T).with(SGEMM_POINTER_MODE_DEVICE));
  }
  expect_right_in_a_graph(GemmCase{500, 500, 500}.batched(8, true));
  if (has_wgmma()) {
    const GemmCase product{1024, 1152, 1280, SGEMM_ORDER_COLUMN_MAJOR, SGEMM_OP_T, SGEMM_OP_N};
    expect_right_in_a_graph(product.with(SGEMM_ACCURACY_NORMWISE), true);
  }
}

TEST(LibraryTest, EightThreadsWithAHandleAndAStreamEach) {
  std::vector<std::jthread> threads;
  for (int number = 0; number < 8; ++number) {
    threads.emplace_back([number] {
      const OwnStream stream;
      const Handle handle;
      ASSERT_EQ(sgemm_set_stream(handle, stream), SGEMM_STATUS_SUCCESS);
      GemmCase product{1000 + 30 * number, 900, 1200};
      product.transa = OPS[number % 2];
      product.accuracy = ACCURACIES[number % static_cast<int>(std::size(ACCURACIES))];
      GemmOperands operands(product);
      const Expected expected(operands);
      for (int run = 0; run < 5; ++run) {
        ASSERT_EQ(operands.call(handle), SGEMM_STATUS_SUCCESS);
      }
      ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
      expected.check(operands);
    });
  }
}

TEST_F(OwnKernelsTest, Chapter09GetsTheCallWhereThereIsNoMemory) {
  constexpr int N = 4096;
  constexpr std::size_t COUNT = std::size_t{N} * N;
  DeviceBuffer<float> a(COUNT);
  DeviceBuffer<float> b(COUNT);
  DeviceBuffer<float> c(COUNT);
  std::vector<float> host(COUNT);
  for (std::size_t i = 0; i < COUNT; ++i) {
    host[i] = static_cast<float>(i % 1009) / 1009.0F - 0.5F;
  }
  a.copy_from_host(host);
  b.copy_from_host(host);
  const Handle handle;
  const std::shared_ptr<CublasHandle> cublas = CublasHandle::shared();
  constexpr float ONE = 1.0F;
  constexpr float ZERO = 0.0F;
  const auto product = [&](std::int64_t n) {
    return sgemm_gemm(handle, SGEMM_ORDER_ROW_MAJOR, SGEMM_OP_T, SGEMM_OP_N, n, n, n, &ONE, a.data(), N, b.data(), N,
                      &ZERO, c.data(), N);
  };
  const auto result_of = [&](const auto& multiply) {
    EXPECT_EQ(cudaMemset(c.data(), 0xff, COUNT * sizeof(float)), cudaSuccess);
    multiply();
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    std::vector<float> result;
    c.copy_to_host(result);
    return result;
  };
  const auto by_library = [&] { EXPECT_EQ(product(N), SGEMM_STATUS_SUCCESS); };
  const std::vector<float> by_cublas = result_of([&] {
    cublas_check(cublasSgemm(cublas->on(nullptr), CUBLAS_OP_N, CUBLAS_OP_T, N, N, N, &ONE, b.data(), N, a.data(), N,
                             &ZERO, c.data(), N),
                 "cublasSgemm");
  });
  EXPECT_EQ(product(16), SGEMM_STATUS_SUCCESS);  // by cuBLAS, which has all that it needs afterwards
  ASSERT_EQ(sgemm_set_memory_limit(handle, SIZE_MAX - 1), SGEMM_STATUS_SUCCESS);  // loads what needs no memory
  {
    const AllMemory taken;
    const std::vector<float> without_memory = result_of(by_library);
    EXPECT_NE(without_memory, by_cublas);
    EXPECT_EQ(result_of(by_library), without_memory);
    for (std::size_t i = 0; i < without_memory.size(); ++i) {
      ASSERT_NEAR(without_memory[i], by_cublas[i], 1e-2) << i;
    }
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  }
  EXPECT_NE(result_of(by_library), by_cublas) << "with memory it is cuBLAS's as well";

  // A repeatable handle keeps what its calls have worked in.
  ASSERT_EQ(sgemm_set_repeatable(handle, 1), SGEMM_STATUS_SUCCESS);
  const std::vector<float> with_memory = result_of(by_library);
  ASSERT_EQ(sgemm_trim(handle), SGEMM_STATUS_SUCCESS);
  const AllMemory taken;
  EXPECT_EQ(result_of(by_library), with_memory);
}

TEST(LibraryTest, CublasIsThatOfTheProcess) {
  int major = 0;
  ASSERT_EQ(cublasGetProperty(MAJOR_VERSION, &major), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(sgemm_cublas_version() / 10000, major);
  EXPECT_NE(std::string(sgemm_cublas_path()).find("libcublas.so." + std::to_string(major)), std::string::npos);
}

TEST(LibraryTest, AnotherDeviceIsRefused) {
  int devices = 0;
  ASSERT_EQ(cudaGetDeviceCount(&devices), cudaSuccess);
  if (devices < 2) {
    GTEST_SKIP() << "this takes two GPUs";
  }
  const Handle handle;
  GemmOperands operands({50, 60, 70});
  const Expected expected(operands);
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  EXPECT_EQ(operands.call(handle), SGEMM_STATUS_ARCH_MISMATCH);
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  expected.check_unchanged(operands);
}

// ---- Epilogues: in the store of the chapters that are the fastest for a product, and in a pass ----

class LargeEpilogueTest : public testing::TestWithParam<std::tuple<sgemm_accuracy_t, sgemm_order_t>> {
 protected:
  static GemmCase with(std::int64_t m, std::int64_t n, std::int64_t k) {
    const auto& [accuracy, order] = GetParam();
    return GemmCase{m, n, k, order}.with(accuracy);
  }
};

/// Sizes with whole tiles, with others, and with tiles that blocks share along k, in each layout in turn.
TEST_P(LargeEpilogueTest, IsRight) {
  const Handle handle;
  unsigned layout = 0;
  for (const EpilogueKind& kind : EPILOGUES) {
    for (const auto& [m, n, k] : {std::tuple{1024, 1152, 512}, {1027, 518, 1000}, {520, 640, 4096}}) {
      GemmCase product = with(m, n, k).scaled(-1.5F, m == 1024 ? 0.0F : 0.5F);
      product.transa = N_AND_T[layout / 2 % 2];
      product.transb = N_AND_T[layout % 2];
      expect_right(handle, m == 1027 ? product.padded(5, 1) : product, kind, 6);
      ++layout;
    }
  }
}

/// Elements that are computed without tensor cores have their epilogue once, and a second call gives the same bits.
TEST_P(LargeEpilogueTest, InfNanAndScalesThatAreFarApart) {
  for (const EpilogueKind& kind : EPILOGUES) {
    const GemmCase product = with(1030, 1200, 1100).with(&GemmCase::transb, SGEMM_OP_T).scaled(1.0F, 0.5F);
    std::vector<float> first;
    for (int run = 0; run < 2; ++run) {
      const Handle handle;
      EpilogueOperands operands(product, kind);
      GemmOperands& gemm = operands.gemm;
      gemm.op_a(0, 21, 7) = INF;
      gemm.op_a(0, 1029, 1000) = NAN_FLOAT;
      gemm.op_b(0, 20, 899) = -INF;
      for (std::int64_t row = 0; row < 128; row += 3) {
        gemm.scale_row(0, row, product.accuracy == SGEMM_ACCURACY_ROWWISE ? 0x1p-127F : 0x1p-60F);
      }
      gemm.upload();
      const ExpectedEpilogue expected(operands, run == 0 ? 50 : 1);
      ASSERT_EQ(operands.call(handle), SGEMM_STATUS_SUCCESS);
      expected.check(operands);
      const std::vector<float>& bits = operands.d().memory().host();
      if (run == 0) {
        first = bits;
      }
      EXPECT_TRUE(same_bits(bits, first)) << operands.describe();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Library, LargeEpilogueTest, testing::ValuesIn(combinations(ACCURACIES, ORDERS)));

// ---- Packed operands: the same bits as without them, in all layouts, on both sides ----

class PackedProductTest : public WgmmaTest,
                          public testing::WithParamInterface<std::tuple<sgemm_accuracy_t, sgemm_order_t, sgemm_op_t>> {
};

/// A call that takes the same kernel has the same bits. Another kernel's are right as well.
TEST_P(PackedProductTest, HasTheSameBits) {
  const Handle handle;
  const auto& [accuracy, order, transa] = GetParam();
  int compared = 0;
  for (const sgemm_op_t transb : N_AND_T) {
    for (const auto& [m, n, k] : {std::tuple{2048, 1152, 1280}, {1111, 999, 1301}, {2051, 517, 4100}}) {
      const GemmCase contiguous{m, n, k, order, transa, transb, -1.5F, m == 2048 ? 0.0F : 0.5F};
      const GemmCase product = (m == 2051 ? contiguous.padded(5, 1) : contiguous).with(accuracy);
      GemmOperands operands(product);
      const Expected expected(operands, 16);
      const std::vector<float> before = operands.c.memory().host();
      set(handle, product);
      const sgemm_plan_t plain = planned(handle, operands.product());
      expected.check_call(handle, operands, operands.product());
      const std::vector<float> bits = operands.c.memory().host();
      const PackedOperand packed_a(handle, operands, SGEMM_SIDE_A);
      const PackedOperand packed_b(handle, operands, SGEMM_SIDE_B);
      for (const auto& [packs_a, packs_b] : {std::tuple{true, false}, {false, true}, {true, true}}) {
        const sgemm_product_t packed =
            product_of(operands, packs_a ? &packed_a : nullptr, packs_b ? &packed_b : nullptr);
        const sgemm_plan_t plan = planned(handle, packed);
        SCOPED_TRACE(product.describe() + " by " + plan.kernel + " " + plan.configuration + ", without by " +
                     plain.kernel + " " + plain.configuration);
        const bool reads_packed = std::string(plan.configuration).find("packed") != std::string::npos;
        // Lines come from A and B themselves, where that is faster than what packed terms save.
        EXPECT_TRUE(reads_packed || std::string(plan.kernel) == "12_fp16x3_lines");
        operands.c.memory().host() = before;
        operands.c.memory().upload();
        expected.check_call(handle, operands, packed);
        if (reads_packed && std::string(plan.kernel) == plain.kernel) {
          ++compared;
          EXPECT_EQ(std::string(plan.configuration).rfind(std::string(plain.configuration) + " packed", 0), 0);
          EXPECT_TRUE(same_bits(operands.c.memory().host(), bits));
        }
      }
    }
  }
  // In how many of 18 the kernel stays the same depends on predictions. COMPONENTWISE may take lines in all of them.
  EXPECT_TRUE(compared > 0 || accuracy == SGEMM_ACCURACY_COMPONENTWISE);
}

INSTANTIATE_TEST_SUITE_P(Library, PackedProductTest,
                         testing::ValuesIn(combinations(OF_SPLIT_OPERANDS, ORDERS, N_AND_T)));

}  // namespace
}  // namespace sgemm::test
