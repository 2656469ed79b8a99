#pragma once

#include "common/problem.hpp"

namespace sgemm::reproducible {

/// Results with the same version have the same bits: docs/15_reproducible.md defines them.
inline constexpr int DEFINITION = 1;

/// The definition as a program: C = alpha * op(A) * op(B) + beta * C of each product of a batch, bit for bit. Element
/// after element, in plain C++, for tests to compare with. It takes operands of every layout in the host's memory.
void reference(const Problem& p);

}  // namespace sgemm::reproducible
