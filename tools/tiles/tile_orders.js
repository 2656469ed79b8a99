"use strict";

// The orders in which the blocks of a launch take the tiles of C: all of them, in a grid of rows x cols tiles.

const numbered = (rows, cols, tileAt) => Array.from({ length: rows * cols }, (_, index) => tileAt(index));

function rowMajorTiles(rows, cols) {
  return numbered(rows, cols, (index) => ({ row: Math.floor(index / cols), col: index % cols }));
}

/** Groups of so many rows of tiles, column by column in each. The last group may have fewer rows. */
function groupedTiles(rows, cols, groupRows) {
  return numbered(rows, cols, (index) => {
    const first = Math.floor(index / (groupRows * cols)) * groupRows;
    const height = Math.min(groupRows, rows - first);
    const inGroup = index - first * cols;
    return { row: first + (inGroup % height), col: Math.floor(inGroup / height) };
  });
}

// Spans of tiles, along rows or columns.
const lengthOf = (span) => Math.abs(span.row + span.col);
const stepOf = (span) => ({ row: Math.sign(span.row), col: Math.sign(span.col) });
const sum = (x, y) => ({ row: x.row + y.row, col: x.col + y.col });
const minus = (x, y) => ({ row: x.row - y.row, col: x.col - y.col });

function halfOf(span, makeEven) {
  const half = { row: Math.trunc(span.row / 2), col: Math.trunc(span.col / 2) };
  return makeEven && lengthOf(half) % 2 !== 0 && lengthOf(span) > 2 ? sum(half, stepOf(span)) : half;
}

/** The curve of kernels/common/hilbert.hpp, which explains it. */
function* curve(corner, major, minor) {
  if (lengthOf(major) === 1 || lengthOf(minor) === 1) {
    const along = lengthOf(minor) === 1 ? major : minor;
    for (let left = lengthOf(along); left > 0; --left, corner = sum(corner, stepOf(along))) yield corner;
  } else if (2 * lengthOf(major) > 3 * lengthOf(minor)) {
    const first = halfOf(major, true);
    yield* curve(corner, first, minor);
    yield* curve(sum(corner, first), minus(major, first), minor);
  } else {
    const [out, across] = [halfOf(minor, true), halfOf(major, false)];
    const back = sum(minus(major, stepOf(major)), minus(out, stepOf(minor)));
    yield* curve(corner, out, across);
    yield* curve(sum(corner, out), major, minus(minor, out));
    yield* curve(sum(corner, back), minus({ row: 0, col: 0 }, out), minus(across, major));
  }
}

function hilbertTiles(rows, cols) {
  const [down, right] = [{ row: rows, col: 0 }, { row: 0, col: cols }];
  return [...curve({ row: 0, col: 0 }, ...(cols >= rows ? [right, down] : [down, right]))];
}
