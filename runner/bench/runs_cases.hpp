#pragma once

#include "problem/case.hpp"
#include "record/environment.hpp"
#include "record/record.hpp"
#include "timing/sampling.hpp"

#include <string>

namespace sgemm {

/// Takes cases one by one from the plan to a record, whatever happens on the way.
class RunsCases {
 public:
  virtual ~RunsCases() = default;

  /// Never throws for what a case can do wrong.
  virtual Record run(const Case& item, const Observer& observer) = 0;
  /// Why no GPU kernel can be run on a GPU; empty when they can.
  virtual const std::string& gpu_error() const = 0;
  virtual GpuFacts gpu_facts() const = 0;
};

}  // namespace sgemm
