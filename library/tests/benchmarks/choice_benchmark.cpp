// How good the library's choices are: it calibrates the GPU, and measures every algorithm and cuBLAS at shapes that no
// constant was fitted to.
//
//     choice_benchmark [--calibration-seconds S] [--seconds S] [--seed N] [--multiprocessors N] [--partition N]
//                      [--csv FILE] [--out CALIBRATION]
//
// For each model of the board it prints how fast the choices are, relative to the best of all for each accuracy: with
// the constants that were just measured, with those that are built in, and with those for an unknown board. Everything
// is measured twice. The first times tell which one is the best, and the second ones how fast it is: the least of
// twenty medians is less than its own time by chance. With --partition the GPU is one of so many multiprocessors, a
// green context, which stands in for a smaller one. The built-in constants were fitted to --seed 7. Exit status: 0
// fine, 1 where choices by the measured constants are below 0.98 in the geometric mean or in the median, 3 where a call
// fails.

#include "algorithms.hpp"
#include "board.hpp"
#include "calibration/calibrate.hpp"
#include "calibration/measurement.hpp"
#include "choice.hpp"
#include "common/cuda_check.hpp"

#include <cuda.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iterator>
#include <map>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace sgemm {
namespace {

/// Shapes between 64 and 8192, a third of them with multiples of 128, a third of 4, and every fifth one a batch.
std::vector<GemmBatch> held_out(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
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
    const double cost = static_cast<double>(m * n) * static_cast<double>(k * products);
    if (cost >= 0x1p24 && cost <= 0x1p37) {
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

template <class Function>
Function driver_function(const char* name) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  CUDA_CHECK(cudaGetDriverEntryPointByVersion(name, &function, CUDA_VERSION, cudaEnableDefault, &found));
  if (found != cudaDriverEntryPointSuccess) {
    throw std::runtime_error(fmt::format("the driver has no {}", name));
  }
  return reinterpret_cast<Function>(function);
}

void require(CUresult result, const char* call) {
  if (result != CUDA_SUCCESS) {
    throw std::runtime_error(fmt::format("{}: error {}", call, static_cast<int>(result)));
  }
}

/// Confines this thread to at least `multiprocessors` of the device, until the process ends. Returns how many they are.
int partition(int multiprocessors) {
  CUDA_CHECK(cudaFree(nullptr));  // CUDA starts
  CUdevResource all{};
  CUdevResource part{};
  unsigned groups = 1;
  CUdevResourceDesc description{};
  CUgreenCtx green{};
  CUcontext context{};
#define SGEMM_CALL(function, ...) require(driver_function<decltype(&function)>(#function)(__VA_ARGS__), #function)
  SGEMM_CALL(cuDeviceGetDevResource, 0, &all, CU_DEV_RESOURCE_TYPE_SM);
  SGEMM_CALL(cuDevSmResourceSplitByCount, &part, &groups, &all, nullptr, 0, static_cast<unsigned>(multiprocessors));
  SGEMM_CALL(cuDevResourceGenerateDesc, &description, &part, 1);
  SGEMM_CALL(cuGreenCtxCreate, &green, description, 0, CU_GREEN_CTX_DEFAULT_STREAM);
  SGEMM_CALL(cuCtxFromGreenCtx, &context, green);
  SGEMM_CALL(cuCtxSetCurrent, context);
#undef SGEMM_CALL
  return static_cast<int>(part.sm.smCount);
}

/// Two times in microseconds. The first one tells what is fast, and the second one how fast it is.
struct Times {
  double first;
  double second;
};

struct Timed {
  Algorithm algorithm;
  Times us;
};

/// A shape, and what was measured there.
struct Case {
  GemmBatch shape;
  Times cublas_us;
  std::map<sgemm_accuracy_t, std::vector<Timed>> algorithms;
};

/// All of them, by accuracy. Each algorithm is measured once.
std::vector<Case> measure(int multiprocessors, int all, double seconds, unsigned seed) {
  Measurement measurement(std::size_t{1} << 26U);
  measurement.set_multiprocessors(multiprocessors == all ? 0 : multiprocessors);
  const auto begin = std::chrono::steady_clock::now();
  std::vector<Case> cases;
  for (const GemmBatch& shape : held_out(5000, seed)) {
    if (std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() > seconds) {
      break;
    }
    const std::optional<double> of_cublas = measurement.of_cublas(shape);
    if (!of_cublas) {
      continue;
    }
    Case one{shape, {*of_cublas, *of_cublas}, {}};
    std::map<std::string, std::optional<Times>> times;
    for (const sgemm_accuracy_t accuracy :
         {SGEMM_ACCURACY_ROWWISE, SGEMM_ACCURACY_NORMWISE, SGEMM_ACCURACY_COMPONENTWISE, SGEMM_ACCURACY_FP32}) {
      std::string without;
      for (Algorithm& algorithm : algorithms_for(shape, accuracy, multiprocessors, all, without)) {
        const auto [time, is_new] = times.try_emplace(algorithm.kernel + " " + algorithm.configuration);
        if (is_new) {
          if (const std::optional<double> us = measurement.of(algorithm, shape)) {
            time->second = Times{*us, measurement.of(algorithm, shape).value()};
          }
        }
        if (time->second) {
          one.algorithms[accuracy].push_back({std::move(algorithm), *time->second});
        }
      }
    }
    one.cublas_us.second = measurement.of_cublas(shape).value();
    cases.push_back(std::move(one));
  }
  return cases;
}

/// What a model of the board would have chosen.
struct Chosen {
  double us;
  double best_us;
  double cublas_us;
};

Chosen choose_by(const BoardModel& board, const Case& one, sgemm_accuracy_t accuracy, int multiprocessors) {
  const auto found = one.algorithms.find(accuracy);
  const std::vector<Timed> timed = found == one.algorithms.end() ? std::vector<Timed>() : found->second;
  std::vector<Algorithm> algorithms;
  std::transform(timed.begin(), timed.end(), std::back_inserter(algorithms),
                 [](const Timed& each) { return each.algorithm; });
  const Choice choice =
      choose_for(one.shape, accuracy, std::move(algorithms), multiprocessors, ANY_WORKSPACE, "", board);
  Times chosen = one.cublas_us;
  Times best = one.cublas_us;
  for (const auto& [algorithm, us] : timed) {
    best = us.first < best.first ? us : best;
    if (choice.algorithm && algorithm.kernel == choice.algorithm->kernel &&
        algorithm.configuration == choice.algorithm->configuration) {
      chosen = us;
    }
  }
  return {chosen.second, best.second, one.cublas_us.second};
}

/// Prints how good the choices by a model are, and returns whether they are good enough.
bool report(const char* name, const BoardModel& board, const std::vector<Case>& cases, int multiprocessors) {
  double all = 0.0;
  std::size_t count = 0;
  std::vector<double> qualities;
  for (const auto& [accuracy, label] : {std::pair{SGEMM_ACCURACY_FP32, "fp32"},
                                        {SGEMM_ACCURACY_COMPONENTWISE, "componentwise"},
                                        {SGEMM_ACCURACY_NORMWISE, "normwise"},
                                        {SGEMM_ACCURACY_ROWWISE, "rowwise"}}) {
    std::vector<double> of_accuracy;
    double logarithms = 0.0;
    double gain = 0.0;
    int slower = 0;
    for (const Case& one : cases) {
      const Chosen chosen = choose_by(board, one, accuracy, multiprocessors);
      of_accuracy.push_back(chosen.best_us / chosen.us);
      logarithms += std::log(of_accuracy.back());
      gain += std::log(chosen.cublas_us / chosen.us);
      slower += chosen.us > 1.03 * chosen.cublas_us ? 1 : 0;
    }
    all += logarithms;
    count += of_accuracy.size();
    std::sort(of_accuracy.begin(), of_accuracy.end());
    const auto size = static_cast<double>(of_accuracy.size());
    fmt::print(
        "{:10} {:14} of the best: mean {:.4f}, median {:.3f}, 5 % below {:.3f}; {:.2f} times cuBLAS, {} of {} "
        "more than 3 % slower\n",
        name, label, std::exp(logarithms / size), of_accuracy[of_accuracy.size() / 2],
        of_accuracy[of_accuracy.size() / 20], std::exp(gain / size), slower, of_accuracy.size());
    qualities.insert(qualities.end(), of_accuracy.begin(), of_accuracy.end());
  }
  std::sort(qualities.begin(), qualities.end());
  const double mean = std::exp(all / static_cast<double>(count));
  const double median = qualities[qualities.size() / 2];
  fmt::print("{:10} all            of the best: mean {:.4f}, median {:.3f}\n", name, mean, median);
  return mean >= 0.98 && median >= 0.98;
}

/// Prints how far predictions of a model are from what was measured: for each kernel, at each shape, those of its
/// fastest configuration. cuBLAS's is a time that it needs at least.
void report_errors(const char* name, const BoardModel& board, const std::vector<Case>& cases, int multiprocessors) {
  std::map<std::string, std::vector<double>> of_kernel;
  for (const Case& one : cases) {
    const GemmProblem& p = one.shape.first;
    const PredictedShape shape{p.m, p.n, p.k, multiprocessors,
                               CublasTable::layout(p.a_transposed, p.b_transposed, one.shape.count)};
    of_kernel["cublas"].push_back(cublas_microseconds(board, shape, one.shape.count) / one.cublas_us.second);
    const auto found = one.algorithms.find(SGEMM_ACCURACY_ROWWISE);  // which may have all kernels
    if (found == one.algorithms.end()) {
      continue;
    }
    std::map<std::string, const Timed*> fastest;
    for (const Timed& timed : found->second) {
      const Timed*& best = fastest[timed.algorithm.kernel];
      best = best == nullptr || timed.us.first < best->us.first ? &timed : best;
    }
    for (const auto& [kernel, timed] : fastest) {
      if (board.knows(timed->algorithm.cost.method)) {
        of_kernel[kernel].push_back(microseconds(board, timed->algorithm.cost) / timed->us.second);
      }
    }
  }
  for (auto& [kernel, ratios] : of_kernel) {
    std::sort(ratios.begin(), ratios.end());
    std::vector<double> errors;
    std::transform(ratios.begin(), ratios.end(), std::back_inserter(errors),
                   [](double ratio) { return std::fabs(std::log(ratio)); });
    std::sort(errors.begin(), errors.end());
    const auto percent = [](double error) { return 100 * std::expm1(error); };
    fmt::print(
        "{:10} {:15} predicted for {} shapes: off by {:.1f} % in the median, {:.1f} % for one of ten, "
        "at most {:.0f} % too short and {:.0f} % too long\n",
        name, kernel, ratios.size(), percent(errors[errors.size() / 2]), percent(errors[errors.size() * 9 / 10]),
        100 * std::max(0.0, 1 - ratios.front()), 100 * std::max(0.0, ratios.back() - 1));
  }
}

void write_csv(const std::string& path, const std::vector<Case>& cases, int multiprocessors) {
  std::FILE* const csv = std::fopen(path.c_str(), "w");
  fmt::print(
      csv,
      "m,n,k,ta,tb,count,multiprocessors,method,kernel,configuration,launches,cycles,bytes,other,single,us,again\n");
  for (const Case& one : cases) {
    const GemmProblem& p = one.shape.first;
    const std::string shape = fmt::format("{},{},{},{:d},{:d},{},{}", p.m, p.n, p.k, p.a_transposed, p.b_transposed,
                                          one.shape.count, multiprocessors);
    fmt::print(csv, "{},-1,cublas,,0,0,0,0,0,{:.3f},{:.3f}\n", shape, one.cublas_us.first, one.cublas_us.second);
    for (const auto& [algorithm, us] : one.algorithms.count(SGEMM_ACCURACY_ROWWISE) != 0
                                           ? one.algorithms.at(SGEMM_ACCURACY_ROWWISE)
                                           : std::vector<Timed>()) {
      const Cost& cost = algorithm.cost;
      fmt::print(csv, "{},{},{},{},{},{:.0f},{:.0f},{},{:.0f},{:.3f},{:.3f}\n", shape, static_cast<int>(cost.method),
                 algorithm.kernel, algorithm.configuration, cost.launches, cost.cycles, cost.bytes, cost.other,
                 cost.single, us.first, us.second);
    }
  }
  std::fclose(csv);
}

int run(const std::map<std::string, std::string>& options) {
  const auto option = [&](const char* name, const std::string& otherwise) {
    const auto found = options.find(name);
    return found == options.end() ? otherwise : found->second;
  };
  const int part = std::stoi(option("--partition", "0"));
  const int all = all_multiprocessors();
  const int multiprocessors = part > 0 ? partition(part) : std::stoi(option("--multiprocessors", std::to_string(all)));
  setenv("SGEMM_CALIBRATION", "0", 1);
  const BoardModel built_in = board_model();
  const auto begin = std::chrono::steady_clock::now();
  const BoardModel measured = measured_board(multiprocessors, std::stod(option("--calibration-seconds", "45")));
  fmt::print("calibration: {:.1f} s, {} times of cuBLAS\n",
             std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(),
             measured.cublas_table.count());
  const std::string file = option("--out", "calibration.txt");
  write_whole(file, text_of({current_key(), "by choice_benchmark", measured}));
  setenv("SGEMM_CALIBRATION", file.c_str(), 1);
  fmt::print("{}\n", calibration_text());
  const std::vector<Case> cases = measure(multiprocessors, all, std::stod(option("--seconds", "30")),
                                          static_cast<unsigned>(std::stoi(option("--seed", "32"))));
  if (const std::string csv = option("--csv", ""); !csv.empty()) {
    write_csv(csv, cases, multiprocessors);
  }
  report("built in", built_in, cases, multiprocessors);
  report("unknown", model_of({"NVIDIA H100 of no kind", multiprocessors, 1980, 2 * 2619 * 5120 / 8.0}), cases,
         multiprocessors);
  std::vector<Case> whole;  // which cuBLAS and the chapters have tiles for
  std::copy_if(cases.begin(), cases.end(), std::back_inserter(whole), [](const Case& one) {
    const GemmProblem& p = one.shape.first;
    return p.m % 128 == 0 && p.n % 128 == 0 && p.k % 128 == 0 && one.shape.count == 1;
  });
  report("by 128", measured, whole, multiprocessors);
  for (const double margin : {1.02, 1.03, 1.05}) {
    BoardModel cautious = measured;
    cautious.margin = margin;
    report(fmt::format("by {:.2f}", margin).c_str(), cautious, cases, multiprocessors);
  }
  report_errors("built in", built_in, cases, multiprocessors);
  report_errors("measured", measured, cases, multiprocessors);
  return report("measured", measured, cases, multiprocessors) ? 0 : 1;
}

}  // namespace
}  // namespace sgemm

int main(int argc, char** argv) {
  std::map<std::string, std::string> options;
  for (int i = 1; i + 1 < argc; i += 2) {
    options[argv[i]] = argv[i + 1];
  }
  try {
    return sgemm::run(options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 3;
  }
}
