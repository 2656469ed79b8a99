#include "board.hpp"
#include "host_blas.hpp"

namespace sgemm {

BoardModel& test::host_board() {
  thread_local BoardModel model;
  return model;
}

const BoardModel& board_model() { return test::host_board(); }

}  // namespace sgemm
