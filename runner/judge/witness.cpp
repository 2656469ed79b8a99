#include "judge/witness.hpp"

#include "base/outcome.hpp"
#include "common/cuda_check.hpp"

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
/// At each C: one tells what is wrong with it, and one whether looks tell that at all.
constexpr std::size_t LOOKS = 2;
/// For a sample: two for each launch, three more, and one for how many launches there are.
constexpr std::uint64_t SEEDS = 128;
static_assert(SEEDS >= 2 * Witness::MOST_LAUNCHES + 4);
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

bool Witness::can_renew(const Shape& shape, Distribution data) {
  const bool made_alike =
      data == Distribution::uniform || data == Distribution::uniform01 || data == Distribution::integers;
  return made_alike && !shape.transposed_a && !shape.transposed_b && shape.batch == 1 && shape.alpha != 0.0F &&
         shape.k > 0;
}

Witness::Witness(const Secret& secret, DeviceProblem& problem, const Shape& shape, Distribution data,
                 cudaStream_t stream)
    : secret_(secret), problem_(problem), shape_(shape), data_(data), stream_(stream), findings_(LOOKS) {
  LookFindings* memory = nullptr;
  CUDA_CHECK(cudaMallocHost(reinterpret_cast<void**>(&memory), LOOKS * sizeof(LookFindings)));
  found_.reset(memory);
  if (shape_.beta != 0.0F) {
    c0_ = DeviceBuffer<RowOfSigns>(static_cast<std::size_t>(shape_.m));
  }
}

Matrices Witness::all_a() {
  return matrices_of(shape_.m, shape_.k, launches_, [&](int launch) { return problem_.operands(launch).a; });
}

Matrices Witness::all_b() {
  return matrices_of(shape_.k, shape_.n, launches_, [&](int launch) { return problem_.operands(launch).b; });
}

void Witness::renew(int launches) {
  std::uint64_t counter = SEEDS * ++sample_;
  launches_ = launches;
  problem_.reserve(launches);
  problem_.move(secret_.seed(counter++));
  Seeds around;
  for (int launch = 0; launch < launches; ++launch) {
    seeds_.of_launch[launch] = secret_.seed(counter++);
    around.of_launch[launch] = secret_.seed(counter++);
  }
  signs_ = secret_.seed(counter++);
  nan_ = secret_.seed(counter);
  if (launches > 1) {
    const auto rooms = [&](auto Rooms::*which) {
      const std::size_t size = (problem_.rooms(0).*which).size();
      return matrices_of(1, static_cast<std::int64_t>(size), launches_,
                         [&](int launch) { return (problem_.rooms(launch).*which).data(); });
    };
    enqueue_fill(rooms(&Rooms::a), rooms(&Rooms::b), around, fill_of(data_), stream_);
  }
  enqueue_fill(all_a(), all_b(), seeds_, fill_of(data_), stream_);
}

int Witness::draw_launches(int most) const {
  const std::uint64_t last_of_next = SEEDS * (sample_ + 2) - 1;
  return number_of_launches(most, secret_.seed(last_of_next));
}

void Witness::enqueue_look(const ErrorBound& bound) {
  const auto count = static_cast<std::size_t>(launches_);
  if (factors_.size() < count * static_cast<std::size_t>(shape_.k)) {
    factors_ = DeviceBuffer<Factor>(count * static_cast<std::size_t>(shape_.k));
    expected_ = DeviceBuffer<Expectation>(count * static_cast<std::size_t>(shape_.m));
  }
  // Now, and not before the launches, which might have left something there.
  CUDA_CHECK(cudaMemsetAsync(findings_.data(), 0, LOOKS * sizeof(LookFindings), stream_));
  const Matrices a = all_a();
  const Matrices b = all_b();
  const Fill fill = fill_of(data_);
  enqueue_factors(b, seeds_, fill, signs_, factors_.data(), stream_);
  enqueue_expectations(a, seeds_, fill, factors_.data(), expected_.data(), stream_);
  if (shape_.beta != 0.0F) {
    const Matrices original{shape_.m, shape_.n, 1, {problem_.reference_operands().c}};
    enqueue_signed_rows(original, signs_, c0_.data(), stream_);
  }
  const Matrices c =
      matrices_of(shape_.m, shape_.n, launches_, [&](int launch) { return problem_.operands(launch).c; });
  const RowRule rule{shape_.alpha, shape_.beta, static_cast<double>(shape_.n), bound};
  LookFindings* const findings = findings_.data();
  const RowOfSigns* const c0 = shape_.beta != 0.0F ? c0_.data() : nullptr;
  sgemm::enqueue_look(c, signs_, expected_.data(), c0, rule, findings, stream_);
  enqueue_compare(a, b, seeds_, fill, findings, stream_);
  const std::uint64_t launch = nan_ % count;
  const std::int64_t element =
      nan_row() * shape_.n + static_cast<std::int64_t>((nan_ >> 32U) % static_cast<std::uint64_t>(shape_.n));
  CUDA_CHECK(cudaMemsetAsync(c.data[launch] + element, 0xFF, sizeof(float), stream_));
  const Matrices with_nan{shape_.m, shape_.n, 1, {c.data[launch]}};
  sgemm::enqueue_look(with_nan, signs_, expected_.data() + launch * static_cast<std::size_t>(shape_.m), c0, rule,
                      findings + 1, stream_);
}

