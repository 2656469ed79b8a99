#include "device/device_problem.hpp"

#include "common/cuda_check.hpp"
#include "problem/batch.hpp"

#include <utility>

namespace sgemm {
namespace {

void copy(DeviceBuffer<float>& to, const DeviceBuffer<float>& from, cudaStream_t stream) {
  CUDA_CHECK(cudaMemcpyAsync(to.data(), from.data(), from.size() * sizeof(float), cudaMemcpyDeviceToDevice, stream));
}

}  // namespace

DeviceProblem::DeviceProblem(const Shape& shape, const HostOperands& inputs, bool separate_inputs)
    : shape_(shape), separate_inputs_(separate_inputs), c0_(inputs.c0.size()) {
  if (!inputs.c0.empty()) {
    c0_.copy_from_host(inputs.c0);
  }
  Inputs first{DeviceBuffer<float>(inputs.a.size()), DeviceBuffer<float>(inputs.b.size())};
  first.a.copy_from_host(inputs.a);
  first.b.copy_from_host(inputs.b);
  inputs_.push_back(std::move(first));
  reserve(1);
}

void DeviceProblem::reserve(int launches) {
  while (separate_inputs_ && inputs_.size() < static_cast<std::size_t>(launches)) {
    Inputs next{DeviceBuffer<float>(inputs_[0].a.size()), DeviceBuffer<float>(inputs_[0].b.size())};
    copy(next.a, inputs_[0].a, nullptr);
    copy(next.b, inputs_[0].b, nullptr);
    inputs_.push_back(std::move(next));
  }
  while (outputs_.size() < sets_of_outputs(launches)) {
    const std::size_t size = elements_of_c(shape_);
    outputs_.push_back({DeviceBuffer<float>(size), DeviceBuffer<float>(size)});
  }
}

std::size_t DeviceProblem::sets_of_outputs(int launches) const {
  return separate_inputs_ || shape_.beta != 0.0F ? static_cast<std::size_t>(launches) : 1;
}

Problem DeviceProblem::operands(Owner owner, int launch) {
  const Inputs& inputs = inputs_[separate_inputs_ ? static_cast<std::size_t>(launch) : 0];
  return packed(shape_, inputs.a.data(), inputs.b.data(), outputs_[sets_of_outputs(launch + 1) - 1].of(owner).data());
}

Problem DeviceProblem::reference_operands() {
  Problem problem = operands(Owner::kernel);
  problem.c = c0_.data();
  return problem;
}

void DeviceProblem::restore(Owner owner, int launches, cudaStream_t stream) {
  for (std::size_t set = 0; set < sets_of_outputs(launches); ++set) {
    DeviceBuffer<float>& c = outputs_[set].of(owner);
    if (shape_.beta != 0.0F) {
      copy(c, c0_, stream);
    } else {
      // All bits set are a NaN.
      CUDA_CHECK(cudaMemsetAsync(c.data(), 0xFF, c.size() * sizeof(float), stream));
    }
  }
}

double DeviceProblem::bytes_needed(const Shape& shape) {
  const double m = static_cast<double>(shape.m);
  const double n = static_cast<double>(shape.n);
  const double k = static_cast<double>(shape.k);
  const double outputs = shape.beta != 0.0F ? 3.0 : 2.0;
  return static_cast<double>(shape.batch) * (m * k + k * n + outputs * m * n) * sizeof(float);
}

}  // namespace sgemm
