#pragma once

// How C is cut into block tiles, and loads that respect the matrices' edges.

#include "common/ceil_div.hpp"
#include "common/problem.hpp"
#include "common/target.hpp"

#include <cuda_runtime.h>

#include <cstdint>

namespace sgemm::SGEMM_TARGET {

/// The threads that an SM of an architecture holds.
constexpr int threads_per_sm(int architecture) {
  const bool is_small = (architecture > 800 && architecture < 900) || architecture >= 1100;
  return architecture == 750 ? 1024 : is_small ? 1536 : 2048;
}

/// Those of the architecture that code is made for. nvcc warns where __launch_bounds__ asks for more blocks than fit.
#ifdef __CUDA_ARCH__
constexpr int THREADS_PER_SM = threads_per_sm(__CUDA_ARCH__);
#else
constexpr int THREADS_PER_SM = threads_per_sm(900);
#endif

/// How many BM x BN tiles cover C: the grid of a kernel with one block per tile.
template <int BM, int BN>
std::int64_t tiles_of(const Problem& p) {
  return ceil_div<std::int64_t>(p.m, BM) * ceil_div<std::int64_t>(p.n, BN);
}

/// The tile of this block, counted down the columns of C. Blocks that run at the same time then lie above each other.
/// They read the same few columns of B from the L2. Few of them share rows of A, which come from DRAM a sector of 8
/// elements at a time, so a thread meets the DRAM's latency at every eighth k. If tiles were counted along the rows,
/// the bytes would be the same, but B would come from DRAM, and a thread would meet the latency at every k.
template <int BM, int BN>
__device__ __forceinline__ TileOrigin tile_of_block(const Problem& p) {
  const unsigned tiles_m = static_cast<unsigned>(ceil_div<std::int64_t>(p.m, BM));
  return {static_cast<std::int64_t>(blockIdx.x % tiles_m) * BM, static_cast<std::int64_t>(blockIdx.x / tiles_m) * BN};
}

/// How far along k the elements that a thread copies lie inside the matrix. The thread copies position `offset` of
/// every k-tile. The result is 0 if its row or column lies outside, so that it copies nothing. Compare the result with
/// the k at which a k-tile begins.
__device__ __forceinline__ unsigned depth_inside(bool row_or_column_inside, std::int64_t depth, int offset) {
  return row_or_column_inside && offset < depth ? static_cast<unsigned>(depth) - offset : 0;
}

/// Loads the element at `source`, or 0 if it lies outside the matrix. So tiles may hang over the edges: zeros add
/// nothing to a sum of products.
__device__ __forceinline__ float load_or_zero(const float* source, bool inside) { return inside ? *source : 0.0F; }

}  // namespace sgemm::SGEMM_TARGET
