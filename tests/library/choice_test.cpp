// The choice between the library's kernels and cuBLAS, against times that were measured on an H200.

#include "choice.hpp"
#include "algorithms.hpp"
#include "context.hpp"
#include "predicted_time.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace sgemm::test {
namespace {

/// Medians in microseconds from results/nvidia-h200/shapes.json and shapes_tensor.json; 0 where nothing was measured.
struct Measured {
  std::int64_t m, n, k;
  double cublas, every_shape, bf16x6, fp16x3;
};
constexpr Measured MEASURED[] = {
    {256, 256, 256, 10.0, 5.4, 16.7, 12.7},
    {512, 512, 512, 15.9, 11.9, 17.7, 16.9},
    {768, 768, 768, 35.7, 32.6, 23.3, 19.3},
    {1024, 1024, 1024, 63.4, 51.6, 32.0, 23.9},
    {1500, 1500, 1500, 185.8, 150.3, 85.5, 60.3},
    {2048, 2048, 2048, 343.4, 330.4, 155.9, 95.7},
    {3001, 3001, 3001, 1246.1, 1110.1, 499.8, 305.3},
    {4096, 4096, 4096, 2675.2, 2533.6, 1082.5, 614.3},
    {8192, 8192, 8192, 21447.1, 20277.5, 8450.4, 4656.7},
    {8192, 8192, 512, 1414.9, 1315.7, 585.7, 371.9},
    {4096, 128, 4096, 101.3, 96.6, 90.9, 67.0},
    {128, 4096, 4096, 97.0, 95.1, 91.9, 68.2},
    {1024, 1024, 16384, 665.7, 647.9, 384.5, 253.1},
    {16384, 16384, 64, 1009.1, 891.0, 557.2, 504.2},
    {4095, 4097, 4099, 2909.3, 2689.1, 1177.9, 703.2},
};
constexpr int H200 = 132;

GemmProblem problem(const Measured& shape) {
  GemmProblem p;
  p.m = shape.m;
  p.n = shape.n;
  p.k = shape.k;
  p.lda = shape.k;
  p.ldb = p.ldc = shape.n;
  return p;
}

double fastest(const std::vector<Algorithm>& algorithms) {
  return std::min_element(algorithms.begin(), algorithms.end(),
                          [](const Algorithm& x, const Algorithm& y) { return x.microseconds() < y.microseconds(); })
      ->microseconds();
}

TEST(PredictedTimeTest, CublasTakesAtLeastWhatIsPredicted) {
  for (const Measured& shape : MEASURED) {
    EXPECT_LE(cublas_microseconds({shape.m, shape.n, shape.k, H200}, 1), shape.cublas) << shape.m << ' ' << shape.k;
  }
}

/// A row of results/nvidia-h200/library_shapes.csv. Times are in microseconds.
struct LibraryCase {
  std::string name;  ///< the product with its layout and batch
  GemmBatch batch;
  std::string accuracy;
  std::string kernel;
  std::string configuration;
  double library = 0.0;
  double cublas = 0.0;

