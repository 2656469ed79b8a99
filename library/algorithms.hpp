#pragma once

// The algorithms to compute a batch of products by a chapter, on the current device. Products have m, n and k from 1 to
// 2^31 - 1 here. A list is empty if the chapter can not compute the batch on the device.

#include "algorithm.hpp"
#include "gemm_problem.hpp"
#include "sgemm/sgemm.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sgemm {

/// Chapter 15 takes more at the end of each tile than its prediction says. With ROWWISE, shorter sums are not its.
constexpr std::int64_t SHORTEST_SUM_OF_DIGITS = 1024;

/// All that keep the promise of an accuracy, planned for so many of the device's multiprocessors. Where there are none,
/// `without` is the reason.
std::vector<Algorithm> algorithms_for(const GemmBatch& batch, sgemm_accuracy_t accuracy, int multiprocessors,
                                      int all_multiprocessors, std::string& without);

/// Chapter 09's FP32 with all products in one launch, for operands of any layout, scalars on either side, and batches
/// of either kind, planned for so many multiprocessors.
std::vector<Algorithm> every_layout_algorithms(const GemmBatch& batch, int multiprocessors);

/// One of these that works in no memory, on all multiprocessors. Nothing where the device has none.
std::optional<Algorithm> algorithm_without_memory(const GemmBatch& batch);

/// Has CUDA load its code, which waits for all streams where a program has not used it.
void load_algorithm_without_memory();

/// Chapters 11 and 12 for operands of any layout and scalars on either side, planned for so many multiprocessors. They
/// split what is not packed. Products come one after the other, so that their addresses have to be known on the host.
std::vector<Algorithm> bf16x6_algorithms(const GemmBatch& batch, int multiprocessors);
std::vector<Algorithm> fp16x3_algorithms(const GemmBatch& batch, int multiprocessors);

/// Three FP16 products that keep small numbers, for large products, one after the other. They read no packed operands.
std::vector<Algorithm> lines_algorithms(const GemmBatch& batch, int multiprocessors);

/// Chapters 11 and 12 with many products in a launch, for batches of either kind.
std::vector<Algorithm> stacked_bf16x6_algorithms(const GemmBatch& batch, int multiprocessors);
std::vector<Algorithm> stacked_fp16x3_algorithms(const GemmBatch& batch, int multiprocessors);

/// Chapter 11 for products whose C has at most 128 rows or columns, many in a launch, for batches of either kind.
std::vector<Algorithm> tall_bf16x6_algorithms(const GemmBatch& batch, int multiprocessors);

/// Chapter 11 for products that are too small for a kernel that splits before them, all in one launch, for batches of
/// either kind.
std::vector<Algorithm> small_bf16x6_algorithms(const GemmBatch& batch, int multiprocessors);

/// Chapter 15, one product after the other. Nothing is packed for it.
std::vector<Algorithm> reproducible_algorithms(const GemmBatch& batch, int multiprocessors);

/// The reproducible class, for all products and every GPU since Turing, but made for a C of few rows or columns. k may
/// be 0.
std::vector<Algorithm> thin_reproducible_algorithms(const GemmBatch& batch, int multiprocessors);

}  // namespace sgemm