std::int64_t Witness::nan_row() const {
  return static_cast<std::int64_t>((nan_ >> 8U) % static_cast<std::uint64_t>(shape_.m));
}

double Witness::error_since_begin(Owner owner, const LookFindings& found) {
  Errors& errors = errors_.at(static_cast<std::size_t>(owner));
  for (int launch = 0; launch < launches_; ++launch) {
    errors.squares += found.error_squares[launch];
    errors.values += found.value_squares[launch];
    errors.rows += shape_.m;
  }
  // Rows of positive numbers are much alike, so that one vector of signs may cancel all of them.
  return errors.rows < TERMS_FOR_ERROR || data_ == Distribution::uniform01 ? 0.0
                                                                           : std::sqrt(errors.squares / errors.values);
}

double Witness::rel_err() const {
  const Errors& errors = errors_.at(static_cast<std::size_t>(Owner::kernel));
  return errors.values > 0.0 && data_ != Distribution::uniform01 ? std::sqrt(errors.squares / errors.values) : 0.0;
}

void Witness::require_right(Owner owner, const Standard& standard) {
  // Rows of positive numbers are much alike, so that one vector of signs may cancel all of them.
  const bool tells_error = std::min(shape_.m, shape_.k) >= TERMS_FOR_ERROR && data_ != Distribution::uniform01;
  enqueue_look(standard.bound);
  const LookFindings& found = *found_;
  CUDA_CHECK(
      cudaMemcpyAsync(found_.get(), findings_.data(), LOOKS * sizeof(LookFindings), cudaMemcpyDeviceToHost, stream_));
  CUDA_CHECK(cudaStreamSynchronize(stream_));
  const int round = ++errors_.at(static_cast<std::size_t>(owner)).rounds;
  const std::string where =
      fmt::format("{}timed round {}: ", owner == Owner::cublas ? "cuBLAS beside it in " : "", round);
  if (found.changed_in_a > 0 || found.changed_in_b > 0) {
    throw CaseStopped(Outcome::failed,
                      fmt::format("{}writes to {}, which is an input", where, found.changed_in_a > 0 ? 'A' : 'B'));
  }
  if (found.wrong > 0) {
    throw CaseStopped(Outcome::incorrect,
                      fmt::format("{}{} rows of C wrong when the clock stopped, row {} of launch {} among them: C x "
                                  "with random signs x is off by {:.3g} (bound {:.3g})",
                                  where, found.wrong, found.row, found.launch + 1, found.error, found.allowed));
  }
  if (const LookFindings& of_nan = found_.get()[1]; of_nan.wrong != 1 || of_nan.row != nan_row()) {
    throw CaseStopped(Outcome::failed, fmt::format("{}the judge put a NaN into C and did not see it there", where));
  }
  const double since_begin = error_since_begin(owner, found);
  const double error_of_all = tells_error ? 0.0 : since_begin;
  if (!(error_of_all <= standard.most_rel_err)) {  // NaN is none
    throw CaseStopped(Outcome::incorrect,
                      fmt::format("{}the relative error of all launches so far is about {:.2g}, and sums in FP32 have "
                                  "{:.2g} at most",
                                  where, error_of_all, standard.most_rel_err));
  }
  for (int launch = 0; tells_error && launch < launches_; ++launch) {
    const double error = std::sqrt(found.error_squares[launch] / found.value_squares[launch]);
    const double allowed = std::clamp(WORSE * standard.rel_err, OWN_ERROR, standard.most_rel_err);
    if (!(error <= allowed)) {
      throw CaseStopped(Outcome::incorrect,
                        fmt::format("{}the relative error of launch {} is about {:.2g}, and it was {:.2g} when the "
                                    "kernel was verified",
                                    where, launch + 1, error, standard.rel_err));
    }
  }
}

}  // namespace sgemm
