#include "calibration/calibration.hpp"

#include "algorithms.hpp"
#include "calibration/fit.hpp"
#include "calibration/measurement.hpp"
#include "host/launch.cuh"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <iterator>
#include <optional>
#include <vector>

namespace sgemm {
namespace {

using Clock = std::chrono::steady_clock;

/// The largest operand of a product that is measured, in elements.
constexpr std::size_t LARGEST_OPERAND = std::size_t{1} << 26U;
/// Seconds for all measurements. What was not measured by then is left out: small products come first.
constexpr double SECONDS = 45;
/// Of them, for the library's own algorithms.
constexpr double SHARE_OF_ALGORITHMS = 0.5;
/// Algorithms that take so many times as long as the fastest one of their method are never chosen, and need no fit.
constexpr double TOO_SLOW = 1.3;

/// Products for the library's algorithms.
std::vector<GemmBatch> products_for_algorithms() {
  std::vector<GemmBatch> all;
  for (const std::int64_t size : {256, 384, 512, 768, 1000, 1024, 1536, 2048, 3001, 3072, 4096, 6144, 8192}) {
    all.push_back(contiguous(size, size, size, false, false));
    all.push_back(contiguous(size, size, size, size % 2048 == 0, true));
  }
  unsigned layout = 0;
  for (const auto& [m, n, k] : std::vector<std::array<std::int64_t, 3>>{
           {4096, 4096, 256},  {8192, 8192, 128},  {1024, 1024, 8192}, {512, 512, 8192},   {256, 8192, 2048},
           {8192, 256, 1024},  {2048, 2048, 512},  {4096, 1024, 1024}, {8192, 4096, 1024}, {1536, 1536, 3072},
           {32, 4096, 4096},   {8192, 32, 8192},   {64, 8192, 2048},   {2048, 64, 2048},   {8192, 64, 8192},
           {128, 4096, 4096},  {8192, 128, 8192},  {2048, 128, 2048},  {96, 2048, 1024},   {4096, 96, 512},
           {1024, 128, 4096},  {50, 6000, 1500},   {6000, 52, 700},    {32, 8192, 512},    {100, 3001, 2000},
           {2048, 2048, 96},   {4096, 512, 64},    {5321, 567, 77},    {3001, 900, 100},   {768, 768, 2048},
           {300, 1000, 4000},  {2000, 2000, 1500}, {1000, 3000, 500},  {300, 5000, 700},   {500, 700, 900},
           {1001, 3001, 500},  {2047, 1023, 300},  {501, 5001, 1000},  {5001, 701, 129},   {257, 4095, 600},
           {3000, 1001, 3000}, {999, 999, 4001},   {701, 701, 701},    {4001, 2001, 201},  {1500, 1501, 1400}}) {
    all.push_back(contiguous(m, n, k, layout / 2 % 2 != 0, layout % 2 != 0));
    all.push_back(contiguous(m, n, k, false, false));
    ++layout;
  }
  for (const auto& [size, k, count] : std::vector<std::array<std::int64_t, 3>>{
           {256, 256, 64}, {512, 512, 16}, {1024, 512, 8}, {512, 64, 64}, {2048, 1024, 4}}) {
    all.push_back(contiguous(size, size, k, false, false, count));
  }
  const auto work = [](const GemmBatch& one) {
    return static_cast<double>(one.count) * static_cast<double>(one.stride_c) * static_cast<double>(one.first.k);
  };
  std::stable_sort(all.begin(), all.end(), [&](const GemmBatch& x, const GemmBatch& y) { return work(x) < work(y); });
  return all;
}

/// By method.
std::array<std::vector<TimedCost>, METHODS> time_algorithms(Measurement& measurement, int multiprocessors,
                                                            Clock::time_point until) {
  std::array<std::vector<TimedCost>, METHODS> times;
  for (const GemmBatch& product : products_for_algorithms()) {
    std::array<std::vector<TimedCost>, METHODS> of_product;
    std::string without;
    for (const Algorithm& algorithm :
         algorithms_for(product, SGEMM_ACCURACY_ROWWISE, multiprocessors, multiprocessors, without)) {
      if (Clock::now() > until) {
        return times;
      }
      if (const std::optional<double> us = measurement.of(algorithm, product)) {
        of_product[static_cast<std::size_t>(algorithm.cost.method)].push_back({algorithm.cost, *us});
      }
    }
    for (std::size_t method = 0; method < METHODS; ++method) {
      double fastest = 1e300;
      for (const TimedCost& time : of_product[method]) {
        fastest = std::min(fastest, time.us);
      }
      std::copy_if(of_product[method].begin(), of_product[method].end(), std::back_inserter(times[method]),
                   [&](const TimedCost& time) { return time.us <= TOO_SLOW * fastest; });
    }
  }
  return times;
}

/// Fills the table, and returns what it has.
std::vector<TimedProduct> time_cublas(Measurement& measurement, CublasTable& table, Clock::time_point until) {
  constexpr int SMALLEST_PRODUCT = 21;  // exponents; those of less than 2^24 are cuBLAS's anyway, but for neighbours
  std::vector<TimedProduct> times;
  const auto measure = [&](int layout, int m, int n, int k) {
    const int count = CublasTable::count_of(layout);
    const int last = CublasTable::last_of(layout);
    if (k < CublasTable::FIRST || std::max({m, n, k}) > last || (count == 1 && m + n + k < SMALLEST_PRODUCT)) {
      return;
    }
    const GemmBatch product = contiguous(std::int64_t{1} << m, std::int64_t{1} << n, std::int64_t{1} << k,
                                         layout / 2 % 2 != 0, layout % 2 != 0, count);
    if (const std::optional<double> us = measurement.of_cublas(product)) {
      table.at(layout, m, n, k) = *us;
      if (count == 1) {  // batches are slow, and say little about the constants
        const GemmProblem& p = product.first;
        times.push_back({{p.m, p.n, p.k, table.multiprocessors}, *us});
      }
    }
  };
  for (int sum = 3 * CublasTable::FIRST; sum <= 3 * CublasTable::LAST; ++sum) {  // small ones first
    for (int m = CublasTable::FIRST; m <= CublasTable::LAST; ++m) {
      for (int n = CublasTable::FIRST; n <= CublasTable::LAST && Clock::now() < until; ++n) {
        for (int layout = 0; layout < CublasTable::LAYOUTS; ++layout) {
          measure(layout, m, n, sum - m - n);
        }
      }
    }
  }
  return times;
}

std::string now() {
  const std::time_t time = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&time, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

/// The constants of the current device, from products that are measured for at most SECONDS.
BoardModel measured_board() {
  const auto begin = Clock::now();
  const auto after = [&](double share) {
    return begin + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(share * SECONDS));
  };
  const int multiprocessors = current_device().multiprocessors;
  Measurement measurement(LARGEST_OPERAND);
  BoardModel board;
  board.margin = CALIBRATED_MARGIN;
  const std::array<std::vector<TimedCost>, METHODS> times =
      time_algorithms(measurement, multiprocessors, after(SHARE_OF_ALGORITHMS));
  for (std::size_t method = 0; method < METHODS; ++method) {
    board.methods[method] = fit_method(times[method], board.full_clock_cycles);
  }
  board.cublas_table.multiprocessors = multiprocessors;
  board.cublas = fit_cublas(time_cublas(measurement, board.cublas_table, after(1.0)));
  return board;
}

}  // namespace

std::string calibrate(const std::string& path) {
  const CalibrationKey key = current_key();
  const std::string file = path.empty() ? calibration_path(key) : path;
  if (file.empty()) {
    throw CalibrationError("there is no place for the file: SGEMM_CALIBRATION is 0, or HOME is not set");
  }
  require_writable(file);  // before a minute of measuring
  write_whole(file, text_of({key, now(), measured_board()}));
  return file;
}

}  // namespace sgemm
