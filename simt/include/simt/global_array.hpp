#pragma once

// Global memory as messages and counts name it.

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <iterator>
#include <ranges>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace simt {

/// An array that kernels may use, or a matrix: rows of `row_bytes`, `stride` bytes apart. input(), output() and
/// in_out() make them.
struct GlobalArray {
  std::string name;
  const void* begin = nullptr;
  std::size_t rows = 1;
  std::size_t row_bytes = 0;
  std::size_t stride = 0;
  std::size_t unit = sizeof(float);  ///< bytes of which a thread writes all or none
  bool writable = false;
  bool undefined = false;  ///< a writable one that holds nothing until a launch writes it
  /// Blocks may depend on one another by what they leave in this array.
  bool passed_between_blocks = false;

  /// From the first row's begin to the last one's end.
  std::size_t bytes() const { return rows == 0 ? 0 : (rows - 1) * stride + row_bytes; }
};

/// How many elements an array has, or the rows and columns of a matrix, whose rows begin `stride` elements apart.
struct Extents {
  std::size_t rows;
  std::size_t columns;
  std::size_t stride;

  template <std::integral Count>
  Extents(Count elements) : Extents(1, elements, elements) {}
  template <std::integral Rows, std::integral Columns, std::integral Stride>
  Extents(Rows rows_, Columns columns_, Stride stride_)
      : rows(static_cast<std::size_t>(rows_)),
        columns(static_cast<std::size_t>(columns_)),
        stride(static_cast<std::size_t>(stride_)) {}
};

/// One that kernels only read.
template <class T>
GlobalArray input(std::string name, const T* begin, const Extents& extents) {
  // Elements that are not numbers may be written in parts, as the members of a float4 are.
  constexpr std::size_t UNIT = std::is_arithmetic_v<T> ? sizeof(T)
                               : sizeof(T) % 4 == 0    ? 4
                               : sizeof(T) % 2 == 0    ? 2
                                                       : 1;
  return {.name = std::move(name),
          .begin = begin,
          .rows = extents.rows,
          .row_bytes = extents.columns * sizeof(T),
          .stride = extents.stride * sizeof(T),
          .unit = UNIT};
}

/// One that holds something, and that kernels write as well.
template <class T>
requires(!std::is_const_v<T>) GlobalArray in_out(std::string name, T* begin, const Extents& extents) {
  GlobalArray array = input(std::move(name), begin, extents);
  array.writable = true;
  return array;
}

/// One that holds nothing before kernels have written it.
template <class T>
requires(!std::is_const_v<T>) GlobalArray output(std::string name, T* begin, const Extents& extents) {
  GlobalArray array = in_out(std::move(name), begin, extents);
  array.undefined = true;
  return array;
}

/// The same of all elements of a std::vector, an array or the like.
template <std::ranges::contiguous_range Elements>
GlobalArray input(std::string name, const Elements& elements) {
  return input(std::move(name), std::ranges::data(elements), std::ranges::size(elements));
}
template <std::ranges::contiguous_range Elements>
GlobalArray in_out(std::string name, Elements& elements) {
  return in_out(std::move(name), std::ranges::data(elements), std::ranges::size(elements));
}
template <std::ranges::contiguous_range Elements>
GlobalArray output(std::string name, Elements& elements) {
  return output(std::move(name), std::ranges::data(elements), std::ranges::size(elements));
}

/// Memory of the device of which nothing else is known.
inline GlobalArray bytes_of_device(std::string name, const void* begin, std::size_t bytes, bool writable = true) {
  return {.name = std::move(name),
          .begin = begin,
          .row_bytes = bytes,
          .stride = bytes,
          .unit = 1,
          .writable = writable,
          .passed_between_blocks = true};
}

/// The name of memory from cudaMalloc among arrays that are counted, and among others where no variable names it.
constexpr std::string_view WORKSPACE = "workspace";

/// All memory from cudaMalloc. The host does not describe it any further.
std::vector<GlobalArray> workspaces();

}  // namespace simt
