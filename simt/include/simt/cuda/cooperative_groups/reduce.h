#pragma once

// Stands in for CUDA's header of the same name: reductions over a tile.

#include <cooperative_groups.h>

namespace cooperative_groups {

template <class T>
struct plus {
  T operator()(T x, T y) const { return x + y; }
};
template <class T>
struct less {
  T operator()(T x, T y) const { return y < x ? y : x; }
};
template <class T>
struct greater {
  T operator()(T x, T y) const { return x < y ? y : x; }
};
template <class T>
struct bit_and {
  T operator()(T x, T y) const { return x & y; }
};
template <class T>
struct bit_or {
  T operator()(T x, T y) const { return x | y; }
};
template <class T>
struct bit_xor {
  T operator()(T x, T y) const { return x ^ y; }
};

template <unsigned SIZE, class Parent, class T, class Operation>
T reduce(const thread_block_tile<SIZE, Parent>& tile, T value, const Operation& operation,
         simt::Site site = simt::Site::current()) {
  for (unsigned lanes = SIZE / 2; lanes > 0; lanes /= 2) {
    value = operation(value, tile.shfl_xor(value, lanes, site));
  }
  return value;
}

}  // namespace cooperative_groups
