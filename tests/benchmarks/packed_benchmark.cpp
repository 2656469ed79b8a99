// What packed weights gain: the library with and without them, and cuBLAS in FP32, in turns and with a cold L2.
//
//     packed_benchmark [FILE.csv [TOKENS]]      packed.csv without it, products of at most so many tokens
//
// Exit status: 0 fine, 2 usage, 3 where a call fails.
//
// Weights are stored as layers of networks have them: op(B) is the transpose of what lies in memory. Of each product it
// measures the algorithm that the library would take without packed weights, the one that it would take with them, and
// the fastest prediction that reads them.

#include "algorithms.hpp"
#include "board.hpp"
#include "calibration/measurement.hpp"
#include "choice.hpp"
#include "common/cuda_check.hpp"
#include "packed.hpp"

#include <cuda_runtime.h>

#include <fmt/format.h>
#include <fmt/os.h>

#include <algorithm>
#include <climits>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace sgemm {
namespace {

constexpr std::pair<std::int64_t, std::int64_t> LAYERS[] = {{4096, 4096}, {4096, 16384}, {8192, 8192}};  // k and n
constexpr std::int64_t TOKENS[] = {8, 32, 64, 128, 256, 512, 4096};
constexpr std::int64_t LAST_OF_FEW = 128;  // up to here these are the "few tokens" of library_benchmark
constexpr std::pair<sgemm_accuracy_t, const char*> ACCURACIES[] = {{SGEMM_ACCURACY_COMPONENTWISE, "componentwise"},
                                                                   {SGEMM_ACCURACY_NORMWISE, "normwise"},
                                                                   {SGEMM_ACCURACY_ROWWISE, "rowwise"}};
constexpr int ROUNDS = 3;  // of a few samples each

double median(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

/// A weight with numbers of both signs, and its terms.
class Weight {
 public:
  Weight(std::int64_t n, std::int64_t k) {
    std::vector<float> numbers(static_cast<std::size_t>(n * k));
    std::minstd_rand random(1);
    for (float& number : numbers) {
      number = static_cast<float>(random()) * 0x1p-30F - 1.0F;
    }
    CUDA_CHECK(cudaMalloc(&x_, numbers.size() * sizeof(float)));
    CUDA_CHECK(cudaMemcpy(x_, numbers.data(), numbers.size() * sizeof(float), cudaMemcpyHostToDevice));
    rows_.m = n;
    rows_.n = 0;
    rows_.k = k;
    rows_.a = static_cast<const float*>(x_);
    rows_.lda = k;
  }
  ~Weight() {
    cudaFree(x_);
    cudaFree(terms_);
  }
  Weight(const Weight&) = delete;
  Weight& operator=(const Weight&) = delete;

  /// Its terms by a method, which replace those of the method before.
  PackedTiles packed(Method method) {
    const Packing how = packing(method, rows_);
    CUDA_CHECK(cudaFree(terms_));
    CUDA_CHECK(cudaMalloc(&terms_, how.bytes));
    how.enqueue(terms_, nullptr);
    CUDA_CHECK(cudaDeviceSynchronize());
    return {method, nullptr, terms_};
  }

 private:
  void* x_ = nullptr;
  void* terms_ = nullptr;
  GemmProblem rows_;
};

/// The algorithm that the library takes, were it faster than cuBLAS or not; among those that read packed terms, if
/// `packed`.
Algorithm fastest(const GemmBatch& product, sgemm_accuracy_t accuracy, int multiprocessors, bool packed) {
  std::string without;
  std::vector<Algorithm> all = algorithms_for(product, accuracy, multiprocessors, multiprocessors, without);
  if (packed) {
    all.erase(
        std::remove_if(all.begin(), all.end(),
                       [](const Algorithm& one) { return one.configuration.find("packed") == std::string::npos; }),
        all.end());
  }
  return choose_fastest(all, ANY_WORKSPACE, without).algorithm.value();
}

void run(const std::string& file, std::int64_t most_tokens) {
  int multiprocessors = 0;
  CUDA_CHECK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0));
  Measurement measurement(std::size_t{1} << 26U);
  fmt::ostream csv = fmt::output_file(file);
  csv.print("accuracy,m,n,k,way,kernel,configuration,predicted_us,us,cublas_us\n");
  std::map<std::string, std::pair<double, int>> logarithms;  // of cuBLAS's time over that of a way, and how many
  for (const auto& [k, n] : LAYERS) {
    Weight weight(n, k);
    for (const auto& [accuracy, name] : ACCURACIES) {
      const PackedTiles tiles = weight.packed(method_of_packed(accuracy, k).value());
      for (const std::int64_t m : TOKENS) {
        if (m > most_tokens) {
          break;
        }
        const GemmBatch plain = contiguous(m, n, k, false, true);
        GemmBatch packed = plain;
        packed.first.packed = tiles;
        const std::pair<const char*, Algorithm> ways[] = {{"plain", fastest(plain, accuracy, multiprocessors, false)},
                                                          {"chosen", fastest(packed, accuracy, multiprocessors, false)},
                                                          {"packed", fastest(packed, accuracy, multiprocessors, true)}};
        std::vector<double> cublas;
        std::map<std::string, std::vector<double>> times;
        for (int round = 0; round < ROUNDS; ++round) {
          cublas.push_back(measurement.of_cublas(plain).value());
          for (const auto& [way, algorithm] : ways) {
            times[way].push_back(measurement.of(algorithm, std::string(way) == "plain" ? plain : packed).value());
          }
        }
        fmt::print("{:13} {:4} x {:5} x {:5}: cublas {:6.1f}", name, m, n, k, median(cublas));
        for (const auto& [way, algorithm] : ways) {
          const double us = median(times[way]);
          fmt::print(" | {} {:6.1f} ({:.2f}) {} {}", way, us, median(cublas) / us, algorithm.kernel,
                     algorithm.configuration);
          csv.print("{},{},{},{},{},{},\"{}\",{:.1f},{:.1f},{:.1f}\n", name, m, n, k, way, algorithm.kernel,
                    algorithm.configuration, algorithm.microseconds(), us, median(cublas));
          auto& [sum, count] = logarithms[fmt::format("{} {} {}", name, m <= LAST_OF_FEW ? "few" : "many", way)];
          sum += std::log(median(cublas) / us);
          ++count;
        }
        fmt::print(" us\n");
      }
    }
  }
  for (const auto& [what, sum] : logarithms) {
    fmt::print("geometric mean, times cuBLAS: {:30} {:.2f}\n", what, std::exp(sum.first / sum.second));
  }
}

}  // namespace
}  // namespace sgemm

int main(int argc, char** argv) {
  const long most_tokens = argc > 2 ? std::strtol(argv[2], nullptr, 10) : LONG_MAX;
  if (argc > 3 || (argc > 1 && argv[1][0] == '-') || most_tokens <= 0) {
    fmt::print(stderr, "usage: packed_benchmark [FILE.csv [TOKENS]]\n");
    return 2;
  }
  try {
    sgemm::run(argc > 1 ? argv[1] : "packed.csv", most_tokens);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 3;
  }
  return 0;
}
