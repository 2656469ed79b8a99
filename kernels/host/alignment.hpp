#pragma once

// When a kernel may move two or four neighbouring floats in one access.

#include <cstdint>

namespace sgemm {

/// Whether every row of a matrix with `columns` columns starts on a 16-byte boundary and splits into whole groups of
/// four, so that 128-bit accesses neither misalign nor cross the end of a row.
inline bool rows_split_into_float4(const float* matrix, std::int64_t columns, std::int64_t leading_dimension) {
  return reinterpret_cast<std::uintptr_t>(matrix) % (4 * sizeof(float)) == 0 && columns % 4 == 0 &&
         leading_dimension % 4 == 0;
}

/// Whether every row starts on an 8-byte boundary and splits into whole pairs, so that 64-bit accesses may move them.
inline bool rows_split_into_float2(const float* matrix, std::int64_t columns, std::int64_t leading_dimension) {
  return reinterpret_cast<std::uintptr_t>(matrix) % (2 * sizeof(float)) == 0 && columns % 2 == 0 &&
         leading_dimension % 2 == 0;
}

}  // namespace sgemm
