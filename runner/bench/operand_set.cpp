#include "bench/operand_set.hpp"

#include "problem/batch.hpp"
#include "verify/accuracy.hpp"

#include <limits>

namespace sgemm {

OperandSet::OperandSet(const Size& size, Distribution data, const Protocol& protocol)
    : size(size), data(data), shape(shape_of(size, protocol.alpha, protocol.beta)), seed_(protocol.seed) {}

const HostOperands& OperandSet::host() {
  if (!host_) {
    host_ = std::make_unique<const HostOperands>(make_operands(shape, data, seed_));
  }
  return *host_;
}

Problem OperandSet::problem() { return packed(shape, host().a.data(), host().b.data(), c_.data()); }

Problem OperandSet::original() {
  float* const c0 = const_cast<float*>(host().c0.data());  // read only
  return packed(shape, host().a.data(), host().b.data(), c0);
}

Problem OperandSet::fresh() {
  if (shape.beta != 0.0F) {
    c_ = host().c0;
  } else {
    c_.assign(elements_of_c(shape), std::numeric_limits<float>::quiet_NaN());
  }
  return problem();
}

Verdict OperandSet::check(AccuracyClass accuracy) {
  if (!reference_) {
    reference_ = Reference::compute(original(), Platform::cpu, seed_, {}, roundings_of(data));
  }
  return reference_->check(c_.data(), size.n, accuracy);
}

}  // namespace sgemm
