// The judge's witness on a real device: operands as the host makes them, right results, and wrong ones.

#include "judge/witness.hpp"
#include "base/outcome.hpp"
#include "device/cublas_handle.hpp"
#include "device/cuda_handles.hpp"
#include "verify/accuracy.hpp"
#include "verify/verify_parts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

namespace sgemm {
namespace {

using Spoil = std::function<void(Problem&, int launch, cudaStream_t)>;

class WitnessOnGpu : public testing::Test {
 protected:
  /// The reason why a round was refused, where cuBLAS computes and `spoil` comes after each launch.
  std::string refusal(const Shape& shape, Distribution data, int launches, const Spoil& spoil,
                      cublasMath_t math = CUBLAS_DEFAULT_MATH, AccuracyClass accuracy = AccuracyClass::fp32) {
    const HostOperands host = make_operands(shape, data, 42);
    DeviceProblem problem(shape, host, true);
    const Stream stream = make_stream();
    const std::shared_ptr<CublasHandle> cublas = CublasHandle::shared();
    Standard standard;
    standard.bound = error_bound(accuracy, shape.k, shape.alpha, roundings_of(data));
    standard.rel_err = 1e-6;
    standard.most_rel_err = most_rel_err(accuracy, data, shape.k);
    try {
      Witness witness(Secret::draw(), problem, shape, data, stream.get());
      for (int round = 0; round < 3; ++round) {
        for (const Owner owner : {Owner::kernel, Owner::cublas}) {
          witness.renew(launches);
          problem.restore(launches, stream.get());
          for (int launch = 0; launch < launches; ++launch) {
            Problem p = problem.operands(launch);
            cublasSetMathMode(cublas->on(stream.get()), math);
            cublas_check(cublasSgemm_64(cublas->on(stream.get()), CUBLAS_OP_N, CUBLAS_OP_N, p.n, p.m, p.k, &p.alpha,
                                        p.b, p.ldb, p.a, p.lda, &p.beta, p.c, p.ldc),
                         "cublasSgemm");
            if (owner == Owner::kernel && round == 2) {
              spoil(p, launch, stream.get());
            }
          }
          witness.require_right(owner, standard);
        }
      }
    } catch (const CaseStopped& stopped) {
      cublasSetMathMode(cublas->on(stream.get()), CUBLAS_DEFAULT_MATH);
      outcome_ = stopped.outcome();
      return stopped.what();
    }
    cublasSetMathMode(cublas->on(stream.get()), CUBLAS_DEFAULT_MATH);
    const Problem first = problem.operands();
    const Fill fill = data == Distribution::integers    ? Fill::integers
                      : data == Distribution::uniform01 ? Fill::uniform01
                                                        : Fill::uniform;
    enqueue_fill({shape.m, shape.k, 1, {const_cast<float*>(first.a)}},
                 {shape.k, shape.n, 1, {const_cast<float*>(first.b)}}, {{42}}, fill, stream.get());
    CUDA_CHECK(cudaStreamSynchronize(stream.get()));
    std::vector<float> found(host.a.size());
    CUDA_CHECK(cudaMemcpy(found.data(), first.a, found.size() * sizeof(float), cudaMemcpyDeviceToHost));
    EXPECT_EQ(found, host.a);
    found.resize(host.b.size());
    CUDA_CHECK(cudaMemcpy(found.data(), first.b, found.size() * sizeof(float), cudaMemcpyDeviceToHost));
    EXPECT_EQ(found, host.b);
    return "";
  }

  static void nothing(Problem&, int, cudaStream_t) {}

