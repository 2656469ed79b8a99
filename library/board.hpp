#pragma once

// What predictions have to know of a board. Their constants were fitted to an H200. On a board of another clock, memory
// or power they are scaled, and the library has to be so much faster in the prediction that a wrong one does no harm.

#include <string>

namespace sgemm {

/// A board, as CUDA describes it.
struct Board {
  std::string name;
  int multiprocessors = 0;
  double clock_mhz = 0.0;     ///< at most
  double bytes_per_us = 0.0;  ///< of its memory, at its peak
};

/// How a board differs from an H200.
struct BoardModel {
  double clock = 1980;           ///< cycles a microsecond, at most
  double throttled = 1.0;        ///< of an H200's clock in long products of tensor cores, relative to `clock`
  double bytes = 1.0;            ///< bandwidth of the library's kernels, relative to an H200's
  double cublas_bytes = 1.0;     ///< bandwidth of cuBLAS, relative to an H200's
  double margin = 1.0;           ///< the library has to be predicted to be so many times as fast as cuBLAS
  bool has_tensor_cores = true;  ///< whose speed is known
  bool holds_full_clock = true;  ///< in short products
};

/// The constants hold for the H200 itself (SXM), and for the H100 (SXM), whose multiprocessors, clock and power are the
/// same, and whose memory is slower. All other boards are taken to be slow in the library and fast in cuBLAS, and have
/// a margin. Of a board that CUDA does not tell enough about, or whose name says nothing of its tensor cores, only
/// chapter 09 is left: an H20 has a quarter of an H200's, and nothing but its name tells.
BoardModel model_of(const Board& board);

/// That of the current device. The executor stands for an H200, so tests on it bring an implementation of their own.
const BoardModel& board_model();

}  // namespace sgemm
