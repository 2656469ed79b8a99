// How fast each algorithm of the library is, and how fast it was predicted to be, where products are small or have one
// short side: squares, batches, panels and tall sums. The choice is made from these predictions.
//
//     algorithms_benchmark RESULTS.csv
//
// Exit status: 0 fine, 2 usage, 3 where a call fails.

#include "algorithms.hpp"
#include "board.hpp"
#include "calibration/measurement.hpp"
#include "common/cuda_check.hpp"
#include "predicted_time.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace sgemm {
namespace {

std::vector<GemmBatch> shapes() {
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

void measure(const char* path) {
  int multiprocessors = 0;
  CUDA_CHECK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0));
  Measurement measurement(std::size_t{1} << 26U);
  std::ofstream csv(path);
  csv << "layout,m,n,k,batch,kernel,configuration,us,predicted_us,cublas_us,cublas_at_least_us\n";
  for (const GemmBatch& shape : shapes()) {
    const GemmProblem& p = shape.first;
    const std::optional<double> of_cublas = measurement.of_cublas(shape);
    if (!of_cublas) {
      continue;  // it does not fit into the memory for operands
    }
    const int layout = CublasTable::layout(p.a_transposed, p.b_transposed, shape.count);
    const double at_least = cublas_microseconds({p.m, p.n, p.k, multiprocessors, layout}, shape.count);
    std::string without;
    for (const Algorithm& algorithm :
         algorithms_for(shape, SGEMM_ACCURACY_ROWWISE, multiprocessors, multiprocessors, without)) {
      if (const std::optional<double> us = measurement.of(algorithm, shape)) {
        csv << fmt::format("{}{},{},{},{},{},{},{},{:.3f},{:.3f},{:.3f},{:.3f}\n", p.a_transposed ? 'T' : 'N',
                           p.b_transposed ? 'T' : 'N', p.m, p.n, p.k, shape.count, algorithm.kernel,
                           algorithm.configuration, *us, algorithm.microseconds(), *of_cublas, at_least);
      }
    }
  }
}

}  // namespace
}  // namespace sgemm

int main(int argc, char** argv) {
  if (argc != 2 || argv[1][0] == '-') {
    fmt::print(stderr, "usage: algorithms_benchmark RESULTS.csv\n");
    return 2;
  }
  try {
    sgemm::measure(argv[1]);
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 3;
  }
  return 0;
}
