#pragma once

#include "base/kernel.hpp"
#include "problem/operands.hpp"
#include "problem/sizes.hpp"

#include <optional>
#include <string>

namespace sgemm {

/// One kernel on one problem: a step of the plan.
struct Case {
  const Kernel* kernel = nullptr;
  Size size;
  std::optional<Distribution> data;  ///< in the mode `accuracy`; in other modes the protocol's data hold for all cases

  /// "sgemm/<kernel id>/<M>x<N>x<K>", and "/<data>" where that is given: the name in benchmarks and results.
  std::string name() const {
    std::string text = "sgemm/" + kernel->id() + "/" + to_string(size);
    if (data) {
      text.append("/").append(to_string(*data));
    }
    return text;
  }
};

}  // namespace sgemm
