#pragma once

// What predictions have to know of a board: constants that were fitted to an H200, or to the board itself by
// sgemm_calibrate(). Those of an H200 are scaled for a board of another clock, memory or power, and the library has to
// be so much faster in the prediction that a wrong one does no harm.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sgemm {

/// A board, as CUDA describes it.
struct Board {
  std::string name;
  int multiprocessors = 0;
  double clock_mhz = 0.0;     ///< at most
  double bytes_per_us = 0.0;  ///< of its memory, at its peak
};

/// Kernels whose times have constants in common: those of chapter 09, chapter 11, its arithmetic for thin products, and
/// chapters 12 and 15.
enum class Method { every_shape, bf16x6, tall_bf16x6, fp16x3, reproducible };
constexpr std::size_t METHODS = 5;
constexpr std::array<const char*, METHODS> METHOD_NAMES{"09_every_shape", "11_bf16x6", "11_bf16x6_tall", "12_fp16x3",
                                                        "15_reproducible"};

/// The constants of a method. A chapter's own cost model counts the cycles.
struct MethodRates {
  double launch = 0.0;     ///< microseconds of each launch besides the work of its kernels
  double clock = 0.0;      ///< cycles a microsecond in short products; 0: not known, and the method is not taken
  double throttled = 0.0;  ///< the same for the cycles beyond BoardModel::full_clock_cycles, which power limits
  double bytes = 0.0;      ///< a microsecond, read and written before a product
  double single = 0.0;     ///< bytes of C a microsecond, besides, where each float of it is stored for itself
};

/// Of cuBLAS: the constants of a time that it needs at least.
struct CublasRates {
  double call = 5.4;            ///< microseconds besides the product
  double flops = 55.2e6 / 132;  ///< a microsecond, of a multiprocessor
  double bytes = 4.0e6;         ///< a microsecond
};

/// Measured times of cuBLAS, in microseconds, for products and for batches of BATCH products, of the four layouts with
/// m, n and k that are powers of two.
struct CublasTable {
  static constexpr int FIRST = 5;  ///< exponents
  static constexpr int LAST = 13;
  static constexpr int LAST_OF_BATCH = 10;
  static constexpr int SIZES = LAST - FIRST + 1;
  static constexpr int BATCH = 16;
  static constexpr int LAYOUTS = 8;  ///< NN, NT, TN and TT, and the same in batches

  int multiprocessors = 0;  ///< that cuBLAS had; those of the device in a file
  std::vector<double> us;   ///< empty, or 0 where there is none

  static int layout(bool a_transposed, bool b_transposed, std::int64_t count) {
    return (a_transposed ? 2 : 0) + (b_transposed ? 1 : 0) + (count > 1 ? 4 : 0);
  }
  static int count_of(int layout) { return layout < 4 ? 1 : BATCH; }
  static int last_of(int layout) { return layout < 4 ? LAST : LAST_OF_BATCH; }
  /// Of exponents from FIRST to LAST.
  double& at(int layout, int m, int n, int k) {
    us.resize(LAYOUTS * SIZES * SIZES * SIZES);
    return us[index(layout, m, n, k)];
  }
  double at(int layout, int m, int n, int k) const { return us.empty() ? 0.0 : us[index(layout, m, n, k)]; }

 private:
  static std::size_t index(int layout, int m, int n, int k) {
    return static_cast<std::size_t>(((layout * SIZES + m - FIRST) * SIZES + n - FIRST) * SIZES + k - FIRST);
  }
};

/// The constants of a board; at first those of an H200.
struct BoardModel {
  std::array<MethodRates, METHODS> methods{{{-1, 1980, 1980, 3.8e6, 0.85e6},
                                            {9.4, 2050, 1810, 3.45e6, 1.1e6},
                                            {7.2, 1940, 1930, 3.8e6, 0.85e6},
                                            {8.9, 1930, 1690, 3.55e6, 1.05e6},
                                            {6.5, 2030, 2020, 3.8e6, 1.05e6}}};
  double full_clock_cycles = 40 * 1980;  ///< for which tensor cores keep the full clock
  CublasRates cublas;
  CublasTable cublas_table;
  double margin = 1.0;  ///< the library has to be predicted to be so many times as fast as cuBLAS

  const MethodRates& operator[](Method method) const { return methods[static_cast<std::size_t>(method)]; }
  MethodRates& operator[](Method method) { return methods[static_cast<std::size_t>(method)]; }
  bool knows(Method method) const { return (*this)[method].clock > 0.0; }
};

/// The constants hold for the H200 itself (SXM), and for the H100 (SXM), whose multiprocessors, clock and power are the
/// same, and whose memory is slower. All other boards are taken to be slow in the library and fast in cuBLAS, and have
/// a margin. Of a board that CUDA does not tell enough about, or whose name says nothing of its tensor cores, only
/// chapter 09 is left: an H20 has a quarter of an H200's, and nothing but its name tells.
BoardModel model_of(const Board& board);

/// That of the current device. The executor stands for an H200, so tests on it bring an implementation of their own.
const BoardModel& board_model();

}  // namespace sgemm
