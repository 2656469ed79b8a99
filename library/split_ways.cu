// The kernels of chapters 11 and 12 for a GemmProblem: operands of any layout, scalars on the host or on the GPU.
//
// Only the kernel that splits reads A and B, in one of two patterns: along k, as rows of A lie, or across k, as columns
// of B lie. A transposed operand is read in the other one's pattern, so that all four layouts cost about the same.

#include "common/ceil_div.hpp"
#include "common/target.hpp"
#include "engine/split_operands.cuh"
#include "engine/split_product.cuh"
#include "engine/split_schemes.cuh"
#include "engine/stream_k.cuh"
#include "gemm_problem.hpp"
#include "gemm_scalars.cuh"
#include "host/alignment.hpp"
#include "host/cost_model.cuh"
#include "host/launch.cuh"
#include "host/split_launch.cuh"
#include "postponed_elements.cuh"
#include "predicted_time.hpp"
#include "ways.hpp"

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace sgemm {
inline namespace SGEMM_TARGET {

namespace split_product {
namespace {

/// How an operand's lines are read.
enum class Reading {
  along_k_by_four,  ///< lines split into aligned groups of four
  along_k,
  across_k,
};

template <class Scheme>
__device__ __forceinline__ void split_lines(const Lines& lines, Reading reading, std::int64_t panel,
                                            std::int64_t k_tile, unsigned char* terms, Scaling& scaling,
                                            uint4* shared) {
  unsigned* const words = reinterpret_cast<unsigned*>(shared);
  if (reading == Reading::along_k_by_four) {
    split_rows<Scheme, true>(lines, panel, k_tile, terms, scaling, words);
  } else if (reading == Reading::along_k) {
    split_rows<Scheme, false>(lines, panel, k_tile, terms, scaling, words);
  } else {
    split_columns<Scheme>(lines, panel, k_tile, terms, scaling, reinterpret_cast<unsigned char*>(shared));
  }
}

/// Words in the workspace that are 0 when the next kernel starts.
struct Zeros {
  unsigned* at;
  int count;

  /// By a whole block.
  __device__ __forceinline__ void write() const {
    for (int i = static_cast<int>(threadIdx.x); i < count; i += SPLIT_THREADS) {
      at[i] = 0;
    }
  }
};

/// Splits A and B, and lowers the flags of the next kernel, which then may find anything in its workspace.
template <class Scheme>
__global__ void __launch_bounds__(SPLIT_THREADS, SPLIT_BLOCKS_PER_SM)
    gemm_split_kernel(GemmProblem p, Reading read_a, Reading read_b, void* workspace, Zeros stream_k) {
  if (blockIdx.x == 0) {
    stream_k.write();
  }
  // Where alpha is 0, the operands are not read and count as zeros.
  const bool used = scalars_of(p).alpha != 0.0F;
  const Lines a{p.a, p.lda, used ? p.m : 0, p.k};
  const Lines b{p.b, p.ldb, used ? p.n : 0, p.k};
  split_tile<Scheme>(
      p, workspace,
      [&](std::int64_t panel, std::int64_t k_tile, unsigned char* terms, Scaling& scaling, uint4* shared) {
        split_lines<Scheme>(a, read_a, panel, k_tile, terms, scaling, shared);
      },
      [&](std::int64_t panel, std::int64_t k_tile, unsigned char* terms, Scaling& scaling, uint4* shared) {
        split_lines<Scheme>(b, read_b, panel, k_tile, terms, scaling, shared);
      });
}

template <class Shape, bool PAIRS>
__global__ void __launch_bounds__(Shape::THREADS, 1)
    gemm_kernel(PostponingProblem p, void* workspace, Schedule schedule) {
  postpone_nothing();
  multiply<Shape, PAIRS>(p, workspace, schedule);
}

Reading reading(const float* data, std::int64_t stride, std::int64_t depth, bool along_k) {
  return !along_k                                      ? Reading::across_k
         : rows_split_into_float4(data, depth, stride) ? Reading::along_k_by_four
                                                       : Reading::along_k;
}

template <class Shape>
Way way(const char* kernel, const SplitRates& rates, const GemmProblem& p, int multiprocessors, bool streamed,
        std::int64_t batch_count) {
  using Scheme = typename Shape::Scheme;
  using Memory = SharesMemory<Shape::CONSUMER_WARPS, Shape::PANELS, 64>;
  const PredictedPlan planned =
      streamed ? plan_streamed<Shape>(p, multiprocessors) : plan_whole<Shape>(p, multiprocessors);
  const std::size_t operands_at = streamed ? Memory::bytes(multiprocessors) : 0;
  const int flag_count = streamed ? multiprocessors * Shape::CONSUMER_WARPS : 0;
  Way way;
  way.kernel = kernel;
  way.configuration = tile_name(Shape::BM, Shape::BN, streamed);
  const std::size_t postponed_at = operands_at + Workspace<Scheme>(p, nullptr).bytes();
  way.workspace_bytes = postponed_at + Postponed::bytes(p);
  way.microseconds = split_microseconds(rates, {p.m, p.n, p.k, multiprocessors}, planned.cycles, batch_count);
  way.kernels = 2;
  way.launch = [=](const GemmProblem& problem, void* workspace, cudaStream_t stream) {
    Plan work = planned;
    Memory::place(work.schedule, workspace, multiprocessors);
    void* const operands = static_cast<char*>(workspace) + operands_at;
    const Postponed postponed(problem, static_cast<char*>(workspace) + postponed_at);
    launch(gemm_split_kernel<Scheme>, Workspace<Scheme>(problem, nullptr).count(), dim3(SPLIT_THREADS), 0, stream,
           problem, reading(problem.a, problem.lda, problem.k, !problem.a_transposed),
           reading(problem.b, problem.ldb, problem.k, problem.b_transposed), operands,
           Zeros{work.schedule.flags, flag_count});
    const bool pairs = rows_split_into_float2(problem.c, problem.n, problem.ldc);
    launch_dependent(pairs ? gemm_kernel<Shape, true> : gemm_kernel<Shape, false>, work.blocks, dim3(Shape::THREADS),
                     Rings<Scheme>::SMEM_BYTES, stream, PostponingProblem(problem, postponed), operands, work.schedule);
  };
  return way;
}

/// Whether this build has code for the current device, and its grids and counters room for the problem.
template <class Scheme>
bool can_run(const GemmProblem& p) {
#ifndef SGEMM_CODE_FOR_SM_90A
  if (TARGET == Target::for_gpu) {
    return false;
  }
#endif
  return current_device().compute_capability == 90 &&
         Workspace<Scheme>(p, nullptr).count() <= std::numeric_limits<int>::max();
}

template <class Scheme>
std::vector<Way> ways(const char* kernel, const SplitRates& rates, const GemmProblem& p, int multiprocessors,
                      std::int64_t batch_count) {
  std::vector<Way> all;
  if (can_run<Scheme>(p)) {
    for (const bool streamed : {false, true}) {
      all.push_back(way<Tile128x128<Scheme>>(kernel, rates, p, multiprocessors, streamed, batch_count));
      all.push_back(way<Tile128x256<Scheme>>(kernel, rates, p, multiprocessors, streamed, batch_count));
    }
  }
  return all;
}

}  // namespace
}  // namespace split_product
}  // namespace SGEMM_TARGET

std::vector<Way> bf16x6_ways(const GemmProblem& p, int multiprocessors, std::int64_t batch_count) {
  return split_product::ways<split_product::Bf16x6>("11_bf16x6", BF16X6_RATES, p, multiprocessors, batch_count);
}

std::vector<Way> fp16x3_ways(const GemmProblem& p, int multiprocessors, std::int64_t batch_count) {
  return split_product::ways<split_product::Fp16x3>("12_fp16x3", FP16X3_RATES, p, multiprocessors, batch_count);
}

}  // namespace sgemm
