#pragma once

#include "board.hpp"
#include "common/ceil_div.hpp"
#include "common/problem.hpp"

#include <cstdint>
#include <utility>

namespace sgemm {

/// The operand tiles of packed operands (packed.hpp). Kernels of their method read them in place of A or B, which other
/// kernels read as ever.
struct PackedTiles {
  Method method = Method::bf16x6;
  const void* a = nullptr;  ///< null: A is not packed
  const void* b = nullptr;
};

/// A problem whose operands may be stored transposed, and whose scalars may be on the GPU:
/// C = alpha * op(A) * op(B) + beta * C, all matrices row-major.
///
/// Where `a_transposed`, A is stored as k x m and `lda` is the distance between its k rows; B likewise.
struct GemmProblem : Problem {
  bool a_transposed = false;
  bool b_transposed = false;
  // The scalars in the GPU's memory. They replace `alpha` and `beta`; null if those hold.
  const float* alpha_at = nullptr;
  const float* beta_at = nullptr;
  /// Where kernels note how much they compute without tensor cores (recomputed.hpp). Null: nowhere.
  unsigned* recomputed = nullptr;
  PackedTiles packed;

  /// The operand tiles that a method need not write.
  PackedTiles packed_for(Method method) const { return packed.method == method ? packed : PackedTiles{}; }
  SGEMM_HOST_DEVICE bool scalars_on_device() const { return alpha_at != nullptr; }
};

/// A batch of problems that differ by their operands alone. Number i has its operands i strides behind those of
/// `first`, or else where arrays in the GPU's memory say.
struct GemmBatch {
  GemmProblem first;
  std::int64_t stride_a = 0;
  std::int64_t stride_b = 0;
  std::int64_t stride_c = 0;
  std::int64_t count = 1;
  // The addresses of all operands. They replace those of `first` and the strides; null if those hold.
  const float* const* each_a = nullptr;
  const float* const* each_b = nullptr;
  float* const* each_c = nullptr;

  SGEMM_HOST_DEVICE bool addresses_on_device() const { return each_c != nullptr; }

  /// Whether rows of all stored A, or of all stored B, split into aligned groups of four floats. Of addresses on the
  /// device the host does not know.
  bool a_splits_into_fours() const {
    return !addresses_on_device() && (count == 1 || stride_a % 4 == 0) &&
           rows_split_into_float4(first.a, first.a_transposed ? first.m : first.k, first.lda);
  }
  bool b_splits_into_fours() const {
    return !addresses_on_device() && (count == 1 || stride_b % 4 == 0) &&
           rows_split_into_float4(first.b, first.b_transposed ? first.k : first.n, first.ldb);
  }
  bool operands_split_into_fours() const { return a_splits_into_fours() && b_splits_into_fours(); }

  /// Number `index`. If addresses are on the device, only the device may ask.
  SGEMM_HOST_DEVICE GemmProblem problem(std::int64_t index) const {
    GemmProblem p = first;
    if (addresses_on_device()) {
      p.a = each_a[index];
      p.b = each_b[index];
      p.c = each_c[index];
    } else {
      p.a += index * stride_a;
      p.b += index * stride_b;
      p.c += index * stride_c;
    }
    return p;
  }
  /// The same where addresses are not on the device.
  SGEMM_HOST_DEVICE GemmProblem problem_by_strides(std::int64_t index) const {
    GemmProblem p = first;
    p.a += index * stride_a;
    p.b += index * stride_b;
    p.c += index * stride_c;
    return p;
  }

  /// `size` problems from number `index` on.
  GemmBatch part(std::int64_t index, std::int64_t size) const {
    GemmBatch batch = *this;
    if (addresses_on_device()) {
      batch.each_a += index;
      batch.each_b += index;
      batch.each_c += index;
    } else {
      batch.first = problem(index);
    }
    batch.count = size;
    return batch;
  }
};

/// The same batch with A and B exchanged: C^T = op(B)^T op(A)^T.
inline GemmBatch transposed(GemmBatch batch) {
  GemmProblem& p = batch.first;
  std::swap(p.m, p.n);
  std::swap(p.a, p.b);
  std::swap(p.lda, p.ldb);
  std::swap(p.packed.a, p.packed.b);
  std::swap(p.a_transposed, p.b_transposed);
  p.a_transposed = !p.a_transposed;
  p.b_transposed = !p.b_transposed;
  std::swap(batch.stride_a, batch.stride_b);
  std::swap(batch.each_a, batch.each_b);
  return batch;
}

/// Whether every row of a matrix splits into aligned groups of WIDTH.
template <int WIDTH>
SGEMM_HOST_DEVICE inline bool rows_split_into(const float* matrix, std::int64_t columns, std::int64_t ld) {
  return reinterpret_cast<std::uintptr_t>(matrix) % (WIDTH * sizeof(float)) == 0 && columns % WIDTH == 0 &&
         ld % WIDTH == 0;
}

}  // namespace sgemm
