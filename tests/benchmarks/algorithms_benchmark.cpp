// How fast each algorithm of the library is beside cuBLAS and beside its prediction, from which the choice is made.
//
//     algorithms_benchmark LIST FILE.csv
//
// LIST says which products and algorithms: all algorithms where products are `small` or have one short side; those of
// the reproducible class for `few_rows` of C; and what `packed` weights gain, where the way is the algorithm that the
// library takes without them (plain) and with them (chosen), and the fastest one that reads them (packed).
//
// An algorithm and cuBLAS take turns, with a cold L2. Exit status: 0 fine, 2 usage, 3 where a call fails.
//
// Weights are stored as layers of networks have them: op(B) is the transpose of what lies in memory.

#include "algorithms.hpp"
#include "board.hpp"
#include "calibration/measurement.hpp"
#include "choice.hpp"
#include "common/cuda_check.hpp"
#include "packed.hpp"
#include "predicted_time.hpp"

#include <cuda_runtime.h>

#include <fmt/format.h>
#include <fmt/os.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace sgemm {
namespace {

double median(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

/// An algorithm for a product, and what it stands for.
struct Way {
  std::string name;
  GemmBatch product;
  Algorithm algorithm;
};

class Benchmark {
 public:
  explicit Benchmark(const std::string& file) : csv_(fmt::output_file(file)) {
    CUDA_CHECK(cudaDeviceGetAttribute(&multiprocessors_, cudaDevAttrMultiProcessorCount, 0));
    csv_.print("way,layout,m,n,k,batch,kernel,configuration,us,predicted_us,cublas_us,cublas_at_least_us\n");
  }

  int multiprocessors() const { return multiprocessors_; }

  std::vector<Algorithm> algorithms(const GemmBatch& product, sgemm_accuracy_t accuracy) const {
    std::string without;
    return algorithms_for(product, accuracy, multiprocessors_, multiprocessors_, without);
  }

  /// Of so many rounds the medians. Nothing is measured that does not fit into the memory for operands.
  void measure(const std::vector<Way>& ways, int rounds) {
    const GemmBatch& product = ways.front().product;
    std::vector<double> cublas;
    std::vector<std::vector<double>> times(ways.size());
    for (int round = 0; round < rounds; ++round) {
      const std::optional<double> of_cublas = measurement_.of_cublas(product);
      if (!of_cublas) {
        return;
      }
      cublas.push_back(*of_cublas);
      for (std::size_t i = 0; i < ways.size(); ++i) {
        if (const std::optional<double> us = measurement_.of(ways[i].algorithm, ways[i].product)) {
          times[i].push_back(*us);
        }
      }
    }
    const GemmProblem& p = product.first;
    const int layout = CublasTable::layout(p.a_transposed, p.b_transposed, product.count);
    const double at_least = cublas_microseconds({p.m, p.n, p.k, multiprocessors_, layout}, product.count);
    for (std::size_t i = 0; i < ways.size(); ++i) {
      if (times[i].empty()) {
        continue;
      }
      const auto& [way, unused, algorithm] = ways[i];
      csv_.print("{},{}{},{},{},{},{},{},\"{}\",{:.3f},{:.3f},{:.3f},{:.3f}\n", way, p.a_transposed ? 'T' : 'N',
                 p.b_transposed ? 'T' : 'N', p.m, p.n, p.k, product.count, algorithm.kernel, algorithm.configuration,
                 median(times[i]), algorithm.microseconds(), median(cublas), at_least);
      auto& [sum, count] = logarithms_[way];
      sum += std::log(median(cublas) / median(times[i]));
      ++count;
    }
  }

  void print_means() const {
    for (const auto& [way, sum] : logarithms_) {
      fmt::print("{:28} {:5} times, geometric mean {:.2f} times cuBLAS\n", way, sum.second,
                 std::exp(sum.first / sum.second));
    }
  }

 private:
  int multiprocessors_ = 0;
  Measurement measurement_{std::size_t{1} << 26U};
  fmt::ostream csv_;
  std::map<std::string, std::pair<double, int>> logarithms_;  // of cuBLAS's time over that of a way, and how many
};

std::vector<GemmBatch> small_products() {
  std::vector<GemmBatch> all;
  for (const bool a : {false, true}) {
    for (const bool b : {false, true}) {
      for (std::int64_t size = 192; size <= 1152; size += 64) {
        all.push_back(contiguous(size, size, size, a, b));
      }
    }
  }
  for (const bool b : {false, true}) {
    for (const std::int64_t count : {64, 256, 1000}) {
      for (const std::int64_t size : {128, 192, 256, 300}) {
        all.push_back(contiguous(size, size, size, false, b, count));
      }
    }
    for (const std::int64_t k : {64, 128, 256}) {
      all.push_back(contiguous(4096, 4096, k, false, b));
      all.push_back(contiguous(8192, 1024, k, false, b));
      all.push_back(contiguous(1024, 512, k, false, b));
    }
  }
  for (const bool a : {false, true}) {
    for (const auto& [size, k] : {std::tuple{64, 65536}, {128, 65536}, {256, 65536}, {300, 200000}, {512, 16384}}) {
      all.push_back(contiguous(size, size, k, a, false));
    }
  }
  return all;
}

void measure_small(Benchmark& benchmark) {
  for (const GemmBatch& product : small_products()) {
    std::vector<Way> ways;
    for (const Algorithm& algorithm : benchmark.algorithms(product, SGEMM_ACCURACY_ROWWISE)) {
      ways.push_back({algorithm.kernel, product, algorithm});
    }
    benchmark.measure(ways, 1);
  }
}

void measure_few_rows(Benchmark& benchmark) {
  for (const auto& [k, n] : {std::pair{4096, 4096}, {14336, 4096}, {4096, 14336}}) {
    for (const std::int64_t m : {1, 2, 4, 8, 16, 32, 64, 128, 256}) {
      const GemmBatch product = contiguous(m, n, k, false, true);
      std::vector<Way> ways;
      for (const Algorithm& algorithm : benchmark.algorithms(product, SGEMM_ACCURACY_REPRODUCIBLE)) {
        ways.push_back({fmt::format("{} rows, {}", m, algorithm.configuration), product, algorithm});
      }
      benchmark.measure(ways, 7);
    }
  }
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

void measure_packed(Benchmark& benchmark) {
  constexpr std::int64_t LAST_OF_FEW = 128;  // up to here these are the "few tokens" of library_benchmark
  const auto fastest = [](const std::vector<Algorithm>& all) {
    return choose_fastest(all, ANY_WORKSPACE, "").algorithm.value();
  };
  for (const auto& [k, n] : {std::pair{4096, 4096}, {4096, 16384}, {8192, 8192}}) {
    Weight weight(n, k);
    for (const auto& [accuracy, name] : {std::pair{SGEMM_ACCURACY_COMPONENTWISE, "componentwise"},
                                         {SGEMM_ACCURACY_NORMWISE, "normwise"},
                                         {SGEMM_ACCURACY_ROWWISE, "rowwise"}}) {
      const PackedTiles tiles = weight.packed(method_of_packed(accuracy, k).value());
      for (const std::int64_t m : {8, 32, 64, 128, 256, 512, 4096}) {
        const GemmBatch plain = contiguous(m, n, k, false, true);
        GemmBatch packed = plain;
        packed.first.packed = tiles;
        const std::vector<Algorithm> all = benchmark.algorithms(packed, accuracy);
        std::vector<Algorithm> readers = all;
        std::erase_if(readers, [](const Algorithm& one) { return !one.reads_packed; });
        const std::string tokens = fmt::format("{} {} ", name, m <= LAST_OF_FEW ? "few" : "many");
        benchmark.measure({{tokens + "plain", plain, fastest(benchmark.algorithms(plain, accuracy))},
                           {tokens + "chosen", packed, fastest(all)},
                           {tokens + "packed", packed, fastest(readers)}},
                          3);
      }
    }
  }
}

}  // namespace
}  // namespace sgemm

int main(int argc, char** argv) {
  const std::map<std::string, void (*)(sgemm::Benchmark&)> lists{
      {"small", sgemm::measure_small}, {"few_rows", sgemm::measure_few_rows}, {"packed", sgemm::measure_packed}};
  const auto list = argc == 3 ? lists.find(argv[1]) : lists.end();
  if (list == lists.end()) {
    fmt::print(stderr, "usage: algorithms_benchmark small|few_rows|packed FILE.csv\n");
    return 2;
  }
  try {
    sgemm::Benchmark benchmark(argv[2]);
    list->second(benchmark);
    benchmark.print_means();
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 3;
  }
  return 0;
}
