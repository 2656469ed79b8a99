#pragma once

// Calls of the library with their operands, and the check of their results in double precision, for a GPU and the
// executor.

#include "fixtures/mirrored.hpp"
#include "sgemm/sgemm.h"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <ranges>
#include <sstream>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

namespace sgemm::test {

constexpr float NAN_FLOAT = std::numeric_limits<float>::quiet_NaN();
constexpr float INF = std::numeric_limits<float>::infinity();
constexpr float OUTSIDE = -12345.5F;  ///< between and around the elements of C

/// Whether the device has the instructions of chapters 11, 12 and 13.
inline bool has_wgmma() {
  int major = 0;
  return cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0) == cudaSuccess && major == 9;
}

/// A test that needs them.
class WgmmaTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_wgmma()) {
      GTEST_SKIP() << "chapters 11, 12 and 13 need wgmma";
    }
  }
};

/// A handle for one test.
class Handle {
 public:
  Handle() { EXPECT_EQ(sgemm_create(&handle_), SGEMM_STATUS_SUCCESS); }
  ~Handle() { EXPECT_EQ(sgemm_destroy(handle_), SGEMM_STATUS_SUCCESS); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  operator sgemm_handle_t() const { return handle_; }

 private:
  sgemm_handle_t handle_ = nullptr;
};

struct GemmCase {
  std::int64_t m = 1;
  std::int64_t n = 1;
  std::int64_t k = 1;
  sgemm_order_t order = SGEMM_ORDER_ROW_MAJOR;
  sgemm_op_t transa = SGEMM_OP_N;
  sgemm_op_t transb = SGEMM_OP_N;
  float alpha = 1.0F;
  float beta = 0.0F;
  std::int64_t padding = 0;  ///< floats between lines of the matrices
  std::int64_t offset = 0;   ///< floats between an aligned address and the first element
  std::int64_t batch = 1;
  bool by_address = false;  ///< the batch has an array of addresses instead of strides
  sgemm_accuracy_t accuracy = SGEMM_ACCURACY_COMPONENTWISE;
  sgemm_pointer_mode_t pointer_mode = SGEMM_POINTER_MODE_HOST;
  bool far_apart = false;  ///< numbers are so far apart that the last term of the bound in sgemm.h counts
  bool one_way = false;    ///< roundings do not average out: the bound has k instead of 2 sqrt(k)

  std::string describe() const {
    std::ostringstream text;
    text << m << 'x' << n << 'x' << k << (order == SGEMM_ORDER_ROW_MAJOR ? " row-major " : " column-major ")
         << "NTC"[transa] << "NTC"[transb] << " alpha=" << alpha << " beta=" << beta << " padding=" << padding
         << " offset=" << offset << " batch=" << batch << (by_address ? " by address" : "") << " accuracy=" << accuracy
         << " pointer mode=" << pointer_mode;
    return text.str();
  }

