// cuBLASLt with the fastest of its algorithms. Every algorithm that its heuristic proposes is timed on the operands of
// the case, with a cold L2 as in the default protocol. The record names the fastest one.

#include "base/kernel.hpp"
#include "base/outcome.hpp"
#include "base/statistics.hpp"
#include "common/cuda_check.hpp"
#include "device/cublas_handle.hpp"
#include "device/cuda_handles.hpp"
#include "problem/batch.hpp"

#include <cublasLt.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace sgemm {
namespace {

constexpr int MOST_ALGORITHMS = 64;
constexpr int SAMPLES = 5;
/// An algorithm gets no further samples if its first one takes this many times as long as the best median so far.
constexpr double TOO_SLOW = 1.25;

using Operation = std::unique_ptr<cublasLtMatmulDescOpaque_t, Destroy<cublasLtMatmulDescDestroy>>;
using Layout = std::unique_ptr<cublasLtMatrixLayoutOpaque_t, Destroy<cublasLtMatrixLayoutDestroy>>;
using Preference = std::unique_ptr<cublasLtMatmulPreferenceOpaque_t, Destroy<cublasLtMatmulPreferenceDestroy>>;

Layout make_layout(std::int64_t rows, std::int64_t columns, std::int64_t leading) {
  cublasLtMatrixLayout_t layout = nullptr;
  cublas_check(cublasLtMatrixLayoutCreate(&layout, CUDA_R_32F, static_cast<std::uint64_t>(rows),
                                          static_cast<std::uint64_t>(columns), leading),
               "cublasLtMatrixLayoutCreate");
  return Layout(layout);
}

/// The largest power of two, up to 256, that divides the address.
std::uint32_t alignment_of(const float* pointer) {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer) | 256U;
  return static_cast<std::uint32_t>(address & (~address + 1));
}

/// The state that problems of one shape and alignment share. Column-major, so A and B change places (cublas.cpp).
class Matmul {
 public:
  explicit Matmul(const Problem& p)
      : a_(make_layout(p.n, p.k, p.ldb)), b_(make_layout(p.k, p.m, p.lda)), c_(make_layout(p.n, p.m, p.ldc)) {
    cublasLtMatmulDesc_t operation = nullptr;
    cublas_check(cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F), "cublasLtMatmulDescCreate");
    operation_.reset(operation);
  }

  std::vector<cublasLtMatmulAlgo_t> propose(const Problem& p) const {
    cublasLtMatmulPreference_t created = nullptr;
    cublas_check(cublasLtMatmulPreferenceCreate(&created), "cublasLtMatmulPreferenceCreate");
    const Preference preference(created);
    const auto set = [&](cublasLtMatmulPreferenceAttributes_t attribute, auto value) {
      cublas_check(cublasLtMatmulPreferenceSetAttribute(preference.get(), attribute, &value, sizeof value),
                   "cublasLtMatmulPreferenceSetAttribute");
    };
    set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::uint64_t{CUBLAS_WORKSPACE_BYTES});
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment_of(p.b));
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment_of(p.a));
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment_of(p.c));
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment_of(p.c));
    std::vector<cublasLtMatmulHeuristicResult_t> results(MOST_ALGORITHMS);
    int count = 0;
    const cublasStatus_t status =
        cublasLtMatmulAlgoGetHeuristic(lt(nullptr), operation_.get(), a_.get(), b_.get(), c_.get(), c_.get(),
                                       preference.get(), MOST_ALGORITHMS, results.data(), &count);
    if (status != CUBLAS_STATUS_NOT_SUPPORTED) {
      cublas_check(status, "cublasLtMatmulAlgoGetHeuristic");
    }
    std::vector<cublasLtMatmulAlgo_t> algorithms;
    for (int i = 0; i < count; ++i) {
      if (results[static_cast<std::size_t>(i)].state == CUBLAS_STATUS_SUCCESS) {
        algorithms.push_back(results[static_cast<std::size_t>(i)].algo);
      }
    }
    return algorithms;
  }

  cublasStatus_t run(const Problem& p, const cublasLtMatmulAlgo_t& algorithm, cudaStream_t stream) const {
    return cublasLtMatmul(lt(stream), operation_.get(), &p.alpha, p.b, a_.get(), p.a, b_.get(), &p.beta, p.c, c_.get(),
                          p.c, c_.get(), &algorithm, handle_->workspace(), CUBLAS_WORKSPACE_BYTES, stream);
  }

 private:
  cublasLtHandle_t lt(cudaStream_t stream) const { return reinterpret_cast<cublasLtHandle_t>(handle_->on(stream)); }

  std::shared_ptr<CublasHandle> handle_ = CublasHandle::shared();
  Operation operation_;
  Layout a_;
  Layout b_;
  Layout c_;
};

