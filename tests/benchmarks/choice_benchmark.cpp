// How good the library's choices are: every algorithm and cuBLAS, measured at shapes that no constant was fitted to.
//
//     choice_benchmark [--seconds S] [--multiprocessors N] [--csv FILE]

#include "algorithms.hpp"
#include "calibration/measurement.hpp"
#include "common/cuda_check.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace sgemm {
namespace {

using Clock = std::chrono::steady_clock;

/// Shapes between 64 and 8192, a third of them with multiples of 128, a third of 4, and every fifth one a batch.
std::vector<GemmBatch> held_out(std::size_t count) {
  std::mt19937 random(32);
  std::uniform_real_distribution<double> exponent(6, 13);
  std::vector<GemmBatch> shapes;
  while (shapes.size() < count) {
    const std::size_t index = shapes.size();
    const double multiple = std::vector{128.0, 4.0, 1.0}[index % 3];
    const auto size = [&](double scale) {
      return static_cast<std::int64_t>(multiple * std::ceil(std::exp2(exponent(random)) * scale / multiple));
    };
    const bool is_batch = index % 5 == 4;
    const double scale = is_batch ? 0.25 : 1.0;
    const std::int64_t m = size(scale);
    const std::int64_t n = size(scale);
    const std::int64_t k = size(scale);
    const std::int64_t products = is_batch ? std::int64_t{1} << (1 + random() % 6) : 1;
    const unsigned layout = random() % 8;  // half of them as they are
    const double work = static_cast<double>(m * n) * static_cast<double>(k * products);
    if (work >= 0x1p24 && work <= 0x1p37) {
      shapes.push_back(contiguous(m, n, k, (layout & 5U) == 5U, (layout & 6U) == 6U, products));
    }
  }
  return shapes;
}

int all_multiprocessors() {
  int count = 0;
  CUDA_CHECK(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0));
  return count;
}

void run(const std::map<std::string, std::string>& options) {
  const auto option = [&](const char* name, double otherwise) {
    const auto found = options.find(name);
    return found == options.end() ? otherwise : std::stod(found->second);
  };
  const int all = all_multiprocessors();
  const int multiprocessors = static_cast<int>(option("--multiprocessors", all));
  const double seconds = option("--seconds", 60);
  std::FILE* const csv = options.count("--csv") != 0U ? std::fopen(options.at("--csv").c_str(), "w") : stdout;
  fmt::print(csv, "set,m,n,k,ta,tb,count,multiprocessors,way,kernel,configuration,launches,cycles,bytes,other,us\n");
  Measurement measurement(std::size_t{1} << 26U);
  measurement.set_multiprocessors(multiprocessors == all ? 0 : multiprocessors);
  const auto row = [&](const char* set, const GemmBatch& shape, int way, const std::string& name, const Cost& cost,
                       double us) {
    const GemmProblem& p = shape.first;
    fmt::print(csv, "{},{},{},{},{:d},{:d},{},{},{},{},{},{:.0f},{:.0f},{},{:.3f}\n", set, p.m, p.n, p.k,
               p.a_transposed, p.b_transposed, shape.count, multiprocessors, way, name, cost.launches, cost.cycles,
               cost.bytes, cost.other, us);
  };
  auto begin = Clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  const std::int64_t sizes[] = {32, 64, 128, 256, 512, 1024, 2048, 4096, 8192};
  for (int sum = 21; sum <= 39 && elapsed() < 0.4 * seconds; ++sum) {
    for (int i = 0; i < 9; ++i) {
      for (int j = 0; j < 9; ++j) {
        for (int layout = 0; layout < 4; ++layout) {
          const int l = sum - 15 - i - j;
          if (l >= 0 && l < 9) {
            const GemmBatch shape = contiguous(sizes[i], sizes[j], sizes[l], (layout & 1) != 0, (layout & 2) != 0);
            if (const auto us = measurement.of_cublas(shape)) {
              row("grid", shape, -1, "cublas,", {}, *us);
            }
          }
        }
      }
    }
  }
  fmt::print(stderr, "grid: {:.1f} s\n", elapsed());
  begin = Clock::now();
  int count = 0;
  for (const GemmBatch& shape : held_out(2000)) {
    if (elapsed() > 0.6 * seconds) {
      break;
    }
    ++count;
    std::string without;
    if (const auto us = measurement.of_cublas(shape)) {
      row("held out", shape, -1, "cublas,", {}, *us);
    }
    for (const Algorithm& algorithm : algorithms_for(shape, SGEMM_ACCURACY_ROWWISE, multiprocessors, all, without)) {
      if (const auto us = measurement.of(algorithm, shape)) {
        row("held out", shape, static_cast<int>(algorithm.cost.way), algorithm.kernel + "," + algorithm.configuration,
            algorithm.cost, *us);
      }
    }
  }
  fmt::print(stderr, "{} shapes: {:.1f} s\n", count, elapsed());
  std::fclose(csv);
}

}  // namespace
}  // namespace sgemm

int main(int argc, char** argv) {
  std::map<std::string, std::string> options;
  for (int i = 1; i + 1 < argc; i += 2) {
    options[argv[i]] = argv[i + 1];
  }
  try {
    sgemm::run(options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 3;
  }
  return 0;
}