  /// The same case, but for a member or some of them.
  template <class Value>
  GemmCase with(Value GemmCase::*member, std::type_identity_t<Value> value) const {
    GemmCase changed = *this;
    changed.*member = value;
    return changed;
  }
  GemmCase with(sgemm_accuracy_t other) const { return with(&GemmCase::accuracy, other); }
  GemmCase with(sgemm_pointer_mode_t other) const { return with(&GemmCase::pointer_mode, other); }
  GemmCase scaled(float by_alpha, float by_beta) const {
    return with(&GemmCase::alpha, by_alpha).with(&GemmCase::beta, by_beta);
  }
  GemmCase padded(std::int64_t by, std::int64_t from = 0) const {
    return with(&GemmCase::padding, by).with(&GemmCase::offset, from);
  }
  GemmCase batched(std::int64_t count, bool has_addresses = false) const {
    return with(&GemmCase::batch, count).with(&GemmCase::by_address, has_addresses);
  }
};

/// What a function such as sgemm_get_accuracy() says.
template <class Value>
Value setting(sgemm_status_t (*get)(sgemm_handle_t, Value*), sgemm_handle_t handle) {
  Value value;
  std::memset(&value, 0x55, sizeof value);  // which no setting is
  EXPECT_EQ(get(handle, &value), SGEMM_STATUS_SUCCESS);
  return value;
}

/// Gives a handle the settings of a case.
inline void set(sgemm_handle_t handle, const GemmCase& of) {
  EXPECT_EQ(sgemm_set_accuracy(handle, of.accuracy), SGEMM_STATUS_SUCCESS);
  EXPECT_EQ(sgemm_set_pointer_mode(handle, of.pointer_mode), SGEMM_STATUS_SUCCESS);
}

/// A product of contiguous matrices that are nowhere, for plans.
inline sgemm_product_t product_of(std::int64_t m, std::int64_t n, std::int64_t k, sgemm_op_t transa = SGEMM_OP_N,
                                  sgemm_op_t transb = SGEMM_OP_N, std::int64_t batch = 1) {
  const auto distance = [](std::int64_t length) { return std::max<std::int64_t>(length, 1); };
  const sgemm_operand_t a{nullptr, transa, nullptr, distance(transa == SGEMM_OP_N ? k : m), 0, nullptr};
  const sgemm_operand_t b{nullptr, transb, nullptr, distance(transb == SGEMM_OP_N ? n : k), 0, nullptr};
  const sgemm_product_t product{
      sizeof product, SGEMM_ORDER_ROW_MAJOR, m,           n,       k,     nullptr, a, b, nullptr, nullptr, 0,
      nullptr,        distance(n),           distance(n), nullptr, batch, nullptr};
  return product;
}

/// The same with addresses, which nobody reads.
inline sgemm_product_t by_address(sgemm_product_t product) {
  static float* nowhere = nullptr;
  product.a.addresses = product.b.addresses = product.addresses_of_d = &nowhere;
  return product;
}

inline sgemm_plan_t planned(sgemm_handle_t handle, const sgemm_product_t& product) {
  sgemm_plan_t plan{};
  EXPECT_EQ(sgemm_plan(handle, &product, &plan), SGEMM_STATUS_SUCCESS);
  return plan;
}

/// A stored matrix, or a batch of them, on the device and on the host. Elements are addressed by their row and column,
/// whatever the order.
class StoredMatrix {
 public:
  /// Of a case, stored with so many rows and columns. Its memory holds `fill`.
  StoredMatrix(const GemmCase& of, std::int64_t rows, std::int64_t columns, float fill)
      : row_major_(of.order == SGEMM_ORDER_ROW_MAJOR),
        rows_(rows),
        columns_(columns),
        ld_(std::max<std::int64_t>(1, (row_major_ ? columns : rows) + of.padding)),
        stride_((row_major_ ? rows : columns) * ld_ + of.padding),
        start_(of.offset + GUARD),
        memory_(static_cast<std::size_t>(start_ + of.batch * stride_ + GUARD), fill),
        addresses_(static_cast<std::size_t>(of.batch), nullptr) {
    for (std::int64_t item = 0; item < of.batch; ++item) {
      addresses_.host()[static_cast<std::size_t>(item)] = data() + item * stride_;
    }
    addresses_.upload();
  }

  float* data() { return memory_.device() + start_; }                   ///< on the device
  std::int64_t lines() const { return row_major_ ? rows_ : columns_; }  ///< that lie ld() apart
  std::int64_t length() const { return row_major_ ? columns_ : rows_; }
  std::int64_t ld() const { return ld_; }
  std::int64_t stride() const { return stride_; }
  float* const* addresses() { return addresses_.device(); }  ///< of the matrices of the batch, on the device too
  std::size_t index(std::int64_t item, std::int64_t row, std::int64_t column) const {
    const std::int64_t within = row_major_ ? row * ld_ + column : row + column * ld_;
    return static_cast<std::size_t>(start_ + item * stride_ + within);
  }
  /// An element on the host.
  float& at(std::int64_t item, std::int64_t row, std::int64_t column) {
    return memory_.host()[index(item, row, column)];
  }
  Mirrored<float>& memory() { return memory_; }
  /// Calls `visit(item, row, column)` for every element.
  template <class Visit>
  void for_each(const Visit& visit) const {
    for (std::int64_t item = 0; item < static_cast<std::int64_t>(addresses_.host().size()); ++item) {
      for (std::int64_t row = 0; row < rows_; ++row) {
        for (std::int64_t column = 0; column < columns_; ++column) {
          visit(item, row, column);
        }
      }
    }
  }

