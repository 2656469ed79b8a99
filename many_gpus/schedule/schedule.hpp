#pragma once

// In which order a rank multiplies, and what has to have come from other ranks by then.

#include "common/problem.hpp"
#include "schedule/grid.hpp"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sgemm {

enum class Operand { a, b };

/// What one rank sends another: a whole block of A, or some rows of a block of B. Both lie in one piece in the owner's
/// memory.
struct Piece {
  Operand operand;
  int owner;
  Range k;  ///< columns of A or rows of B

  bool operator==(const Piece&) const = default;
};

/// A local product: C (+)= A(:, k) * B(k, :).
struct Step {
  Range k;
  Range a_block;           ///< the block of A that `k` lies in
  std::size_t pieces = 0;  ///< so many of the schedule's pieces have to be here

  bool operator==(const Step&) const = default;
};

struct Schedule {
  std::vector<Piece> pieces;  ///< in the order in which they are sent
  std::vector<Step> steps;    ///< never none, and together all of K once
};

/// So many rows of B come first where a rank can compute nothing before some have come; the pieces after them are four
/// times as long each.
constexpr std::int64_t FIRST_ROWS = 512;

/// A rank begins with the block of A that it owns, for which it lacks rows of B at most, and of these with the rows
/// that it owns. The other blocks of A follow, those of its right neighbours first, so that no two ranks of a grid row
/// ask the same one at once.
Schedule make_schedule(const Shape& shape, const Grid& grid, int rank, std::int64_t first_rows = FIRST_ROWS);

/// Where a rank keeps all that it needs of the operands: its rows of A block by block, each without padding, and its
/// columns of B without padding. Blocks of other ranks lie where these have them, so that a piece has one place.
struct Panels {
  std::int64_t rows = 0;     ///< of A and C
  std::int64_t columns = 0;  ///< of B and C

  /// Where the block of A that begins at column `k` starts.
  std::int64_t a_at(std::int64_t k) const { return rows * k; }
  std::int64_t b_at(std::int64_t k) const { return columns * k; }
  std::int64_t at(const Piece& piece) const {
    return piece.operand == Operand::a ? a_at(piece.k.begin) : b_at(piece.k.begin);
  }
  std::int64_t floats(const Piece& piece) const {
    return (piece.operand == Operand::a ? rows : columns) * piece.k.size();
  }
};

Panels panels_of(const Shape& shape, const Grid& grid, int rank);

/// A piece on its way. It lies at the same place in both ranks' panels.
struct Transfer {
  int from;
  int to;
  std::size_t turn;  ///< its position among the receiver's pieces
  Operand operand;
  std::int64_t at;
  std::int64_t floats;

  auto operator<=>(const Transfer&) const = default;
};

/// The transfers that one rank takes part in, both lists sorted by `turn`.
struct Transfers {
  std::vector<Transfer> incoming;
  std::vector<Transfer> outgoing;
};

/// As the schedules of all ranks have them; `first_rows` is the same for all.
Transfers transfers_of(const Shape& shape, const Grid& grid, int rank, std::int64_t first_rows = FIRST_ROWS);

}  // namespace sgemm
