#pragma once

#include "common/problem.hpp"
#include "simt/global_array.hpp"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sgemm {

/// Follows the reason of a file's kernel that went wrong on the CPU without --check.
constexpr std::string_view CHECK_HINT = "; --check names the line of a forbidden access";

/// A copy of a problem's operands that lie far apart, so that what reaches beyond one does not reach another, and,
/// where the kernel can do with that, with a gap behind each row. Each copy lies at a random place: a launch line sees
/// addresses, and a file may be right at some of them alone.
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
  std::shared_ptr<float> mapping_;
  std::span<float> memory_;
  Problem problem_;
};

/// All the memory that a kernel may touch for `p`: A and B, which it reads, and C, which holds nothing where beta is 0.
inline std::vector<simt::GlobalArray> arrays_of(const Problem& p) {
  const simt::Extents of_c{p.batch * p.m, p.n, p.ldc};
  const auto of_input = [&](std::int64_t rows, std::int64_t columns, bool transposed, std::int64_t stride) {
    return transposed ? simt::Extents{p.batch * columns, rows, stride} : simt::Extents{p.batch * rows, columns, stride};
  };
  return {simt::input("A", p.a, of_input(p.m, p.k, p.transposed_a, p.lda)),
          simt::input("B", p.b, of_input(p.k, p.n, p.transposed_b, p.ldb)),
          p.beta == 0.0F ? simt::output("C", p.c, of_c) : simt::in_out("C", p.c, of_c)};
}

}  // namespace sgemm