  sgemm_accuracy_t wanted() const {
    return accuracy == "fp32"            ? SGEMM_ACCURACY_FP32
           : accuracy == "componentwise" ? SGEMM_ACCURACY_COMPONENTWISE
           : accuracy == "normwise"      ? SGEMM_ACCURACY_NORMWISE
                                         : SGEMM_ACCURACY_ROWWISE;
  }
  /// The algorithms that the library weighs on an H200, with all its multiprocessors.
  std::vector<Algorithm> algorithms() const {
    std::string without;
    return algorithms_for(batch, wanted(), H200, H200, without);
  }
  /// What that predicts for the configuration that was measured; nothing where it is none of them any more.
  std::optional<double> predicted() const {
    for (const Algorithm& algorithm : algorithms()) {
      if (algorithm.kernel == kernel && algorithm.configuration == configuration) {
        return algorithm.microseconds();
      }
    }
    return std::nullopt;
  }
  /// Whether one of them is chosen.
  bool is_chosen() const {
    return choose_for(batch, wanted(), algorithms(), H200, ANY_WORKSPACE, "").algorithm.has_value();
  }
};

std::vector<LibraryCase> library_cases() {
  std::ifstream file(SGEMM_SOURCE_DIR "/results/nvidia-h200/library_shapes.csv");
  std::vector<LibraryCase> cases;
  std::string line;
  std::getline(file, line);  // the head
  while (std::getline(file, line)) {
    std::istringstream text(line);
    std::vector<std::string> cells;
    for (std::string cell; std::getline(text, cell, ',');) {
      cells.push_back(cell);
    }
    LibraryCase one;
    one.name = line.substr(0, line.find("," + cells.at(6) + ","));
    GemmProblem& p = one.batch.first;
    p = problem({std::stoll(cells[2]), std::stoll(cells[3]), std::stoll(cells[4]), 0, 0, 0, 0});
    p.a_transposed = cells[1][0] == 'T';
    p.b_transposed = cells[1][1] == 'T';
    p.lda = p.a_transposed ? p.m : p.k;
    p.ldb = p.b_transposed ? p.k : p.n;
    one.batch.count = std::stoll(cells[5]);
    one.accuracy = cells[6];
    one.kernel = cells[7];
    one.configuration = cells[8];
    one.library = std::stod(cells[9]);
    one.cublas = std::stod(cells[11]);
    cases.push_back(one);
  }
  return cases;
}

/// Without those for which the GPU's clock was low: after products that heat it, cuBLAS took a tenth longer than for
/// another accuracy.
std::vector<LibraryCase> cases_at_usual_clocks() {
  std::vector<LibraryCase> cases = library_cases();
  std::map<std::string, double> shortest;
  for (const LibraryCase& one : cases) {
    double& time = shortest.emplace(one.name, one.cublas).first->second;
    time = std::min(time, one.cublas);
  }
  cases.erase(std::remove_if(cases.begin(), cases.end(),
                             [&](const LibraryCase& one) { return one.cublas > 1.1 * shortest[one.name]; }),
              cases.end());
  return cases;
}

/// The fastest of the four layouts, from the first run of the library (docs/lab/libsgemm.md).
struct MeasuredCublas {
  std::int64_t m, n, k;
  double microseconds;
};
constexpr MeasuredCublas FASTEST_LAYOUTS[] = {
    {256, 256, 256, 10.0},        {512, 512, 512, 16.4},      {768, 768, 768, 34.1},       {1024, 1024, 1024, 56.7},
    {2048, 2048, 2048, 333.1},    {4096, 4096, 4096, 2657.7}, {8192, 8192, 8192, 21723.6}, {8192, 4096, 1024, 1354.4},
    {8192, 1024, 4096, 1340.8},   {1024, 4096, 8192, 1314.6}, {4096, 1024, 8192, 1314.1},  {8192, 3072, 1024, 1001.4},
    {32000, 1024, 8192, 10331.8}, {4095, 4097, 4099, 2626.3}, {64, 8192, 8192, 197.3},     {8192, 64, 8192, 194.1},
    {300, 5000, 700, 60.1},       {16384, 64, 64, 10.0},
};

TEST(PredictedTimeTest, ThatHoldsForTheFastestLayout) {
  for (const MeasuredCublas& shape : FASTEST_LAYOUTS) {
    const double least = cublas_microseconds({shape.m, shape.n, shape.k, H200, CublasTable::layout(true, false, 1)}, 1);
    EXPECT_LE(least, shape.microseconds) << shape.m << ' ' << shape.n << ' ' << shape.k;
    EXPECT_GE(least, 0.76 * shape.microseconds) << shape.m << ' ' << shape.n << ' ' << shape.k;
  }
}

TEST(PredictedTimeTest, BatchesFillTheMultiprocessorsTogether) {
  const double one = cublas_microseconds({256, 256, 256, H200}, 1);
  EXPECT_LT(cublas_microseconds({256, 256, 256, H200}, 100), 50 * one);
  EXPECT_GT(cublas_microseconds({256, 256, 256, H200}, 100), 6.5 + 100 * 0.6);  // at 55 TFLOP/s
}

/// The runner calls a kernel again and again, so that one of 5 us takes a microsecond less than among others.
TEST(PredictedTimeTest, Chapter09TakesAboutWhatIsPredicted) {
  for (const Measured& shape : MEASURED) {
    if (shape.every_shape < 10) {
      continue;
    }
    SCOPED_TRACE(std::to_string(shape.m) + "x" + std::to_string(shape.n) + "x" + std::to_string(shape.k));
    const GemmProblem p = problem(shape);
    EXPECT_NEAR(fastest(every_shape_algorithms({p})) / shape.every_shape, 1.0, 0.12);
  }
}

/// Long sums that are divided among blocks take longer than predicted. Squares of 1024 take less, and so do short sums,
/// most of whose time is their stores.
TEST(PredictedTimeTest, LibraryTakesAboutWhatIsPredicted) {
  std::map<std::string, std::pair<double, int>> logarithms;
  for (const LibraryCase& one : cases_at_usual_clocks()) {
    const std::optional<double> predicted = one.predicted();
    if (one.kernel.empty() || !predicted) {
      continue;
    }
    const double ratio = *predicted / one.library;
    EXPECT_GT(ratio, 0.75) << one.name << ' ' << one.kernel << ' ' << one.configuration;
    EXPECT_LT(ratio, one.batch.first.k < 128 ? 1.40 : 1.33)
        << one.name << ' ' << one.kernel << ' ' << one.configuration;
    logarithms[one.kernel].first += std::log(ratio);
    ++logarithms[one.kernel].second;
  }
  ASSERT_EQ(logarithms.size(), 4);
  for (const auto& [kernel, sum] : logarithms) {
    EXPECT_GT(sum.second, kernel == "13_int8x6" ? 80 : 110) << kernel;
    EXPECT_NEAR(std::exp(sum.first / sum.second), 1.0, 0.03) << kernel;
  }
}

/// Medians in microseconds of the chapters themselves, on one H200 (results/nvidia-h200/shapes_tensor.json).
struct MeasuredInt8x6 {
  std::int64_t m, n, k;
  double int8x6, fp16x3;
};
constexpr MeasuredInt8x6 INT8X6[] = {{8192, 8192, 8192, 3987, 4405}, {16384, 16384, 16384, 30250, 33906}};

TEST(PredictedTimeTest, Chapter13IsAsMuchFasterThan12AsWasMeasured) {
  for (const MeasuredInt8x6& shape : INT8X6) {
    const GemmProblem p = problem({shape.m, shape.n, shape.k, 0, 0, 0, 0});
    EXPECT_NEAR(fastest(int8x6_algorithms({p}, H200)) / shape.int8x6, 1.0, 0.05) << shape.m;
    EXPECT_NEAR(fastest(int8x6_algorithms({p}, H200)) / fastest(fp16x3_algorithms({p}, H200)),
                shape.int8x6 / shape.fp16x3, 0.01)
        << shape.m;
  }
}

/// Whatever is chosen of what was measured is at most 3 % slower than cuBLAS.
TEST(ChoiceTest, IsNeverSlowerThanCublasOnMeasuredShapes) {
  int ours = 0;
  for (const Measured& shape : MEASURED) {
    SCOPED_TRACE(std::to_string(shape.m) + "x" + std::to_string(shape.n) + "x" + std::to_string(shape.k));
    const GemmProblem p = problem(shape);
    const PredictedShape predicted{shape.m, shape.n, shape.k, H200};
    const double cublas = cublas_microseconds(predicted, 1);
    const auto check = [&](const std::vector<Algorithm>& algorithms, double measured, double cublas_us) {
      if (choose(algorithms, cublas_us, ANY_WORKSPACE, "").algorithm) {
        ++ours;
        EXPECT_LE(measured, 1.03 * shape.cublas);
      }
    };
    check(every_shape_algorithms({p}), shape.every_shape,
          cublas_microseconds_beside_every_shape(board_model(), predicted, 1));
    check(bf16x6_algorithms({p}, H200), shape.bf16x6, cublas);
    check(fp16x3_algorithms({p}, H200), shape.fp16x3, cublas);
  }
  EXPECT_GE(ours, 32);  // of 45
}

/// What was much faster than cuBLAS goes on not to be cuBLAS's.
TEST(ChoiceTest, KeepsWhatTheLibraryGains) {
  int ours = 0;
  for (const LibraryCase& one : cases_at_usual_clocks()) {
    if (one.cublas > 1.15 * one.library) {
      EXPECT_TRUE(one.is_chosen()) << one.name << ' ' << one.accuracy;
      ++ours;
    }
  }
  EXPECT_GT(ours, 230);
}

/// Batches on an H200 (docs/lab/libsgemm.md), in microseconds: by cublasSgemmStridedBatched, and by chapters 11 and 12
/// with all products in one launch.
struct MeasuredBatch {
  std::int64_t count, m, n, k;
  bool a_transposed, b_transposed;
  double cublas, bf16x6, fp16x3;
};
constexpr MeasuredBatch BATCHES[] = {
    {192, 512, 512, 64, false, true, 214.3, 166.0, 145.7},
    {64, 2048, 2048, 64, false, true, 1013.0, 641.4, 582.6},
    {16, 2048, 2048, 128, false, true, 450.1, 239.1, 196.8},
    {192, 512, 64, 512, false, false, 167.1, 276.0, 205.9},
    {16, 2048, 128, 2048, false, false, 340.2, 319.2, 229.1},
    {8, 1024, 1024, 4096, true, false, 1429.0, 681.1, 417.4},
    {4, 4096, 4096, 1024, false, false, 2902.3, 1150.1, 693.0},
    {1000, 256, 256, 256, false, false, 757.2, 695.2, 516.3},
    {64, 512, 512, 512, false, false, 354.6, 240.0, 167.2},
    {4, 1024, 1024, 1024, false, false, 177.0, 97.8, 67.9},
    {128, 100, 500, 400, false, false, 143.1, 176.6, 136.3},
    {2, 1500, 1500, 1500, false, false, 341.2, 148.5, 98.4},
};

/// What was measured, without operands.
template <class Measured>
GemmBatch batch_of(const Measured& measured) {
  GemmBatch batch{problem({measured.m, measured.n, measured.k, 0, 0, 0, 0})};
  batch.first.a_transposed = measured.a_transposed;
  batch.first.b_transposed = measured.b_transposed;
  batch.count = measured.count;
  return batch;
}

TEST(ChoiceTest, BatchesGoToTheFaster) {
  int ours = 0;
  for (const MeasuredBatch& measured : BATCHES) {
    SCOPED_TRACE(std::to_string(measured.count) + "x" + std::to_string(measured.m) + "x" + std::to_string(measured.k));
    const GemmBatch batch = batch_of(measured);
    const double cublas = cublas_microseconds({measured.m, measured.n, measured.k, H200}, batch.count);
    EXPECT_LE(cublas, measured.cublas);
    const auto check = [&](const std::vector<Algorithm>& stacked, const std::vector<Algorithm>& loops, double time) {
      EXPECT_NEAR(fastest(stacked) / time, 1.0, 0.2);
      EXPECT_LT(fastest(stacked), fastest(loops));
      if (choose(stacked, cublas, ANY_WORKSPACE, "").algorithm) {
        ++ours;
        EXPECT_LE(time, 1.03 * measured.cublas);
      }
    };
    check(stacked_bf16x6_algorithms(batch, H200), bf16x6_algorithms(batch, H200), measured.bf16x6);
    check(stacked_fp16x3_algorithms(batch, H200), fp16x3_algorithms(batch, H200), measured.fp16x3);
  }
  EXPECT_EQ(ours, 18);  // of 24, of which 4 more are faster than cuBLAS
}

/// Products with few rows or columns of C on an H200 (docs/lab/libsgemm.md), in microseconds: by cuBLAS, by chapter 12,
/// and by chapter 11 with A split where it is multiplied.
struct MeasuredThin {
  std::int64_t count, m, n, k;
  bool a_transposed, b_transposed;
  double cublas, fp16x3, tall;
};
constexpr MeasuredThin THIN[] = {
    {1, 8192, 32, 8192, false, false, 144.6, 216.2, 97.7},    {1, 32, 8192, 8192, false, false, 189.5, 219.3, 103.6},
    {1, 8192, 64, 8192, false, false, 202.3, 216.8, 117.2},   {1, 8192, 64, 8192, true, false, 202.3, 218.8, 120.8},
    {1, 64, 8192, 8192, false, false, 190.3, 222.3, 121.0},   {1, 8192, 128, 8192, false, false, 341.0, 220.7, 158.6},
    {1, 128, 8192, 8192, false, true, 353.0, 221.4, 165.5},   {1, 8192, 128, 8192, true, true, 339.9, 223.1, 165.8},
    {1, 4096, 64, 4096, false, false, 64.3, 66.6, 40.2},      {1, 64, 4096, 4096, false, true, 70.1, 67.6, 41.3},
    {1, 4096, 128, 4096, false, false, 99.9, 67.0, 51.5},     {1, 128, 4096, 4096, false, false, 96.4, 69.1, 53.0},
    {1, 128, 16384, 4096, false, true, 347.9, 211.5, 158.6},  {1, 128, 4096, 16384, false, true, 353.5, 231.0, 168.4},
    {1, 64, 50257, 2048, false, true, 392.5, 324.2, 165.5},   {1, 2048, 64, 2048, false, false, 27.6, 32.4, 25.2},
    {1, 2048, 128, 2048, false, false, 36.2, 33.1, 31.6},     {1, 1024, 128, 1024, false, false, 18.5, 23.2, 24.2},
    {1, 65536, 64, 64, false, false, 25.9, 30.2, 25.5},       {1, 65536, 128, 128, false, false, 63.0, 46.9, 41.8},
    {1, 65536, 64, 1024, false, false, 196.7, 216.9, 114.8},  {1, 64, 64, 65536, true, false, 30.3, 91.7, 82.7},
    {1, 128, 128, 65536, true, false, 60.4, 97.2, 111.9},     {64, 2048, 64, 2048, false, false, 824.4, 872.8, 438.0},
    {64, 2048, 64, 2048, true, false, 759.0, 910.0, 454.0},   {192, 512, 64, 512, false, false, 166.5, 203.6, 132.9},
    {192, 512, 64, 512, true, false, 149.4, 207.6, 135.1},    {32, 1024, 128, 1024, false, false, 179.0, 129.7, 101.3},
    {16, 2048, 128, 2048, false, false, 340.8, 228.5, 172.9}, {96, 64, 1024, 1024, false, false, 282.1, 357.0, 197.6},
    {64, 128, 1024, 1024, false, true, 356.5, 247.2, 206.1},
};

TEST(ChoiceTest, ThinProductsGoToTheFaster) {
  int ours = 0;
  for (const MeasuredThin& measured : THIN) {
    SCOPED_TRACE(std::to_string(measured.count) + "x" + std::to_string(measured.m) + "x" + std::to_string(measured.n) +
                 "x" + std::to_string(measured.k));
    const GemmBatch batch = batch_of(measured);
    const double cublas = cublas_microseconds({measured.m, measured.n, measured.k, H200}, batch.count);
    EXPECT_LE(cublas, measured.cublas);
    const std::vector<Algorithm> tall = tall_bf16x6_algorithms(batch, H200);
    EXPECT_NEAR(fastest(tall) / measured.tall, 1.0, 0.22);
    if (choose(tall, cublas, ANY_WORKSPACE, "").algorithm) {
      ++ours;
      EXPECT_LE(measured.tall, 1.03 * measured.cublas);
    }
    if (choose(fp16x3_algorithms(batch, H200), cublas, ANY_WORKSPACE, "").algorithm) {
      EXPECT_LE(measured.fp16x3, 1.03 * measured.cublas);
    }
  }
  EXPECT_EQ(ours, 26);  // of 31, of which 2 more are faster than cuBLAS
}

/// Few rows or columns were measured down to 8. The product of a matrix and a vector is cuBLAS's.
TEST(ChoiceTest, ProductsWithVectorsAreCublas) {
  for (const auto& [m, n] : {std::pair{1, 8192}, {8192, 1}, {4, 4096}}) {
    const Measured shape{m, n, 8192, 0, 0, 0, 0};
    const double cublas = cublas_microseconds({m, n, 8192, H200}, 1);
    EXPECT_LE(cublas, 97);
    EXPECT_FALSE(choose(tall_bf16x6_algorithms({problem(shape)}, H200), cublas, ANY_WORKSPACE, "").algorithm)
        << m << ' ' << n;
    EXPECT_FALSE(choose(fp16x3_algorithms({problem(shape)}, H200), cublas, ANY_WORKSPACE, "").algorithm)
        << m << ' ' << n;
  }
  EXPECT_LE(cublas_microseconds({8, 8192, 8192, H200}, 1), 147.8);
  EXPECT_LE(cublas_microseconds({16, 4096, 4096, H200}, 1), 57.6);
}

/// 16384 x 64 x 64 was measured: cuBLAS takes 10 us, chapter 12 takes 18 us or more.
TEST(ChoiceTest, CublasGetsShortSumsOfFewTiles) {
  const Measured shape{16384, 64, 64, 0, 0, 0, 0};
  const double cublas = cublas_microseconds({16384, 64, 64, H200}, 1);
  EXPECT_LE(cublas, 10.0);
  EXPECT_FALSE(choose(fp16x3_algorithms({problem(shape)}, H200), cublas, ANY_WORKSPACE, "").algorithm);
}

Algorithm algorithm(const std::string& name, double microseconds, std::size_t bytes) {
  Algorithm algorithm;
  algorithm.kernel = name;
  algorithm.cost = {Method::every_shape, 0, 0, 0, microseconds};
  algorithm.workspace_bytes = bytes;
  return algorithm;
}

TEST(ChoiceTest, TakesTheFastestThatFits) {
  std::vector<Algorithm> algorithms{algorithm("slow", 50, 0), algorithm("fast", 20, 1000), algorithm("other", 30, 100)};
  algorithms[1].launches = 5;
  EXPECT_EQ(choose(algorithms, 100, ANY_WORKSPACE, "").algorithm->kernel, "fast");
  EXPECT_EQ(choose(algorithms, 100, 1000, "").algorithm->kernel, "fast");
  EXPECT_EQ(choose(algorithms, 100, 999, "").algorithm->kernel, "other");
  EXPECT_EQ(choose(algorithms, 100, 99, "").algorithm->kernel, "slow");
  EXPECT_FALSE(choose(algorithms, 20, ANY_WORKSPACE, "").algorithm);
  EXPECT_EQ(choose(algorithms, 101, ANY_WORKSPACE, "").reason,
            "predicted 20 us by 5 launches of fast, at least 101 us by cuBLAS");
  EXPECT_EQ(choose({}, 5, ANY_WORKSPACE, "because").reason, "because");
  algorithms.pop_back();
  algorithms.erase(algorithms.begin());
  EXPECT_EQ(choose(algorithms, 100, 999, "").reason, "the workspace is too small for the library's own kernels");
}

TEST(ChoiceTest, WhatFillsGapsComesAfterAllOthers) {
  std::vector<Algorithm> algorithms{algorithm("filler", 20, 100), algorithm("other", 30, 0)};
  algorithms.front().fills_gap = true;
  EXPECT_EQ(choose(algorithms, 31, ANY_WORKSPACE, "").algorithm->kernel, "other");
  EXPECT_EQ(choose(algorithms, 30, ANY_WORKSPACE, "").algorithm->kernel, "filler");
  EXPECT_EQ(choose(algorithms, 30, ANY_WORKSPACE, "").reason, "predicted 20 us by filler, at least 30 us by cuBLAS");
  EXPECT_FALSE(choose(algorithms, 30, 99, "").algorithm);
  EXPECT_FALSE(choose(algorithms, 20, ANY_WORKSPACE, "").algorithm);
  algorithms.pop_back();
  EXPECT_EQ(choose(algorithms, 21, ANY_WORKSPACE, "").algorithm->kernel, "filler");
}

}  // namespace
}  // namespace sgemm::test