 private:
  static constexpr std::int64_t GUARD = 64;

  bool row_major_;
  std::int64_t rows_;
  std::int64_t columns_;
  std::int64_t ld_;
  std::int64_t stride_;
  std::int64_t start_;
  Mirrored<float> memory_;
  Mirrored<float*> addresses_;
};

class GemmOperands;

/// Changes operands on the host.
using Change = std::function<void(GemmOperands&)>;
inline void change_nothing(GemmOperands&) {}

/// The operands of a case, uniform on (-1, 1) but for what `change` leaves of them, with NaN wherever nothing may be
/// read. Who changes them later on the host uploads them before a call.
class GemmOperands {
 public:
  explicit GemmOperands(const GemmCase& product, const Change& change = change_nothing)
      : of(product),
        a(operand(product, product.transa, product.m, product.k)),
        b(operand(product, product.transb, product.k, product.n)),
        c(product, product.m, product.n, OUTSIDE),
        scalars(2, 0.0F) {
    std::mt19937 random(20240229);
    std::uniform_real_distribution<float> uniform(-1.0F, 1.0F);
    const auto fill = [&](StoredMatrix& matrix, bool known) {
      matrix.for_each([&](std::int64_t item, std::int64_t row, std::int64_t column) {
        matrix.at(item, row, column) = known ? uniform(random) : NAN_FLOAT;
      });
    };
    fill(a, product.alpha != 0.0F);
    fill(b, product.alpha != 0.0F);
    fill(c, product.beta != 0.0F);
    scalars.host() = {product.alpha, product.beta};
    scalars.upload();
    change(*this);
    upload();
  }

  void upload() {
    a.memory().upload();
    b.memory().upload();
    c.memory().upload();
  }

  float& op_a(std::int64_t item, std::int64_t row, std::int64_t k) {
    return of.transa == SGEMM_OP_N ? a.at(item, row, k) : a.at(item, k, row);
  }
  float& op_b(std::int64_t item, std::int64_t k, std::int64_t column) {
    return of.transb == SGEMM_OP_N ? b.at(item, k, column) : b.at(item, column, k);
  }

  /// Multiplies all numbers of op(A), or of op(B), of the first product by `factor(row, column)`.
  template <class Factor>
  void scale_a(const Factor& factor) {
    for (std::int64_t row = 0; row < of.m; ++row) {
      for (std::int64_t k = 0; k < of.k; ++k) {
        op_a(0, row, k) *= factor(row, k);
      }
    }
  }
  template <class Factor>
  void scale_b(const Factor& factor) {
    for (std::int64_t k = 0; k < of.k; ++k) {
      for (std::int64_t column = 0; column < of.n; ++column) {
        op_b(0, k, column) *= factor(k, column);
      }
    }
  }
  /// Multiplies all numbers in a row of op(A), or in a column of op(B).
  void scale_row(std::int64_t item, std::int64_t row, float factor) {
    for (std::int64_t k = 0; k < of.k; ++k) {
      op_a(item, row, k) *= factor;
    }
  }
  void scale_column(std::int64_t item, std::int64_t column, float factor) {
    for (std::int64_t k = 0; k < of.k; ++k) {
      op_b(item, k, column) *= factor;
    }
  }

  /// Alpha and beta, where the pointer mode wants them.
  const float* alpha() { return of.pointer_mode == SGEMM_POINTER_MODE_DEVICE ? scalars.device() : &of.alpha; }
  const float* beta() { return of.pointer_mode == SGEMM_POINTER_MODE_DEVICE ? scalars.device() + 1 : &of.beta; }

