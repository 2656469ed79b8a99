#pragma once

#include "common/problem.hpp"

namespace sgemm::reproducible {

/// C = alpha * op(A) * op(B) + beta * C of each product of a batch by the definition (definition.hpp), element after
/// element. It takes operands of every layout in the host's memory.
void reference(const Problem& p);

/// The same bits, by all of the host's processors and their widest vectors.
void product(const Problem& p);

}  // namespace sgemm::reproducible
