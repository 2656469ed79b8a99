"use strict";

// The order in which the blocks of a launch take the tiles of C: position `index` in a grid of rows x cols tiles.

function rowMajorTile(index, rows, cols) {
  return { row: Math.floor(index / cols), col: index % cols };
}

/** Groups of so many rows of tiles, column by column in each. The last group may have fewer rows. */
function groupedTile(index, rows, cols, groupRows) {
  const first = Math.floor(index / (groupRows * cols)) * groupRows;
  const height = Math.min(groupRows, rows - first);
  const inGroup = index - first * cols;
  return { row: first + (inGroup % height), col: Math.floor(inGroup / height) };
}

/** The curve of kernels/common/hilbert.hpp, which explains it. */
function hilbertTile(index, rows, cols) {
  const length = (span) => Math.abs(span.row + span.col);
  const step = (span) => ({ row: Math.sign(span.row), col: Math.sign(span.col) });
  const half = (span, makeEven) => {
    const result = { row: Math.trunc(span.row / 2), col: Math.trunc(span.col / 2) };
    if (makeEven && length(result) % 2 !== 0 && length(span) > 2) {
      result.row += Math.sign(span.row);
      result.col += Math.sign(span.col);
    }
    return result;
  };
  const sum = (...spans) => ({
    row: spans.reduce((total, span) => total + span.row, 0),
    col: spans.reduce((total, span) => total + span.col, 0),
  });
  const times = (span, factor) => ({ row: span.row * factor, col: span.col * factor });
  const minus = (x, y) => sum(x, times(y, -1));

  let corner = { row: 0, col: 0 };
  let major = cols >= rows ? { row: 0, col: cols } : { row: rows, col: 0 };
  let minor = cols >= rows ? { row: rows, col: 0 } : { row: 0, col: cols };
  for (;;) {
    const w = length(major);
    const h = length(minor);
    if (h === 1) return sum(corner, times(step(major), index));
    if (w === 1) return sum(corner, times(step(minor), index));
    if (2 * w > 3 * h) {
      const first = half(major, true);
      const tiles = length(first) * h;
      if (index < tiles) {
        major = first;
      } else {
        index -= tiles;
        corner = sum(corner, first);
        major = minus(major, first);
      }
      continue;
    }
    const out = half(minor, true);
    const across = half(major, false);
    const outTiles = length(out) * length(across);
    const acrossTiles = w * (h - length(out));
    if (index < outTiles) {
      [major, minor] = [out, across];
    } else if (index < outTiles + acrossTiles) {
      index -= outTiles;
      corner = sum(corner, out);
      minor = minus(minor, out);
    } else {
      index -= outTiles + acrossTiles;
      corner = sum(corner, minus(major, step(major)), minus(out, step(minor)));
      [major, minor] = [times(out, -1), minus(across, major)];
    }
  }
}
