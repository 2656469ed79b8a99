#pragma once

#include "problem/operands.hpp"
#include "problem/sizes.hpp"
#include "record/protocol.hpp"
#include "verify/verify.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace sgemm {

/// The state that a bench keeps of an operand set in a device's memory.
struct DeviceState {
  virtual ~DeviceState() = default;
};

/// The operands of one size and kind, with everything that is made of them and outlives a case. All kernels that run on
/// these operands share one set.
class OperandSet {
 public:
  OperandSet(const Size& size, Distribution data, const Protocol& protocol);

  const Size size;
  const Distribution data;
  const Shape shape;

  /// The host's copy, made when it is first asked for. Throws std::bad_alloc.
  const HostOperands& host();
  /// The host's operands. C is as the last kernel on the host has left it.
  Problem problem();
  /// The host's operands with C0.
  Problem original();
  /// The host's operands with a C as a kernel finds it: C0, or NaN where beta is 0.
  Problem fresh();
  /// The C that the last kernel on the host has left.
  const std::vector<float>& result() const { return c_; }
  /// Compares result() with the reference. The host computes the reference once.
  Verdict check(AccuracyClass accuracy);

  std::unique_ptr<DeviceState> device;

 private:
  std::uint64_t seed_;
  std::unique_ptr<const HostOperands> host_;
  std::vector<float> c_;
  std::unique_ptr<Reference> reference_;
};

/// "writes to C0, which is an input", where `read` gives other bits for an input than are expected; empty where not.
std::string changed_input(const HostOperands& expected,
                          const std::function<std::vector<float>(MatrixName, std::size_t elements)>& read);

}  // namespace sgemm
