#include "judge/witness.hpp"

#include "base/outcome.hpp"
#include "common/cuda_check.hpp"
#include "judge/witness_kernels.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace sgemm {
namespace {

static_assert(MOST_MATRICES == Witness::MOST_LAUNCHES);

/// Errors of one launch are like those of another. Where a launch has so many times the relative error of an earlier
/// one, it was computed in another way.
constexpr double WORSE = 8.0;
/// A sum over fewer rows, or of fewer products, says little of the error of a launch.
constexpr std::int64_t TERMS_FOR_ERROR = 64;
/// Of the witness's own sums in double precision.
constexpr double OWN_ERROR = 0x1p-40;

Fill fill_of(Distribution data) {
  return data == Distribution::integers    ? Fill::integers
         : data == Distribution::uniform01 ? Fill::uniform01
                                           : Fill::uniform;
}

/// The same matrix of all launches.
template <class Address>
Matrices matrices_of(std::int64_t rows, std::int64_t columns, int count, const Address& address) {
  Matrices matrices{rows, columns, count, {}};
  for (int launch = 0; launch < count; ++launch) {
    matrices.data[launch] = const_cast<float*>(address(launch));
  }
  return matrices;
}

}  // namespace

/// The findings of a contender in page-locked memory of the host, and in the device's.
struct Witness::Look {
  Look() : on_device(1) { CUDA_CHECK(cudaMallocHost(reinterpret_cast<void**>(&found), sizeof(Findings))); }
  ~Look() { cudaFreeHost(found); }
  Look(const Look&) = delete;
  Look& operator=(const Look&) = delete;

  DeviceBuffer<Findings> on_device;
  Findings* found = nullptr;
  Owner owner = Owner::kernel;
  Standard standard;
  bool taken = false;
};

bool Witness::can_renew(const Shape& shape, Distribution data) {
  const bool made_alike =
      data == Distribution::uniform || data == Distribution::uniform01 || data == Distribution::integers;
  return made_alike && !shape.transposed_a && !shape.transposed_b && shape.batch == 1 && shape.alpha != 0.0F &&
         shape.k > 0;
}

Witness::Witness(const Secret& secret, std::uint64_t seed, DeviceProblem& problem, const Shape& shape,
                 Distribution data, cudaStream_t stream)
    : secret_(secret), seed_(seed), problem_(problem), shape_(shape), data_(data), stream_(stream) {
  if (shape_.beta != 0.0F) {
    c0_ = DeviceBuffer<RowOfSigns>(static_cast<std::size_t>(shape_.m));
  }
}

Witness::~Witness() {
  try {
    fill_with_seed();
  } catch (const CudaError&) {
    cudaGetLastError();  // the device is lost, and so are the operands
  }
}

void Witness::fill_with_seed() {
  const Problem first = problem_.operands(Owner::kernel);
  const Seeds seeds{{seed_}};
  enqueue_fill({shape_.m, shape_.k, 1, {const_cast<float*>(first.a)}}, seeds, RandomStream::matrix_a, fill_of(data_),
               stream_);
  enqueue_fill({shape_.k, shape_.n, 1, {const_cast<float*>(first.b)}}, seeds, RandomStream::matrix_b, fill_of(data_),
               stream_);
}

