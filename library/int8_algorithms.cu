// The kernels of chapter 15 for a GemmProblem: operands of any layout, scalars on the host or on the GPU.

#include "algorithms.hpp"
#include "common/target.hpp"
#include "common/vector_access.cuh"
#include "deferred_elements.cuh"
#include "engine/int8_operands.cuh"
#include "engine/int8x6_loop.cuh"
#include "engine/reproducible.cuh"
#include "engine/reproducible_tile.cuh"
#include "engine/split_product.cuh"
#include "engine/stream_k.cuh"
#include "gemm_problem.hpp"
#include "host/launch.cuh"
#include "predicted_time.hpp"
#include "split_algorithms.cuh"

#include <cuda_runtime.h>

#include <cstdint>
#include <vector>

namespace sgemm {
namespace SGEMM_TARGET::split_product::int8 {
namespace {

/// The policy of chapter 15's kernels. An alpha of 0 has no sign: nothing is multiplied then.
template <class Shape_, Access ACCESS>
struct ReproducibleGemm : OneGemm<Shape_, ACCESS> {
  using Problem = DeferringProblem;

  __device__ __forceinline__ static Scalars scalars_of(const Problem& p) {
    const Scalars scalars = sgemm::scalars_of(p);
    return {scalars.alpha == 0.0F ? 0.0F : scalars.alpha, scalars.beta};
  }

  __device__ __forceinline__ static void store(const Problem& p, const Workspace<Int8x6>& workspace,
                                               const reproducible::CodesOfWarp& codes, const reproducible::Sums& sums) {
    reproducible::store<ReproducibleGemm, ACCESS>(p, workspace, codes, sums);
  }

  /// The block computes them after its last tile.
  __device__ __forceinline__ static void recompute(const Problem& p, const Workspace<Int8x6>&, const TilePlace& tile,
                                                   unsigned left_out) {
    defer(p, std::int64_t{tile.a} * TILE_ROWS + first_row(threadIdx.x),
          std::int64_t{tile.b} * TILE_ROWS + first_column(threadIdx.x), left_out);
  }

  /// Of the two elements of a pair, one may have been stored.
  __device__ __forceinline__ static void compute(const Problem& p, const Workspace<Int8x6>& workspace, int a_tile,
                                                 int b_tile) {
    const Scalars scalars = scalars_of(p);
    const unsigned char* const rows = reproducible::row_codes(workspace, a_tile);
    const unsigned char* const columns = reproducible::column_codes(workspace, b_tile);
    compute_tile<double>(p, a_tile, b_tile, [&](int row, int column, double sum) {
      if (rows[row] == UNSCALABLE_LINE || columns[column] == UNSCALABLE_LINE) {
        float& c = p.c[(std::int64_t{a_tile} * TILE_ROWS + row) * p.ldc + std::int64_t{b_tile} * TILE_ROWS + column];
        c = reproducible::updated<false>(scalars.alpha * sum, scalars.beta, scalars.beta == 0.0F ? 0.0F : c);
      }
    });
  }
};

template <class Policy>
__global__ void __launch_bounds__(Shape::THREADS, 1)
    reproducible_gemm_kernel(DeferringProblem p, void* operands, Schedule schedule) {
  Policy::before_first_tile();
  const Workspace<Int8x6> workspace(p, operands);
  produce_and_consume<Policy>(p, workspace, schedule, [&](const Rings<Int8x6>& rings) {
    reproducible::Int8x6Loop::consume<Policy>(p, workspace, schedule, rings);
    compute_deferred<Policy>(p, schedule,
                             [&](int a_tile, int b_tile) { Policy::compute(p, workspace, a_tile, b_tile); });
  });
}

/// Partial sums of C that blocks may have in the workspace. Sums that are cut into pieces take a place of their own
/// beside each block's share.
int share_count(const Problem& p, int multiprocessors, bool streamed) {
  const bool cut = k_tiles_of<Int8x6>(p) > MOST_K_TILES;
  return cut ? 2 * multiprocessors : streamed ? multiprocessors : 0;
}

/// Products of digits take so many times as long as split_launch.cuh says: measured on an H200.
constexpr double CYCLES = 1.08;

Algorithm algorithm(const GemmBatch& batch, int multiprocessors, bool streamed) {
  const GemmProblem& p = batch.first;
  PredictedPlan planned = plan<Shape>(p, multiprocessors, streamed);
  planned.cycles *= CYCLES;
  const LaunchMemory<SharesMemory<Shape::CONSUMER_WARPS, Shape::B_TILES, 64, reproducible::Sum>> memory(
      planned, share_count(p, multiprocessors, streamed), Workspace<Int8x6>(p, nullptr).bytes(), tiles_of_c(p));
  Algorithm algorithm = one_by_one<Shape>("15_reproducible", 2, of_lines(REPRODUCIBLE_SPLITTING, p), batch,
                                          multiprocessors, streamed, memory);
  algorithm.launch = one_after_the_other([=](const GemmProblem& problem, void* workspace, cudaStream_t stream) {
    const auto work = memory.in(workspace);
    void* const operands = work.operands;
    launch_lines(problem, DigitLines(problem, operands), work.flags, stream);
    const bool pairs = rows_split_into<2>(problem.c, problem.n, problem.ldc);
    launch_dependent(pairs ? reproducible_gemm_kernel<ReproducibleGemm<Shape, Access::float2>>
                           : reproducible_gemm_kernel<ReproducibleGemm<Shape, Access::float1>>,
                     work.blocks, dim3(Shape::THREADS), Rings<Int8x6>::SMEM_BYTES, stream,
                     DeferringProblem(problem, Deferred(tiles_of_c(problem), work.deferred)), operands, work.schedule);
  });
  return algorithm;
}

}  // namespace
}  // namespace SGEMM_TARGET::split_product::int8

std::vector<Algorithm> reproducible_algorithms(const GemmBatch& batch, int multiprocessors) {
  std::vector<Algorithm> all;
  if (!batch.addresses_on_device() && split_product::can_run<split_product::Int8x6>(batch.first)) {
    for (const bool streamed : {false, true}) {
      all.push_back(split_product::int8::algorithm(batch, multiprocessors, streamed));
    }
  }
  return all;
}

}  // namespace sgemm