  /// The case as the library takes it.
  sgemm_product_t product() {
    const auto addresses = [&](StoredMatrix& matrix) { return of.by_address ? matrix.addresses() : nullptr; };
    const sgemm_operand_t of_a{nullptr, of.transa, a.data(), a.ld(), a.stride(), addresses(a)};
    const sgemm_operand_t of_b{nullptr, of.transb, b.data(), b.ld(), b.stride(), addresses(b)};
    const sgemm_product_t product{sizeof product, of.order,   of.m,         of.n,     of.k,   alpha(),
                                  of_a,           of_b,       beta(),       nullptr,  0,      c.data(),
                                  c.ld(),         c.stride(), addresses(c), of.batch, nullptr};
    return product;
  }

  /// Calls the library. The result is in the device's `c` when the GPU is done.
  sgemm_status_t call(sgemm_handle_t handle) { return call(handle, product()); }
  sgemm_status_t call(sgemm_handle_t handle, const sgemm_product_t& p) const {
    set(handle, of);
    const bool is_plain = p.batch_count == 1 && p.addresses_of_d == nullptr && p.epilogue == nullptr &&
                          p.c == nullptr && p.a.packed == nullptr && p.b.packed == nullptr;
    return is_plain ? sgemm_gemm(handle, p.order, p.a.op, p.b.op, p.m, p.n, p.k, p.alpha, p.a.x, p.a.ld, p.b.x, p.b.ld,
                                 p.beta, p.d, p.ldd)
                    : sgemm_run(handle, &p);
  }

  GemmCase of;
  StoredMatrix a;
  StoredMatrix b;
  StoredMatrix c;
  Mirrored<float> scalars;

 private:
  static StoredMatrix operand(const GemmCase& of, sgemm_op_t op, std::int64_t rows, std::int64_t columns) {
    return {of, op == SGEMM_OP_N ? rows : columns, op == SGEMM_OP_N ? columns : rows, NAN_FLOAT};
  }
};

/// Checks on the host that nothing was written around the elements of a matrix that was made with OUTSIDE.
inline void expect_nothing_around(StoredMatrix& matrix, const GemmCase& of) {
  std::vector<float> untouched = matrix.memory().host();
  matrix.for_each([&](std::int64_t item, std::int64_t row, std::int64_t column) {
    untouched[matrix.index(item, row, column)] = OUTSIDE;
  });
  EXPECT_EQ(std::count(untouched.begin(), untouched.end(), OUTSIDE), static_cast<std::int64_t>(untouched.size()))
      << "something around a matrix was written: " << of.describe();
}

/// Whether a number is the expected one within a bound. NaN is NaN, and Inf is Inf of the same sign.
inline bool is_within(float got, double expected, double bound) {
  return std::isnan(expected)   ? std::isnan(got)
         : std::isinf(expected) ? static_cast<double>(got) == expected
                                : std::fabs(got - expected) <= bound;
}

inline bool same_bits(const std::vector<float>& x, const std::vector<float>& y) {
  return x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size() * sizeof(float)) == 0;
}

/// The results that a case has to have, computed before the call for at most `most_rows` rows of each C.
class Expected {
 public:
  struct Element {
    std::size_t index;
    std::int64_t row;
    std::int64_t column;
    double value;
    double bound;
  };

