#pragma once

// FP32 products on 8-bit tensor cores: the launch of chapter 13's and 15's kernels (sm_90a), and of the kernels that
// write digits, which 17 has as well.

#include "common/problem.hpp"
#include "engine/int8_operands.cuh"
#include "engine/int8_product.cuh"
#include "engine/split_schemes.cuh"
#include "engine/stream_k.cuh"
#include "host/alignment.hpp"
#include "host/cost_model.cuh"
#include "host/kernel.hpp"
#include "host/launch.cuh"
#include "host/split_launch.cuh"

#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

namespace sgemm {
inline namespace SGEMM_TARGET {
namespace split_product {
namespace int8 {

/// The kernels that write digits. They carry the name of their chapter.
struct SplitKernels {
  void (*maxima)(Problem, void*);
  void (*maxima_scalar)(Problem, void*);  ///< where rows of A do not split into aligned groups of four
  void (*split)(Problem, void*, void*);
  void (*split_scalar)(Problem, void*, void*);          ///< likewise
  void (*split_lines)(Problem, void*, LinesOfCluster);  ///< instead of maxima and split, where k is short enough
  void (*split_lines_scalar)(Problem, void*, LinesOfCluster);
  int largest_cluster = 1;  ///< of blocks of split_lines: 1 where devices need not have clusters
};

/// All kernels of chapter 13.
struct Kernels : SplitKernels {
  void (*multiply)(Problem, void*, void*, Schedule);
  void (*multiply_scalar)(Problem, void*, void*, Schedule);  ///< where rows of C do not split into aligned pairs
};

/// Enqueues a kernel that splits whole lines.
template <class... Parameters, class... Arguments>
void launch_lines(const LinesOfCluster& share, const Problem& p, cudaStream_t stream, void (*kernel)(Parameters...),
                  Arguments... arguments) {
  const std::int64_t blocks = (tiles_along(p.m) + tiles_along(p.n)) * (TILE_ROWS / share.lines) * share.blocks;
  if (share.blocks == 1) {
    launch(kernel, blocks, dim3(SPLIT_THREADS), LINES_SMEM_BYTES, stream, arguments...);
  } else {
    ClusterLaunch(share.blocks, blocks, dim3(SPLIT_THREADS), LINES_SMEM_BYTES, stream).enqueue(kernel, arguments...);
  }
}

/// Enqueues the kernels that write digits, with `follow` for one that reads what the kernel before it has written:
/// launch() or launch_dependent().
template <class Follow>
void launch_split(const SplitKernels& kernels, const Problem& p, void* maxima, void* operands, cudaStream_t stream,
                  const Follow& follow) {
  const bool vector_access = rows_split_into_float4(p.a, p.k, p.lda);
  const std::int64_t tiles = Workspace<Int8x6>(p, nullptr).count();
  const LinesOfCluster share = lines_of_cluster(k_tiles_of<Int8x6>(p), kernels.largest_cluster);
  if (share.lines > 0) {
    launch_lines(share, p, stream, vector_access ? kernels.split_lines : kernels.split_lines_scalar, p, operands,
                 share);
  } else {
    launch(vector_access ? kernels.maxima : kernels.maxima_scalar, tiles, dim3(SPLIT_THREADS), 0, stream, p, maxima);
    follow(vector_access ? kernels.split : kernels.split_scalar, tiles, dim3(SPLIT_THREADS), 0, stream, p, maxima,
           operands);
  }
}

/// Partial sums of C that blocks may have in the workspace. Sums that are cut into pieces take a place of their own
/// beside each block's share.
inline int share_count(const Problem& p, int multiprocessors, bool streamed) {
  const bool cut = k_tiles_of<Int8x6>(p) > MOST_K_TILES;
  return cut ? 2 * multiprocessors : streamed ? multiprocessors : 0;
}

template <class Partial>
Candidate candidate(const Problem& p, const Kernels& kernels, int multiprocessors, bool streamed) {
  using Memory = SharesMemory<Shape::CONSUMER_WARPS, Shape::B_TILES, 64, Partial>;
  const auto plan_for = streamed ? plan_streamed<Shape> : plan_whole<Shape>;
  const PredictedPlan planned = plan_for(p, multiprocessors);
  const int shares = share_count(p, multiprocessors, streamed);
  const std::size_t maxima_at = shares > 0 ? Memory::bytes(shares) : 0;
  const std::size_t operands_at = maxima_at + Maxima(p, nullptr).bytes();
  const auto run = [=, p_k = p.k](const Problem& problem, void* workspace, cudaStream_t stream) {
    Plan work = problem.k == p_k ? planned : plan_for(problem, multiprocessors);  // k may have become 0
    Memory::place(work.schedule, workspace, shares);
    void* const maxima = static_cast<char*>(workspace) + maxima_at;
    void* const operands = static_cast<char*>(workspace) + operands_at;
    launch_split(kernels, problem, maxima, operands, stream, [](auto... arguments) { launch_dependent(arguments...); });
    const bool pairs = rows_split_into_float2(problem.c, problem.n, problem.ldc);
    launch_dependent(pairs ? kernels.multiply : kernels.multiply_scalar, work.blocks, dim3(Shape::THREADS),
                     Rings<Int8x6>::SMEM_BYTES, stream, problem, maxima, operands, work.schedule);
  };
  return {{tile_name(Shape::BM, Shape::BN, streamed), operands_at + Workspace<Int8x6>(p, nullptr).bytes(), run,
           operands_at},
          planned.cycles};
}

/// The configurations: tiles of 128x128, whole and divided along k. The one with the shorter predicted time comes
/// first. Partial is the type of partial sums.
template <class Partial = float>
std::vector<Configuration> configurations(const Problem& p, const Kernels& kernels) {
  const int multiprocessors = current_device().multiprocessors;
  return fastest_first(
      {candidate<Partial>(p, kernels, multiprocessors, false), candidate<Partial>(p, kernels, multiprocessors, true)},
      std::numeric_limits<double>::infinity());
}

}  // namespace int8
}  // namespace split_product
}  // namespace SGEMM_TARGET
}  // namespace sgemm
