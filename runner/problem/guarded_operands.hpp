#pragma once

#include "common/problem.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sgemm {

/// Follows the reason of a file's kernel that went wrong on the CPU without --check.
constexpr std::string_view CHECK_HINT = "; --check names the line of a forbidden access";

/// A copy of a problem's operands that lie far apart, so that what reaches beyond one does not reach another, and,
/// where the kernel can do with that, with a gap behind each row.
class GuardedOperands {
 public:
  /// `original` outlives it. Throws std::bad_alloc.
  GuardedOperands(const Problem& original, bool padded);

  const Problem& problem() const { return problem_; }
  /// What a kernel has written that is not C, as "writes to A, which is an input"; or nothing.
  std::optional<std::string> damage() const;
  /// Copies C back.
  void copy_result() const;

 private:
  const Problem original_;
  std::vector<float> memory_;
  Problem problem_;
};

}  // namespace sgemm