  Outcome outcome_ = Outcome::measured;  ///< of the round that was refused
};

TEST_F(WitnessOnGpu, CublasIsRightOnAllKindsAndShapes) {
  for (const Distribution data : {Distribution::uniform, Distribution::uniform01, Distribution::integers}) {
    for (const Shape& shape : {Shape{1, 1, 1}, Shape{64, 64, 64}, Shape{33, 130, 517, 1.5F, -0.5F},
                               Shape{1024, 7, 2048}, Shape{1, 4096, 100}, Shape{1024, 1024, 1024, 1.0F, 1.0F}}) {
      EXPECT_EQ(refusal(shape, data, 3, nothing), "");
    }
  }
  EXPECT_EQ(refusal({4096, 4096, 4096}, Distribution::uniform, 1, nothing), "");
}

/// A kernel that has seen earlier samples looks for the place of a later launch's operands.
TEST_F(WitnessOnGpu, AllNumbersAroundOperandsAreNewInEachSample) {
  const Shape shape{64, 96, 128};
  DeviceProblem problem(shape, make_operands(shape, Distribution::uniform, 42), true);
  const Stream stream = make_stream();
  Witness witness(Secret::draw(), problem, shape, Distribution::uniform, stream.get());
  const auto numbers = [&] {
    witness.renew(2);
    std::vector<float> found(problem.rooms(1).a.size());
    CUDA_CHECK(cudaStreamSynchronize(stream.get()));
    CUDA_CHECK(
        cudaMemcpy(found.data(), problem.rooms(1).a.data(), found.size() * sizeof(float), cudaMemcpyDeviceToHost));
    return found;
  };
  const std::vector<float> first = numbers();
  const std::vector<float> second = numbers();
  const auto same = std::inner_product(first.begin(), first.end(), second.begin(), 0, std::plus(), std::equal_to());
  EXPECT_LT(same, 10);  // of half a million, of 2^24 kinds
  EXPECT_LE(std::abs(*std::ranges::max_element(first)), 1.0F);
}

TEST_F(WitnessOnGpu, OneThatWritesToThemIsToldSo) {
  const Spoil last_bit = [](Problem& p, int launch, cudaStream_t stream) {
    if (launch == 1) {
      CUDA_CHECK(cudaMemsetAsync(const_cast<float*>(p.b) + p.k * p.n - 1, 0x3F, 1, stream));
    }
  };
  const std::string reason = refusal({64, 96, 128}, Distribution::uniform, 2, last_bit);
  EXPECT_EQ(reason, "timed round 3: writes to B, which is an input");
  EXPECT_EQ(outcome_, Outcome::failed);
}

TEST_F(WitnessOnGpu, AWrongElementOfOneLaunchIsSeen) {
  const Spoil nan = [](Problem& p, int launch, cudaStream_t stream) {
    if (launch == 1) {
      CUDA_CHECK(cudaMemsetAsync(p.c + 5 * p.ldc + 3, 0xFF, sizeof(float), stream));
    }
  };
  const std::string reason = refusal({256, 512, 1024}, Distribution::uniform, 3, nan);
  EXPECT_EQ(reason.find("timed round 3: 1 rows of C wrong when the clock stopped, row 5 of launch 2 among them"), 0U)
      << reason;
  EXPECT_EQ(outcome_, Outcome::incorrect);
}

TEST_F(WitnessOnGpu, ResultsOfEarlierOperandsAreSeen) {
  std::vector<float> kept;
  const Spoil stale = [&](Problem& p, int launch, cudaStream_t stream) {
    if (launch == 0) {
      kept.resize(static_cast<std::size_t>(p.ldc));
      CUDA_CHECK(cudaMemcpyAsync(kept.data(), p.c, kept.size() * sizeof(float), cudaMemcpyDeviceToHost, stream));
      CUDA_CHECK(cudaStreamSynchronize(stream));
    } else {
      CUDA_CHECK(cudaMemcpyAsync(p.c, kept.data(), kept.size() * sizeof(float), cudaMemcpyHostToDevice, stream));
    }
  };
  EXPECT_NE(refusal({256, 256, 256}, Distribution::uniform, 2, stale).find("row 0 of launch 2"), std::string::npos);
}

TEST_F(WitnessOnGpu, ChangedOperandsAreNoExcuse) {
  const Spoil zero = [](Problem& p, int, cudaStream_t stream) {
    CUDA_CHECK(
        cudaMemsetAsync(const_cast<float*>(p.a), 0, sizeof(float) * static_cast<std::size_t>(p.m * p.k), stream));
    CUDA_CHECK(cudaMemsetAsync(p.c, 0, sizeof(float) * static_cast<std::size_t>(p.m * p.n), stream));
  };
  EXPECT_NE(refusal({256, 256, 256}, Distribution::uniform, 1, zero), "");
}

TEST_F(WitnessOnGpu, LessPrecisionThanBeforeIsSeenWithinTheBound) {
  const std::string reason =
      refusal({1024, 1024, 1024}, Distribution::uniform, 1, nothing, CUBLAS_TF32_TENSOR_OP_MATH, AccuracyClass::tf32);
  EXPECT_NE(reason.find("the relative error of launch 1"), std::string::npos) << reason;
}

/// The bound of an element is far above the errors of TF32 there.
TEST_F(WitnessOnGpu, LaunchesOfFewRowsTellTheirErrorTogether) {
  const std::string reason = refusal({16, 1024, 4096}, Distribution::uniform, 3, nothing, CUBLAS_TF32_TENSOR_OP_MATH);
  EXPECT_EQ(reason.find("timed round 2: the relative error of all launches so far is about"), 0U) << reason;
  EXPECT_EQ(refusal({16, 1024, 4096}, Distribution::uniform, 3, nothing), "");
}

}  // namespace
}  // namespace sgemm