  explicit Expected(GemmOperands& operands, std::int64_t most_rows = 64) : before_(operands.c.memory().host()) {
    const GemmCase& of = operands.of;
    const std::int64_t count = std::min(of.m, most_rows);
    if (of.far_apart) {
      largest_product_ = largest(operands.a) * largest(operands.b);
    }
    for (std::int64_t item = 0; item < of.batch; ++item) {
      for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t row = count == 1 ? 0 : i * (of.m - 1) / (count - 1);
        for (std::int64_t column = 0; column < of.n; ++column) {
          elements_.push_back(element(operands, item, row, column));
        }
      }
    }
  }

  /// Checks the device's elements, and that nothing else of C's memory has changed, when all work is done. The host
  /// has the elements then.
  void check(GemmOperands& operands) const {
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess) << operands.of.describe();
    const std::vector<float>& after = operands.c.memory().download();
    int wrong = 0;
    for (const Element& expected : elements_) {
      const float got = after[expected.index];
      if (!is_within(got, expected.value, expected.bound) && ++wrong <= 3) {
        ADD_FAILURE() << operands.of.describe() << ": element " << expected.index << " is " << got << ", expected "
                      << expected.value << " within " << expected.bound;
      }
    }
    EXPECT_EQ(wrong, 0) << operands.of.describe();
    expect_nothing_around(operands.c, operands.of);
  }

  /// Makes a call, which has to succeed, and checks the same.
  void check_call(sgemm_handle_t handle, GemmOperands& operands, const sgemm_product_t& call) const {
    ASSERT_EQ(operands.call(handle, call), SGEMM_STATUS_SUCCESS) << operands.of.describe();
    check(operands);
  }

  /// Checks that all of the device's memory of C is as it was, bit for bit, when all work is done.
  void check_unchanged(GemmOperands& operands) const {
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess) << operands.of.describe();
    EXPECT_TRUE(same_bits(operands.c.memory().download(), before_)) << operands.of.describe();
  }

  const std::vector<Element>& elements() const { return elements_; }

 private:
  static double largest(StoredMatrix& matrix) {
    double most = 0.0;
    matrix.for_each([&](std::int64_t item, std::int64_t row, std::int64_t column) {
      most = std::max(most, std::fabs(static_cast<double>(matrix.at(item, row, column))));
    });
    return most;
  }

  Element element(GemmOperands& operands, std::int64_t item, std::int64_t row, std::int64_t column) const {
    const GemmCase& of = operands.of;
    double sum = 0.0;
    double magnitude = 0.0;
    double largest_a = 0.0;
    double largest_b = 0.0;
    for (std::int64_t k = 0; k < of.k && of.alpha != 0.0F; ++k) {
      const double x = operands.op_a(item, row, k);
      const double y = operands.op_b(item, k, column);
      sum += x * y;
      magnitude += std::fabs(x * y);
      largest_a = std::max(largest_a, std::fabs(x));
      largest_b = std::max(largest_b, std::fabs(y));
    }
    const std::size_t index = operands.c.index(item, row, column);
    const double old = of.beta == 0.0F ? 0.0 : static_cast<double>(operands.c.memory().host()[index]);
    const double value = of.alpha * sum + of.beta * old;
    const double size = std::fabs(of.alpha) * magnitude + std::fabs(of.beta * old);
    // The bounds of sgemm.h.
    constexpr double EPS = 0x1p-24;
    const auto k = static_cast<double>(of.k);
    const double factor = (of.accuracy == SGEMM_ACCURACY_FP32 ? 4.0 : 148.0) + (of.one_way ? k : 2.0 * std::sqrt(k));
    double bound = factor * EPS * size + 0x1p-149 + 0x1p-139 * k * std::fabs(of.alpha) * largest_product_;
    if (of.accuracy >= SGEMM_ACCURACY_NORMWISE) {
      const double of_largest = of.accuracy == SGEMM_ACCURACY_NORMWISE ? 2.0 : 12.2;
      bound += of_largest * k * EPS * std::fabs(of.alpha) * largest_a * largest_b;
    }
    return {index, row, column, value, bound};
  }

  std::vector<float> before_;
  std::vector<Element> elements_;
  double largest_product_ = 0.0;  // of numbers of op(A) and op(B) anywhere, or 0 if it does not count
};

/// Runs a case through the C interface and checks it, on operands as `change` leaves them.
inline void expect_right(sgemm_handle_t handle, const GemmCase& product, const Change& change = change_nothing,
                         std::int64_t most_rows = 64) {
  GemmOperands operands(product, change);
  const Expected expected(operands, most_rows);
  expected.check_call(handle, operands, operands.product());
}

// ---- Products of packed operands ----

