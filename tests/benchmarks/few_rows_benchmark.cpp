// How fast the reproducible class is for a C of few rows: each of its kernels, and cuBLAS in FP32, in turns.
//
//     few_rows_benchmark [FILE.csv]      few_rows.csv without it
//
// Exit status: 0 fine, 2 usage, 3 where a call fails.
//
// Weights are stored as layers of networks have them: op(B) is the transpose of what lies in memory.

#include "algorithms.hpp"
#include "board.hpp"
#include "calibration/measurement.hpp"
#include "common/cuda_check.hpp"

#include <fmt/format.h>
#include <fmt/os.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sgemm {
namespace {

constexpr std::pair<std::int64_t, std::int64_t> LAYERS[] = {{4096, 4096}, {14336, 4096}, {4096, 14336}};  // k and n
constexpr std::int64_t ROWS[] = {1, 2, 4, 8, 16, 32, 64, 128, 256};
constexpr int ROUNDS = 7;  // of a few samples each

double median(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

void run(const std::string& file) {
  int multiprocessors = 0;
  CUDA_CHECK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0));
  Measurement measurement(std::size_t{1} << 26U);
  fmt::ostream csv = fmt::output_file(file);
  csv.print("m,n,k,kernel,configuration,predicted_us,us,cublas_us\n");
  for (const auto& [k, n] : LAYERS) {
    for (const std::int64_t m : ROWS) {
      const GemmBatch product = contiguous(m, n, k, false, true);
      std::vector<Algorithm> all = thin_reproducible_algorithms(product, multiprocessors);
      for (Algorithm& algorithm : reproducible_algorithms(product, multiprocessors)) {
        all.push_back(std::move(algorithm));
      }
      std::vector<double> cublas;
      std::vector<std::vector<double>> times(all.size());
      for (int round = 0; round < ROUNDS; ++round) {
        cublas.push_back(measurement.of_cublas(product).value());
        for (std::size_t i = 0; i < all.size(); ++i) {
          times[i].push_back(measurement.of(all[i], product).value());
        }
      }
      fmt::print("{:3} x {:5} x {:5}: cublas {:6.1f}", m, n, k, median(cublas));
      for (std::size_t i = 0; i < all.size(); ++i) {
        const double us = median(times[i]);
        fmt::print(" | {} {:6.1f} ({:.2f} times cublas)", all[i].configuration, us, median(cublas) / us);
        csv.print("{},{},{},{},\"{}\",{:.1f},{:.1f},{:.1f}\n", m, n, k, all[i].kernel, all[i].configuration,
                  all[i].microseconds(), us, median(cublas));
      }
      fmt::print(" us\n");
    }
  }
}

}  // namespace
}  // namespace sgemm

int main(int argc, char** argv) {
  if (argc > 2 || (argc == 2 && argv[1][0] == '-')) {
    fmt::print(stderr, "usage: few_rows_benchmark [FILE.csv]\n");
    return 2;
  }
  try {
    sgemm::run(argc > 1 ? argv[1] : "few_rows.csv");
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 3;
  }
  return 0;
}
