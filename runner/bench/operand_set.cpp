#include "bench/operand_set.hpp"

#include "problem/batch.hpp"
#include "verify/accuracy.hpp"

#include <cstring>
#include <limits>
#include <string_view>

#include <fmt/format.h>

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

std::string changed_input(const HostOperands& expected,
                          const std::function<std::vector<float>(MatrixName, std::size_t elements)>& read) {
  const auto is_changed = [&](MatrixName name, const std::vector<float>& wanted) {
    return !wanted.empty() &&
           std::memcmp(read(name, wanted.size()).data(), wanted.data(), wanted.size() * sizeof(float)) != 0;
  };
  const std::string_view changed = is_changed(MatrixName::a, expected.a)    ? "A"
                                   : is_changed(MatrixName::b, expected.b)  ? "B"
                                   : is_changed(MatrixName::c, expected.c0) ? "C0"
                                                                            : "";
  return changed.empty() ? "" : fmt::format("writes to {}, which is an input", changed);
}

}  // namespace sgemm