/// Times algorithms one sample at a time.
class Trial {
 public:
  Trial(const Matmul& matmul, const Problem& problem) : matmul_(matmul), problem_(problem) {}

  /// Median microseconds, or nothing for an algorithm that is refused or slower than `best_us` from the start.
  std::optional<double> time(const cublasLtMatmulAlgo_t& algorithm, double best_us) {
    // The first launch loads the algorithm's code.
    if (matmul_.run(problem_, algorithm, stream_.get()) != CUBLAS_STATUS_SUCCESS) {
      return std::nullopt;
    }
    std::vector<double> times;
    while (times.size() < SAMPLES) {
      times.push_back(sample(algorithm));
      if (times.front() > TOO_SLOW * best_us) {
        return std::nullopt;
      }
    }
    return median(times);
  }

 private:
  double sample(const cublasLtMatmulAlgo_t& algorithm) {
    flush_.enqueue(stream_.get());
    CUDA_CHECK(cudaEventRecord(start_.get(), stream_.get()));
    cublas_check(matmul_.run(problem_, algorithm, stream_.get()), "cublasLtMatmul");
    CUDA_CHECK(cudaEventRecord(stop_.get(), stream_.get()));
    CUDA_CHECK(cudaStreamSynchronize(stream_.get()));
    float milliseconds = 0.0F;
    CUDA_CHECK(cudaEventElapsedTime(&milliseconds, start_.get(), stop_.get()));
    return double{milliseconds} * 1000.0;
  }

  const Matmul& matmul_;
  const Problem& problem_;
  Stream stream_ = make_stream();
  Event start_ = make_event();
  Event stop_ = make_event();
  L2Flush flush_;
};

std::string describe(const cublasLtMatmulAlgo_t& algorithm, std::size_t candidates) {
  const auto get = [&](cublasLtMatmulAlgoConfigAttributes_t attribute) {
    std::int32_t value = 0;  // which it keeps where the algorithm lacks the attribute
    std::size_t written = 0;
    cublasLtMatmulAlgoConfigGetAttribute(&algorithm, attribute, &value, sizeof value, &written);
    return value;
  };
  return fmt::format("algorithm {}, split-K {}; fastest of {} proposed", get(CUBLASLT_ALGO_CONFIG_ID),
                     get(CUBLASLT_ALGO_CONFIG_SPLITK_NUM), candidates);
}

std::vector<Configuration> configurations(const Problem& problem) {
  const auto matmul = std::make_shared<Matmul>(problem);
  const std::vector<cublasLtMatmulAlgo_t> proposed = matmul->propose(problem);
  std::optional<cublasLtMatmulAlgo_t> best;
  double best_us = std::numeric_limits<double>::infinity();
  Trial trial(*matmul, problem);
  for (const cublasLtMatmulAlgo_t& algorithm : proposed) {
    const std::optional<double> time = trial.time(algorithm, best_us);
    if (time && *time < best_us) {
      best = algorithm;
      best_us = *time;
    }
  }
  if (!best) {
    throw CaseStopped(Outcome::not_supported, "cuBLASLt proposes no algorithm for this problem");
  }
  return {
      {describe(*best, proposed.size()), 0, [matmul, algorithm = *best](const Problem& p, void*, cudaStream_t stream) {
         cublas_check(matmul->run(p, algorithm, stream), "cublasLtMatmul");
       }}};
}

std::optional<std::string> unsupported(const Problem& problem) {
  if (problem.k == 0) {
    return "cuBLASLt takes no empty matrices";
  }
  if (problem.alpha == 0.0F) {
    return "cuBLASLt reads A and B where alpha is 0";
  }
  return beyond_int(problem);
}

Kernel cublaslt_best() {
  Kernel kernel;
  kernel.name = "cublaslt_best";
  kernel.summary = "cuBLASLt in FP32, the fastest of the algorithms that its heuristic proposes";
  kernel.source = "NVIDIA cuBLAS";
  kernel.min_compute_capability = 75;
  kernel.unsupported = unsupported;
  kernel.build(Target::for_gpu).configurations = configurations;
  return kernel;
}

const KernelRegistration registered(cublaslt_best());

}  // namespace
}  // namespace sgemm
