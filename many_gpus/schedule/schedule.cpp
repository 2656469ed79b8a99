#include "schedule/schedule.hpp"

#include <algorithm>

namespace sgemm {

Schedule make_schedule(const Shape& shape, const Grid& grid, int rank, std::int64_t first_rows) {
  constexpr std::int64_t GROWTH = 4;
  Schedule schedule;
  const int row = grid.row(rank);
  const int column = grid.column(rank);
  const auto step = [&](Range k, Range a_block) { schedule.steps.push_back({k, a_block, schedule.pieces.size()}); };
  const bool has_c = grid.has_c(shape, rank);
  for (int turn = 0; has_c && turn < grid.columns; ++turn) {
    const int a_owner = grid.rank(row, (column + turn) % grid.columns);
    const Range block = grid.a_depth(shape, a_owner);
    if (block.empty()) {
      continue;
    }
    if (turn > 0) {
      schedule.pieces.push_back({Operand::a, a_owner, block});
    }
    const Range own = intersection(block, grid.b_depth(shape, rank));
    if (turn == 0 && !own.empty()) {
      step(own, block);
    }
    // Once there is something to compute, what comes meanwhile need not come in small pieces.
    std::int64_t most = schedule.steps.empty() ? first_rows : shape.k;
    for (int distance = 1; distance < grid.rows; ++distance) {
      const int b_owner = grid.rank((row + distance) % grid.rows, column);
      const Range rows = intersection(block, grid.b_depth(shape, b_owner));
      for (std::int64_t k = rows.begin; k < rows.end;) {
        const Range piece{k, std::min(rows.end, k + most)};
        schedule.pieces.push_back({Operand::b, b_owner, piece});
        if (turn == 0) {
          step(piece, block);
        }
        k = piece.end;
        most = std::min(shape.k, most * GROWTH);
      }
    }
    if (turn > 0) {
      step(block, block);
    }
  }
  if (schedule.steps.empty()) {
    step({0, 0}, {0, 0});  // C becomes beta * C
  }
  return schedule;
}

Panels panels_of(const Shape& shape, const Grid& grid, int rank) {
  return {grid.c_rows(shape, rank).size(), grid.c_columns(shape, rank).size()};
}

Transfers transfers_of(const Shape& shape, const Grid& grid, int rank, std::int64_t first_rows) {
  Transfers transfers;
  for (int to = 0; to < grid.size(); ++to) {
    const Schedule schedule = make_schedule(shape, grid, to, first_rows);
    const Panels panels = panels_of(shape, grid, to);
    for (std::size_t turn = 0; turn < schedule.pieces.size(); ++turn) {
      const Piece& piece = schedule.pieces[turn];
      const Transfer transfer{piece.owner, to, turn, piece.operand, panels.at(piece), panels.floats(piece)};
      if (to == rank) {
        transfers.incoming.push_back(transfer);
      } else if (piece.owner == rank) {
        transfers.outgoing.push_back(transfer);
      }
    }
  }
  std::stable_sort(transfers.outgoing.begin(), transfers.outgoing.end(),
                   [](const Transfer& x, const Transfer& y) { return x.turn < y.turn; });
  return transfers;
}

}  // namespace sgemm