/// An operand of a case that is packed through the C interface. The handle has the case's accuracy.
class PackedOperand {
 public:
  PackedOperand(sgemm_handle_t handle, GemmOperands& operands, sgemm_side_t side)
      : PackedOperand(handle, operands.of, side, side == SGEMM_SIDE_A ? operands.a : operands.b) {}
  ~PackedOperand() { EXPECT_EQ(sgemm_packed_destroy(packed_), SGEMM_STATUS_SUCCESS); }
  PackedOperand(const PackedOperand&) = delete;
  PackedOperand& operator=(const PackedOperand&) = delete;

  sgemm_operand_t operand() const { return {packed_, SGEMM_OP_N, nullptr, 0, 0, nullptr}; }
  sgemm_packed_t get() const { return packed_; }

 private:
  PackedOperand(sgemm_handle_t handle, const GemmCase& of, sgemm_side_t side, StoredMatrix& matrix) {
    const std::int64_t lines = side == SGEMM_SIDE_A ? of.m : of.n;
    const sgemm_op_t op = side == SGEMM_SIDE_A ? of.transa : of.transb;
    set(handle, of);
    std::size_t bytes = 0;
    EXPECT_EQ(sgemm_packed_size(handle, lines, of.k, &bytes), SGEMM_STATUS_SUCCESS);
    memory_ = DeviceBuffer<char>(bytes);
    EXPECT_EQ(cudaMemset(memory_.data(), 0xFF, bytes), cudaSuccess);  // it may hold anything
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);  // the handle's stream need not wait for the default one
    EXPECT_EQ(sgemm_pack(handle, of.order, side, op, lines, of.k, matrix.data(), matrix.ld(), memory_.data(), bytes,
                         &packed_),
              SGEMM_STATUS_SUCCESS);
  }

  DeviceBuffer<char> memory_;
  sgemm_packed_t packed_ = nullptr;
};

/// A case with packed operands where they are not null.
inline sgemm_product_t product_of(GemmOperands& operands, const PackedOperand* a, const PackedOperand* b) {
  sgemm_product_t product = operands.product();
  product.a = a != nullptr ? a->operand() : product.a;
  product.b = b != nullptr ? b->operand() : product.b;
  return product;
}

// ---- What tests go through ----

constexpr bool BOTH[] = {false, true};
constexpr sgemm_op_t N_AND_T[] = {SGEMM_OP_N, SGEMM_OP_T};
constexpr sgemm_op_t OPS[] = {SGEMM_OP_N, SGEMM_OP_T, SGEMM_OP_C};
constexpr sgemm_order_t ORDERS[] = {SGEMM_ORDER_ROW_MAJOR, SGEMM_ORDER_COLUMN_MAJOR};
constexpr sgemm_pointer_mode_t POINTER_MODES[] = {SGEMM_POINTER_MODE_HOST, SGEMM_POINTER_MODE_DEVICE};
constexpr sgemm_bias_t BIASES[] = {SGEMM_BIAS_OF_ROWS, SGEMM_BIAS_OF_COLUMNS};
/// Those that chapters 11 and 12 keep.
constexpr sgemm_accuracy_t OF_SPLIT_OPERANDS[] = {SGEMM_ACCURACY_COMPONENTWISE, SGEMM_ACCURACY_NORMWISE};
constexpr sgemm_accuracy_t ACCURACIES[] = {SGEMM_ACCURACY_FP32, SGEMM_ACCURACY_COMPONENTWISE, SGEMM_ACCURACY_NORMWISE,
                                           SGEMM_ACCURACY_ROWWISE};

/// All tuples of an element of each list, of which the last one changes the fastest.
inline std::vector<std::tuple<>> combinations() { return {{}}; }
template <class List, class... Lists>
auto combinations(const List& list, const Lists&... others) {
  std::vector<std::tuple<std::ranges::range_value_t<List>, std::ranges::range_value_t<Lists>...>> all;
  for (const auto& first : list) {
    for (const auto& rest : combinations(others...)) {
      all.push_back(std::tuple_cat(std::tuple(first), rest));
    }
  }
  return all;
}

}  // namespace sgemm::test
