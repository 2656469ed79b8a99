#pragma once

#include "common/problem.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

namespace sgemm {

/// Elements from the A, B or C of one product of a batch to that of the next.
inline std::int64_t stride_a(const Problem& p) { return (p.transposed_a ? p.k : p.m) * p.lda; }
inline std::int64_t stride_b(const Problem& p) { return (p.transposed_b ? p.n : p.k) * p.ldb; }
inline std::int64_t stride_c(const Problem& p) { return p.m * p.ldc; }

/// A distance as libraries take it: they refuse 0, which rows of matrices without elements may have.
template <class Integer = std::int64_t>
Integer leading(std::int64_t distance) {
  return static_cast<Integer>(std::max<std::int64_t>(distance, 1));
}

/// One product of a batch, counted from 0. Pointers that are null stay so.
inline Problem product_of(const Problem& batch, std::int64_t index) {
  Problem product = batch;
  product.batch = 1;
  product.a += batch.a == nullptr ? 0 : index * stride_a(batch);
  product.b += batch.b == nullptr ? 0 : index * stride_b(batch);
  product.c += batch.c == nullptr ? 0 : index * stride_c(batch);
  return product;
}

/// Multiplications of a Shape or a Size: one for every (row, column, k) of each product. There are as many additions.
template <class Extents>
double products(const Extents& of) {
  return static_cast<double>(of.batch) * static_cast<double>(of.m) * static_cast<double>(of.n) *
         static_cast<double>(of.k);
}

/// Its floating-point operations.
template <class Extents>
double flops(const Extents& of) {
  return 2.0 * products(of);
}

/// The reason why a BLAS that takes dimensions, row distances and batches as int can not run the problem, or nothing.
inline std::optional<std::string> beyond_int(const Problem& p) {
  return std::max({p.m, p.n, p.k, p.lda, p.ldb, p.ldc, p.batch}) > std::numeric_limits<int>::max()
             ? std::optional<std::string>("the library takes dimensions as 32-bit integers")
             : std::nullopt;
}

/// Elements of all matrices C of a batch.
inline std::size_t elements_of_c(const Shape& shape) {
  return static_cast<std::size_t>(shape.batch) * static_cast<std::size_t>(shape.m) * static_cast<std::size_t>(shape.n);
}

}  // namespace sgemm
