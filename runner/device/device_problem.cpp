#include "device/device_problem.hpp"

#include "base/counter_random.hpp"
#include "common/cuda_check.hpp"
#include "problem/batch.hpp"

#include <utility>

namespace sgemm {
namespace {

void copy(float* to, const float* from, std::size_t bytes, cudaStream_t stream) {
  CUDA_CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream));
}

void copy_from_host(float* to, const std::vector<float>& from) {
  CUDA_CHECK(cudaMemcpy(to, from.data(), from.size() * sizeof(float), cudaMemcpyHostToDevice));
}

}  // namespace

DeviceProblem::DeviceProblem(const Shape& shape, const HostOperands& inputs, bool separate_inputs)
    : shape_(shape), separate_inputs_(separate_inputs), c0_(inputs.c0.size()) {
  if (!inputs.c0.empty()) {
    c0_.copy_from_host(inputs.c0);
  }
  inputs_.push_back({Place(inputs.a.size()), Place(inputs.b.size())});
  reserve(1);
  fill(inputs);
}

void DeviceProblem::fill(const HostOperands& inputs) {
  for (Inputs& each : inputs_) {
    copy_from_host(each.a.data(), inputs.a);
    copy_from_host(each.b.data(), inputs.b);
  }
}

void DeviceProblem::move(std::uint64_t seed) {
  const CounterRandom random(seed, RandomStream::judge);
  std::uint64_t counter = 0;
  for (Inputs& inputs : inputs_) {
    inputs.a.move(random(counter++));
    inputs.b.move(random(counter++));
  }
  for (Place& output : outputs_) {
    output.move(random(counter++));
  }
}

void DeviceProblem::reserve(int launches) {
  while (separate_inputs_ && inputs_.size() < static_cast<std::size_t>(launches)) {
    Inputs& first = inputs_[0];
    Inputs next{Place(first.a.bytes() / sizeof(float)), Place(first.b.bytes() / sizeof(float))};
    copy(next.a.data(), first.a.data(), first.a.bytes(), nullptr);
    copy(next.b.data(), first.b.data(), first.b.bytes(), nullptr);
    inputs_.push_back(std::move(next));
  }
  while (outputs_.size() < sets_of_outputs(launches)) {
    outputs_.emplace_back(elements_of_c(shape_));
  }
}

std::size_t DeviceProblem::sets_of_outputs(int launches) const {
  return separate_inputs_ || shape_.beta != 0.0F ? static_cast<std::size_t>(launches) : 1;
}

Rooms DeviceProblem::rooms(int launch) {
  Inputs& inputs = inputs_[separate_inputs_ ? static_cast<std::size_t>(launch) : 0];
  return {inputs.a.room(), inputs.b.room()};
}

Problem DeviceProblem::operands(int launch) {
  const std::size_t output = sets_of_outputs(launch + 1) - 1;
  Inputs& inputs = inputs_[separate_inputs_ ? static_cast<std::size_t>(launch) : 0];
  return packed(shape_, inputs.a.data(), inputs.b.data(), outputs_[output].data());
}

Problem DeviceProblem::reference_operands() {
  Problem problem = operands();
  problem.c = c0_.data();
  return problem;
}

void DeviceProblem::restore(int launches, cudaStream_t stream) {
  const std::size_t bytes = elements_of_c(shape_) * sizeof(float);
  for (std::size_t set = 0; set < sets_of_outputs(launches); ++set) {
    float* const c = operands(static_cast<int>(set)).c;
    if (shape_.beta != 0.0F) {
      copy(c, c0_.data(), bytes, stream);
    } else {
      // All bits set are a NaN.
      CUDA_CHECK(cudaMemsetAsync(c, 0xFF, bytes, stream));
    }
  }
}

double DeviceProblem::bytes_needed(const Shape& shape) {
  const double m = static_cast<double>(shape.m);
  const double n = static_cast<double>(shape.n);
  const double k = static_cast<double>(shape.k);
  const double outputs = shape.beta != 0.0F ? 2.0 : 1.0;
  constexpr double PLACES = 4.0;
  return (static_cast<double>(shape.batch) * (m * k + k * n + outputs * m * n) + PLACES * Place::STEP * Place::STEPS) *
         sizeof(float);
}

}  // namespace sgemm
