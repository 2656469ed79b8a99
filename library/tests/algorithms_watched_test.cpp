// The kernels of chapters 09, 11, 12 and 13 for operands of any layout, with every access observed: none is outside of
// the matrices and the workspace, and none races with another one.

#include "algorithms.hpp"
#include "epilogue_batch.hpp"
#include "epilogue_case.hpp"
#include "gemm_batch.hpp"
#include "gemm_case.hpp"
#include "simt/checked_arrays.hpp"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace sgemm::test {
namespace {

/// Operands of which tensor cores can not multiply all: rows and columns that are far apart from the others, and some
/// that chapter 13 has no scale for.
void spread(GemmOperands& operands) {
  const GemmCase& of = operands.of;
  const float factor = of.accuracy == SGEMM_ACCURACY_ROWWISE ? 0x1p-127F : 0x1p-60F;
  for (std::int64_t k = 0; k < of.k; ++k) {
    for (std::int64_t row = 0; row < of.m; row += row < 120 ? 3 : 25) {
      operands.op_a(0, row, k) *= factor;
    }
    operands.op_b(0, k, of.n - 1) *= 0x1p-70F;
  }
  // Residual tiles of A and B, some of which meet, in one layout. In the other one they would be too small.
  const float small = of.transa == SGEMM_OP_N ? 0x1p-30F : 0x1p-60F;
  for (const std::int64_t place : {1, 128}) {
    operands.op_a(0, 1, place % of.k) *= small;
    operands.op_b(0, place / 2 % of.k, 2) *= small;
  }
}

std::vector<Algorithm> algorithms_of(const GemmCase& product, const GemmBatch& batch) {
  const bool stacked = product.batch > 1;
  if (product.accuracy == SGEMM_ACCURACY_COMPONENTWISE && !stacked) {
    std::vector<Algorithm> all = bf16x6_algorithms(batch, 132);
    for (Algorithm& one : lines_algorithms(batch, 5)) {
      all.push_back(std::move(one));
    }
    return all;
  }
  return product.accuracy == SGEMM_ACCURACY_COMPONENTWISE
             ? (stacked ? stacked_bf16x6_algorithms : bf16x6_algorithms)(batch, 132)
         : product.accuracy == SGEMM_ACCURACY_NORMWISE
             ? (stacked ? stacked_fp16x3_algorithms : fp16x3_algorithms)(batch, 132)
             : reproducible_algorithms(batch, 132);
}

void expect_right_while_watched(const GemmCase& product,
                                std::vector<Algorithm> (*algorithms)(const GemmCase&,
                                                                     const GemmBatch&) = algorithms_of) {
  GemmOperands measured(product);
  for (const Algorithm& algorithm : algorithms(product, batch_of(measured))) {
    SCOPED_TRACE(algorithm.kernel + " " + algorithm.configuration);
    GemmOperands operands(product);
    spread(operands);
    operands.upload();
    const Expected expected(operands);
    void* workspace = nullptr;
    ASSERT_EQ(cudaMalloc(&workspace, algorithm.workspace_bytes), cudaSuccess);
    {
      const simt::CheckedArrays arrays(
          {simt::input("A", operands.a.memory().device(), operands.a.memory().host().size()),
           simt::input("B", operands.b.memory().device(), operands.b.memory().host().size()),
           simt::in_out("C", operands.c.memory().device(), operands.c.memory().host().size())});
      algorithm.launch(batch_of(operands), workspace, nullptr);
    }
    cudaFree(workspace);
    expected.check(operands);
  }
}

TEST(WatchedAlgorithmsTest, LayoutsAndElementsThatAreComputedAgain) {
  for (const sgemm_accuracy_t accuracy :
       {SGEMM_ACCURACY_COMPONENTWISE, SGEMM_ACCURACY_NORMWISE, SGEMM_ACCURACY_ROWWISE}) {
    for (const auto& [transa, transb] : {std::pair{SGEMM_OP_N, SGEMM_OP_N}, {SGEMM_OP_T, SGEMM_OP_T}}) {
      GemmCase product{145, 270, 170, SGEMM_ORDER_ROW_MAJOR, transa, transb, -1.5F, 0.5F};
      product.accuracy = accuracy;
      expect_right_while_watched(product);
    }
  }
}

TEST(WatchedAlgorithmsTest, ManyProductsInALaunch) {
  for (const sgemm_accuracy_t accuracy : {SGEMM_ACCURACY_COMPONENTWISE, SGEMM_ACCURACY_NORMWISE}) {
    for (const auto& [transa, transb] : {std::pair{SGEMM_OP_N, SGEMM_OP_N}, {SGEMM_OP_T, SGEMM_OP_T}}) {
      GemmCase product{145, 270, 70, SGEMM_ORDER_ROW_MAJOR, transa, transb, -1.5F, 0.5F};
      product.accuracy = accuracy;
      product.batch = 2;
      expect_right_while_watched(product);
    }
  }
}

/// So few multiprocessors have shares of several tiles.
TEST(WatchedAlgorithmsTest, Fp32InAllLayouts) {
  for (const sgemm_op_t transa : {SGEMM_OP_N, SGEMM_OP_T}) {
    for (const sgemm_op_t transb : {SGEMM_OP_N, SGEMM_OP_T}) {
      for (const std::int64_t n : {270, 272}) {  // columns that split into groups of four, and others
        GemmCase product{n == 272 ? 144 : 145, n, 70, SGEMM_ORDER_ROW_MAJOR, transa, transb, -1.5F, 0.5F};
        product.accuracy = SGEMM_ACCURACY_FP32;
        product.batch = 2;
        expect_right_while_watched(
            product, [](const GemmCase&, const GemmBatch& batch) { return every_layout_algorithms(batch, 5); });
      }
    }
  }
}

TEST(WatchedAlgorithmsTest, TallProducts) {
  // Lines that split into groups of four, and others. Neither fills its last tile.
  for (const auto& [m, n, k] : {std::tuple{270, 20, 150}, {20, 272, 148}, {272, 60, 148}, {100, 270, 150}}) {
    for (const auto& [transa, transb] : {std::pair{SGEMM_OP_N, SGEMM_OP_N}, {SGEMM_OP_T, SGEMM_OP_T}}) {
      GemmCase product{m, n, k, SGEMM_ORDER_ROW_MAJOR, transa, transb, -1.5F, 0.5F};
      product.batch = 2;
      expect_right_while_watched(product, [](const GemmCase&, const GemmBatch& batch) {
        std::vector<Algorithm> algorithms;
        for (const int multiprocessors : {2, 132}) {
          const std::vector<Algorithm> more = tall_bf16x6_algorithms(batch, multiprocessors);
          algorithms.insert(algorithms.end(), more.begin(), more.end());
        }
        return algorithms;
      });
    }
  }
}

/// The last tiles are not full. What blocks of a cluster read of each other is not watched.
TEST(WatchedAlgorithmsTest, SmallProducts) {
  for (const auto& [transa, transb] : {std::pair{SGEMM_OP_N, SGEMM_OP_N}, {SGEMM_OP_T, SGEMM_OP_T}}) {
    GemmCase product{148, 140, 136, SGEMM_ORDER_ROW_MAJOR, transa, transb, -1.5F, 0.5F};
    product.batch = 2;
    expect_right_while_watched(
        product, [](const GemmCase&, const GemmBatch& batch) { return small_bf16x6_algorithms(batch, 132); });
  }
}

/// A mask that elements are added to when they are computed again, and matrices beside D.
TEST(WatchedAlgorithmsTest, Epilogues) {
  constexpr EpilogueKind KINDS[] = {{SGEMM_ACTIVATION_RELU, true, SGEMM_BIAS_OF_COLUMNS, true, false},
                                    {SGEMM_ACTIVATION_GELU, true, SGEMM_BIAS_OF_ROWS, true, true},
                                    {SGEMM_ACTIVATION_GELU_GRADIENT, false, SGEMM_BIAS_OF_ROWS, true, true},
                                    {SGEMM_ACTIVATION_RELU_GRADIENT, false, SGEMM_BIAS_OF_ROWS, true, false}};
  for (const sgemm_accuracy_t accuracy : {SGEMM_ACCURACY_COMPONENTWISE, SGEMM_ACCURACY_NORMWISE}) {
    for (const EpilogueKind& kind : KINDS) {
      GemmCase product{145, kind.has_other_c ? 271 : 272, 70, SGEMM_ORDER_ROW_MAJOR, SGEMM_OP_N, SGEMM_OP_T, 1.0F,
                       0.5F};
      product.accuracy = accuracy;
      EpilogueOperands measured(product, kind);
      const GemmBatch batch = batch_of(measured.gemm);
      for (const Algorithm& algorithm : algorithms_of(product, batch)) {
        SCOPED_TRACE(algorithm.kernel + " " + algorithm.configuration);
        EpilogueOperands operands(product, kind);
        spread(operands.gemm);
        operands.gemm.upload();
        const ExpectedEpilogue expected(operands);
        void* workspace = nullptr;
        ASSERT_EQ(cudaMalloc(&workspace, algorithm.workspace_bytes), cudaSuccess);
        {
          const auto whole = [](StoredMatrix& matrix) {
            return std::pair(matrix.memory().device(), matrix.memory().host().size());
          };
          const auto [a, a_count] = whole(operands.gemm.a);
          const auto [b, b_count] = whole(operands.gemm.b);
          const auto [c, c_count] = whole(operands.gemm.c);
          const auto [d, d_count] = whole(operands.other_d);
          const auto [argument, argument_count] = whole(operands.argument);
          const simt::CheckedArrays arrays({simt::input("A", a, a_count), simt::input("B", b, b_count),
                                            simt::in_out("C", c, c_count), simt::in_out("D", d, d_count),
                                            simt::in_out("argument", argument, argument_count),
                                            simt::input("bias", operands.bias.device(), operands.bias.host().size()),
                                            simt::in_out("mask", operands.mask.device(), operands.mask.host().size())});
          launch_with_epilogue(algorithm, operands, workspace);
        }
        cudaFree(workspace);
        expected.check(operands);
      }
    }
  }
}

/// Chapter 15 has kernels of their own for these.
TEST(WatchedAlgorithmsTest, RowwiseOnLongSums) {
  for (const auto& [transa, transb] : {std::pair{SGEMM_OP_N, SGEMM_OP_N}, {SGEMM_OP_T, SGEMM_OP_T}}) {
    GemmCase product{7, 10, 4101, SGEMM_ORDER_ROW_MAJOR, transa, transb};
    product.accuracy = SGEMM_ACCURACY_ROWWISE;
    expect_right_while_watched(product);
  }
}

}  // namespace
}  // namespace sgemm::test
