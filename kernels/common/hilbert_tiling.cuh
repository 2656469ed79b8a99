#pragma once

#include "common/ceil_div.hpp"
#include "common/hilbert.hpp"
#include "common/problem.hpp"
#include "common/target.hpp"
#include "common/tiling.cuh"

#include <cuda_runtime.h>

#include <cstdint>

namespace sgemm {
inline namespace SGEMM_TARGET {

/// The BM x BN tile of C at a position of the Hilbert curve.
template <int BM, int BN>
__device__ __forceinline__ TileOrigin tile_on_curve(const Problem& p, int position) {
  const TileIndex index = hilbert_tile(position, static_cast<int>(ceil_div<std::int64_t>(p.m, BM)),
                                       static_cast<int>(ceil_div<std::int64_t>(p.n, BN)));
  return {static_cast<std::int64_t>(index.row) * BM, static_cast<std::int64_t>(index.col) * BN};
}

}  // namespace SGEMM_TARGET
}  // namespace sgemm
