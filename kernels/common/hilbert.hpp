#pragma once

// A Hilbert curve through the tiles of a grid of any shape.

#include "common/ceil_div.hpp"
#include "common/problem.hpp"
#include "common/target.hpp"

#include <cstdint>

namespace sgemm {

struct TileIndex {
  int row = 0;
  int col = 0;
};

/// The tile at position `index` (0 <= index < rows * cols) of a space-filling curve over a grid of rows x cols tiles.
///
/// On a square grid whose side is a power of two this is the Hilbert curve. Other rectangles follow the
/// generalisation of J. Cerveny ("gilbert", github.com/jakubcerveny/gilbert): a rectangle is cut into two along a
/// side more than 1.5 times the other, otherwise into three as in Hilbert's construction, with cuts kept even where
/// possible. Every tile is visited once; neighbours on the curve share an edge, or at worst a corner when a side is
/// odd.
///
/// Instead of recursing, the walk descends towards `index`: at each level it skips the parts that lie wholly before
/// it. A part is a corner tile and two spans that leave it: the `major` one, along which the curve travels, and the
/// `minor` one. Both are axis-parallel and signed, in tiles.
SGEMM_HOST_DEVICE constexpr TileIndex hilbert_tile(long long index, int rows, int cols) {
  struct Span {
    int row;
    int col;
  };
  const auto sign = [](int x) { return (x > 0) - (x < 0); };
  const auto length = [](Span s) { return s.row + s.col < 0 ? -(s.row + s.col) : s.row + s.col; };
  // Half of a span rounded towards zero, then made even where the span allows, so that sub-curves meet edge to edge.
  const auto half = [&](Span s, bool make_even) {
    Span h{s.row / 2, s.col / 2};
    if (make_even && length(h) % 2 != 0 && length(s) > 2) {
      h.row += sign(s.row);
      h.col += sign(s.col);
    }
    return h;
  };

  TileIndex corner{0, 0};
  Span major = cols >= rows ? Span{0, cols} : Span{rows, 0};
  Span minor = cols >= rows ? Span{rows, 0} : Span{0, cols};
  while (true) {
    const int w = length(major);
    const int h = length(minor);
    const Span major_step{sign(major.row), sign(major.col)};
    const Span minor_step{sign(minor.row), sign(minor.col)};
    if (h == 1) {
      const int steps = static_cast<int>(index);
      return {corner.row + major_step.row * steps, corner.col + major_step.col * steps};
    }
    if (w == 1) {
      const int steps = static_cast<int>(index);
      return {corner.row + minor_step.row * steps, corner.col + minor_step.col * steps};
    }

    if (2 * w > 3 * h) {  // a long part: one half after the other
      const Span first = half(major, true);
      const long long first_tiles = static_cast<long long>(length(first)) * h;
      if (index < first_tiles) {
        major = first;
      } else {
        index -= first_tiles;
        corner = {corner.row + first.row, corner.col + first.col};
        major = {major.row - first.row, major.col - first.col};
      }
      continue;
    }

    // Out along the minor axis, across along the major one, and back.
    const Span out = half(minor, true);
    const Span across = half(major, false);
    const long long out_tiles = static_cast<long long>(length(out)) * length(across);
    const long long across_tiles = static_cast<long long>(w) * (h - length(out));
    if (index < out_tiles) {
      major = out;
      minor = across;
    } else if (index < out_tiles + across_tiles) {
      index -= out_tiles;
      corner = {corner.row + out.row, corner.col + out.col};
      minor = {minor.row - out.row, minor.col - out.col};
    } else {
      index -= out_tiles + across_tiles;
      corner = {corner.row + major.row - major_step.row + out.row - minor_step.row,
                corner.col + major.col - major_step.col + out.col - minor_step.col};
      const Span back_major{-out.row, -out.col};
      const Span back_minor{across.row - major.row, across.col - major.col};
      major = back_major;
      minor = back_minor;
    }
  }
}

namespace SGEMM_TARGET {

/// The BM x BN tile of C at a position of the Hilbert curve.
template <int BM, int BN>
SGEMM_HOST_DEVICE inline TileOrigin tile_on_curve(const Problem& p, int position) {
  const TileIndex index = hilbert_tile(position, static_cast<int>(ceil_div<std::int64_t>(p.m, BM)),
                                       static_cast<int>(ceil_div<std::int64_t>(p.n, BN)));
  return {static_cast<std::int64_t>(index.row) * BM, static_cast<std::int64_t>(index.col) * BN};
}

}  // namespace SGEMM_TARGET
}  // namespace sgemm