void Witness::renew(int launches) {
  constexpr std::uint64_t SEEDS = 64;  // for a round
  static_assert(SEEDS >= MOST_LAUNCHES + 2);
  std::uint64_t counter = SEEDS * static_cast<std::uint64_t>(++round_);
  launches_ = launches;
  problem_.reserve(launches);
  problem_.move(secret_.seed(counter++));
  Seeds seeds;
  for (int launch = 0; launch < launches; ++launch) {
    seeds.of_matrix[launch] = secret_.seed(counter++);
  }
  signs_ = secret_.seed(counter++);
  const auto count = static_cast<std::size_t>(launches);
  if (factors_.size() < count * static_cast<std::size_t>(shape_.k)) {
    factors_ = DeviceBuffer<Factor>(count * static_cast<std::size_t>(shape_.k));
    expected_ = DeviceBuffer<Expectation>(count * static_cast<std::size_t>(shape_.m));
  }
  const Matrices a =
      matrices_of(shape_.m, shape_.k, launches, [&](int launch) { return problem_.operands(Owner::kernel, launch).a; });
  const Matrices b =
      matrices_of(shape_.k, shape_.n, launches, [&](int launch) { return problem_.operands(Owner::kernel, launch).b; });
  enqueue_fill(a, seeds, RandomStream::matrix_a, fill_of(data_), stream_);
  enqueue_fill(b, seeds, RandomStream::matrix_b, fill_of(data_), stream_);
  enqueue_factors(b, signs_, factors_.data(), stream_);
  enqueue_expectations(a, factors_.data(), expected_.data(), stream_);
  if (shape_.beta != 0.0F) {
    const Matrices c0{shape_.m, shape_.n, 1, {problem_.reference_operands().c}};
    enqueue_signed_rows(c0, signs_, c0_.data(), stream_);
  }
  for (const std::unique_ptr<Look>& look : looks_) {
    look->taken = false;
    CUDA_CHECK(cudaMemsetAsync(look->on_device.data(), 0, sizeof(Findings), stream_));
  }
}

void Witness::look(Owner owner, const Standard& standard) {
  auto next = std::find_if(looks_.begin(), looks_.end(), [](const auto& look) { return !look->taken; });
  if (next == looks_.end()) {
    next = looks_.insert(next, std::make_unique<Look>());
    CUDA_CHECK(cudaMemsetAsync((*next)->on_device.data(), 0, sizeof(Findings), stream_));
  }
  Look& look = **next;
  look.taken = true;
  look.owner = owner;
  look.standard = standard;
  const Matrices c =
      matrices_of(shape_.m, shape_.n, launches_, [&](int launch) { return problem_.operands(owner, launch).c; });
  const RowRule rule{shape_.alpha, shape_.beta, static_cast<double>(shape_.n), standard.bound};
  enqueue_look(c, signs_, expected_.data(), shape_.beta != 0.0F ? c0_.data() : nullptr, rule, look.on_device.data(),
               stream_);
  CUDA_CHECK(cudaMemcpyAsync(look.found, look.on_device.data(), sizeof(Findings), cudaMemcpyDeviceToHost, stream_));
}

void Witness::require_right() {
  // Rows of positive numbers are much alike, so that one vector of signs may cancel all of them.
  const bool tells_error = std::min(shape_.m, shape_.k) >= TERMS_FOR_ERROR && data_ != Distribution::uniform01;
  for (const std::unique_ptr<Look>& look : looks_) {
    if (!look->taken) {
      continue;
    }
    const Findings& found = *look->found;
    const std::string where =
        fmt::format("{}timed round {}: ", look->owner == Owner::cublas ? "cuBLAS beside it in " : "", round_);
    if (found.wrong > 0) {
      throw CaseStopped(Outcome::incorrect,
                        fmt::format("{}{} rows of C wrong when the clock stopped, row {} of launch {} among them: C x "
                                    "with random signs x is off by {:.3g} (bound {:.3g})",
                                    where, found.wrong, found.row, found.launch + 1, found.error, found.allowed));
    }
    for (int launch = 0; tells_error && launch < launches_; ++launch) {
      const double error = std::sqrt(found.error_squares[launch] / found.value_squares[launch]);
      const double allowed = std::max(WORSE * look->standard.rel_err, OWN_ERROR);
      if (error > allowed) {
        throw CaseStopped(Outcome::incorrect,
                          fmt::format("{}the relative error of launch {} is about {:.2g}, and it was {:.2g} when the "
                                      "kernel was verified",
                                      where, launch + 1, error, look->standard.rel_err));
      }
    }
  }
}

}  // namespace sgemm
