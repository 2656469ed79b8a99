// The reproducible accuracy of libsgemm on a GPU: its bits are those of the definition, and those of a row are the same
// whatever is computed beside it.

#include "common/cuda_check.hpp"
#include "device/device_buffer.hpp"
#include "gemm_case.hpp"
#include "gpu/streams_and_memory.hpp"
#include "reproducible_case.hpp"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <thread>
#include <tuple>
#include <vector>

namespace sgemm::test {
namespace {

/// Whether the library has code of the class for the device.
bool is_offered() {
  const Handle handle;
  sgemm_set_accuracy(handle, SGEMM_ACCURACY_REPRODUCIBLE);
  return std::strcmp(planned(handle, product_of(1, 1, 1)).kernel, "none") != 0;
}

class ReproducibleLibraryTest : public testing::TestWithParam<std::tuple<sgemm_order_t, sgemm_op_t, sgemm_op_t>> {
 protected:
  void SetUp() override {
    if (!is_offered()) {
      ASSERT_FALSE(has_wgmma());
      GTEST_SKIP() << "no code for this device";
    }
  }
};

/// Each algorithm is held against the definition in reproducible_test.cpp.
TEST_P(ReproducibleLibraryTest, NumbersOfEveryKind) {
  const Handle handle;
  const auto& [order, transa, transb] = GetParam();
  for (const std::int64_t m : {12, 400}) {
    const GemmCase product{m, 300, 700, order, transa, transb, 1.0F, 0.5F};
    for (const sgemm_pointer_mode_t mode : POINTER_MODES) {
      expect_bits_of_reference(handle, product.with(mode), put_numbers_of_every_kind);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Layouts, ReproducibleLibraryTest, testing::ValuesIn(combinations(ORDERS, N_AND_T, N_AND_T)));

/// Products with the rows of one A from a row on. All results are compared with those of all rows at once.
class Rows {
 public:
  static constexpr std::int64_t N = 520;

  Rows(std::int64_t rows, std::int64_t k) : rows_(rows), k_(k), b_(on_device(numbers(N * k, 2))) {
    std::vector<float> a = numbers(rows * k, 1);
    std::vector<float> turned(a.size());
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t i = 0; i < k; ++i) {
        turned[static_cast<std::size_t>(i * rows + row)] = a[static_cast<std::size_t>(row * k + i)];
      }
    }
    transposed_a_ = on_device(turned);
    aligned_a_ = on_device(a);
    a.insert(a.begin(), 0.0F);
    unaligned_a_ = on_device(a);
    CUDA_CHECK(cudaDeviceSynchronize());
  }

  enum class Layout { rows, unaligned_rows, columns };

  /// C of rows `first` to `first + count`, on a stream of its own.
  std::vector<float> product(const Handle& handle, std::int64_t first, std::int64_t count, Layout layout) const {
    DeviceBuffer<float> c(static_cast<std::size_t>(count * N));
    const OwnStream stream;
    sgemm_set_stream(handle, stream);
    sgemm_set_accuracy(handle, SGEMM_ACCURACY_REPRODUCIBLE);
    const float alpha = 0.75F;
    const float beta = 0.0F;
    const bool columns = layout == Layout::columns;
    const float* const a = columns                            ? transposed_a_.data() + first
                           : layout == Layout::unaligned_rows ? unaligned_a_.data() + 1 + first * k_
                                                              : aligned_a_.data() + first * k_;
    EXPECT_EQ(sgemm_gemm(handle, SGEMM_ORDER_ROW_MAJOR, columns ? SGEMM_OP_T : SGEMM_OP_N, SGEMM_OP_T, count, N, k_,
                         &alpha, a, columns ? rows_ : k_, b_.data(), k_, &beta, c.data(), N),
              SGEMM_STATUS_SUCCESS);
    CUDA_CHECK(cudaStreamSynchronize(stream));
    std::vector<float> host;
    c.copy_to_host(host);
    return host;
  }

 private:
  static std::vector<float> numbers(std::int64_t count, std::uint32_t state) {
    std::vector<float> result(static_cast<std::size_t>(count));
    for (float& x : result) {
      state = state * 1664525U + 1013904223U;
      x = static_cast<float>(static_cast<std::int32_t>(state)) * 0x1p-31F;
    }
    return result;
  }

  static DeviceBuffer<float> on_device(const std::vector<float>& host) {
    DeviceBuffer<float> buffer(host.size());
    buffer.copy_from_host(host);
    return buffer;
  }

  std::int64_t rows_;
  std::int64_t k_;
  DeviceBuffer<float> b_;
  DeviceBuffer<float> transposed_a_;
  DeviceBuffer<float> unaligned_a_;
  DeviceBuffer<float> aligned_a_;
};

TEST(ReproducibleRowsTest, HaveTheSameBitsInProductsOfEverySize) {
  if (!is_offered()) {
    GTEST_SKIP() << "no code for this device";
  }
  constexpr std::int64_t ROWS = 8192;
  constexpr std::int64_t COUNTS[] = {1, 2, 3, 7, 8, 9, 16, 31, 64, 100, 128, 129, 256, 500, 1024, 3001, 5000};
  for (const std::int64_t k : {1000, 4096, 14336}) {
    const Rows rows(ROWS, k);
    const Handle handle;
    const std::vector<float> all = rows.product(handle, 0, ROWS, Rows::Layout::rows);
    int multiprocessors = 0;
    for (const std::int64_t count : COUNTS) {
      const std::int64_t first = count * 37 % (ROWS - count + 1);
      for (const auto layout : {Rows::Layout::rows, Rows::Layout::unaligned_rows, Rows::Layout::columns}) {
        const std::vector<float> some = rows.product(handle, first, count, layout);
        EXPECT_EQ(std::memcmp(some.data(), all.data() + first * Rows::N, some.size() * sizeof(float)), 0)
            << count << " rows, k " << k << ", layout " << static_cast<int>(layout) << ", " << multiprocessors
            << " multiprocessors";
      }
      multiprocessors = multiprocessors == 0 ? 50 : multiprocessors == 50 ? 1 : 0;
      EXPECT_EQ(sgemm_set_multiprocessors(handle, multiprocessors), SGEMM_STATUS_SUCCESS);
    }
  }
}

TEST(ReproducibleRowsTest, HaveTheSameBitsOnEightThreadsAtATime) {
  if (!is_offered()) {
    GTEST_SKIP() << "no code for this device";
  }
  const Rows rows(2000, 4096);
  const Handle handle;
  const std::vector<float> all = rows.product(handle, 0, 2000, Rows::Layout::rows);
  std::array<int, 8> wrong{};
  std::vector<std::jthread> threads;
  for (std::size_t number = 0; number < wrong.size(); ++number) {
    threads.emplace_back([&, number] {
      const Handle own;
      for (std::int64_t i = 0; i < 20; ++i) {
        const std::int64_t count = 1 + (static_cast<std::int64_t>(number) * 131 + i * 57) % 700;
        const std::int64_t first = count * 3 % 1200;
        const std::vector<float> some = rows.product(own, first, count, Rows::Layout::rows);
        wrong[number] += std::memcmp(some.data(), all.data() + first * Rows::N, some.size() * sizeof(float)) != 0;
      }
    });
  }
  threads.clear();  // which joins them
  EXPECT_EQ(wrong, (std::array<int, 8>{}));
}

}  // namespace
}  // namespace sgemm::test
