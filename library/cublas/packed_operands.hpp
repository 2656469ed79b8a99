#pragma once

#include <sgemm/drop_in.h>

#include <cstddef>

#include "call.hpp"

namespace drop_in {

/// Says which packed operands the calls of this thread may read.
void set_packed_operands(const sgemm_drop_in_packed_t* operands, size_t count);

/// Those of a call, null where it has none. They are of one product with its scalars on the host, on the stream that
/// they were packed on, outside of captures: a graph may be replayed when they are gone.
struct PackedOperands {
  sgemm_packed_t a = nullptr;
  sgemm_packed_t b = nullptr;

  bool any() const { return a != nullptr || b != nullptr; }
};
PackedOperands packed_operands_of(const Call& call);

}  // namespace drop_in
