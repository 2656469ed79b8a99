#pragma once

#include "gemm_epilogue.hpp"
#include "gemm_problem.hpp"

#include <cstdint>

namespace sgemm {

/// Whether rows of all matrices that a kernel with an epilogue stores to or loads from, and a bias of columns, split
/// into aligned groups of WIDTH floats. Only kernels read A and B.
template <int WIDTH>
bool splits_into(const GemmProblem& p, const GemmEpilogue& epilogue) {
  const auto is_aligned = [](const void* data) {
    return reinterpret_cast<std::uintptr_t>(data) % (WIDTH * sizeof(float)) == 0;
  };
  const bool aux_has_floats = epilogue.writes_argument() || epilogue.activation == SGEMM_ACTIVATION_GELU_GRADIENT;
  const bool reads_c = p.scalars_on_device() || p.beta != 0.0F;
  return p.n % WIDTH == 0 && is_aligned(p.c) && p.ldc % WIDTH == 0 &&
         (!reads_c || (is_aligned(epilogue.c) && epilogue.ldc % WIDTH == 0)) &&
         (epilogue.bias_of_rows || is_aligned(epilogue.bias)) &&
         (!aux_has_floats || (is_aligned(epilogue.aux) && epilogue.aux_ld % WIDTH == 0));
}

}  // namespace sgemm
