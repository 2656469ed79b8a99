// Three FP16 products that keep small numbers, for a GemmProblem: operands of any layout, scalars on the host or on the
// GPU. The first of five kernels looks at samples, the second splits whole lines, and the third writes what two terms
// do not hold. The fourth multiplies. Where tiles would need so many residuals that the six BF16 products of chapter
// 11 are faster, the third kernel splits for these instead, and the fifth multiplies.

#include "algorithms.hpp"
#include "common/target.hpp"
#include "common/vector_access.cuh"
#include "deferred_elements.cuh"
#include "engine/int8_operands.cuh"
#include "engine/line_terms.cuh"
#include "engine/lines_loop.cuh"
#include "engine/split_operands.cuh"
#include "engine/split_product.cuh"
#include "engine/stream_k.cuh"
#include "engine/terms_loop.cuh"
#include "epilogue_store.cuh"
#include "gemm_epilogue.hpp"
#include "gemm_problem.hpp"
#include "host/launch.cuh"
#include "predicted_time.hpp"
#include "ptx/griddepcontrol.cuh"
#include "split_algorithms.cuh"

#include <cuda_runtime.h>

#include <vector>

namespace sgemm {
namespace SGEMM_TARGET::split_product {
namespace {

__global__ void __launch_bounds__(SPLIT_THREADS) gemm_prepare_lines_kernel(GemmProblem p, LineTerms lines) {
  const Operands operands(p);
  lines.prepare(operands.a, !p.a_transposed, operands.b, p.b_transposed);
}

template <Reading READ_A, Reading READ_B>
__global__ void __launch_bounds__(SPLIT_THREADS, SPLIT_BLOCKS_PER_SM)
    gemm_split_left_over_kernel(GemmProblem p, LineTerms lines, Workspace<Bf16x6> six) {
  __shared__ uint4 shared[OperandTile<Bf16x6>::TERM_BYTES / sizeof(uint4)];
  griddepcontrol_launch_dependents();
  const Operands operands(p);
  griddepcontrol_wait();
  if (!lines.takes_six()) {
    lines.split_residuals(p, int8::line_reader<READ_A>(operands.a), int8::line_reader<READ_B>(operands.b));
    return;
  }
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    ProgressWindow::reset(six.progress());
  }
#pragma unroll 1
  for (auto tile = static_cast<int>(blockIdx.x); tile < six.count(); tile += static_cast<int>(gridDim.x)) {
    split_tile(
        p, six, tile, shared, [&](const TileToSplit& to) { split_operand_tile<Bf16x6, READ_A>(operands.a, to); },
        [&](const TileToSplit& to) { split_operand_tile<Bf16x6, READ_B>(operands.b, to); });
    __syncthreads();  // before others write to shared memory again
  }
}

/// Three products, unless six have to be taken.
template <class Policy>
__global__ void __launch_bounds__(Policy::Shape::THREADS, 1)
    gemm_lines_kernel(typename Policy::Problem p, LineTerms lines, Schedule schedule) {
  griddepcontrol_launch_dependents();
  Policy::before_first_tile();
  griddepcontrol_wait();
  if (!lines.takes_six()) {
    produce_and_consume<Policy, LinesProducer>(p, lines, schedule, [&](const Rings<LineTerms::Split>& rings) {
      LinesLoop::consume<Policy>(p, schedule, lines, rings);
      Policy::after_last_tile(p, schedule);
    });
  }
}

/// Six products then. In one kernel with the three they take 7 % longer.
template <class Policy>
__global__ void __launch_bounds__(Policy::Shape::THREADS, 1)
    gemm_six_kernel(typename Policy::Problem p, LineTerms lines, Workspace<Bf16x6> six, Schedule schedule) {
  Policy::before_first_tile();
  griddepcontrol_wait();
  if (lines.takes_six()) {
    produce_and_consume<Policy>(p, six, schedule, [&](const Rings<Bf16x6>& rings) {
      Bf16x6Loop::consume<Policy>(p, schedule, rings);
      Policy::after_last_tile(p, schedule);
    });
  }
}

template <class ThreePolicy, class SixPolicy>
void multiply(const typename ThreePolicy::Problem& p, const LineTerms& lines, const Plan& plan, cudaStream_t stream) {
  launch_dependent(gemm_lines_kernel<ThreePolicy>, plan.blocks, dim3(ThreePolicy::Shape::THREADS),
                   Rings<LineTerms::Split>::SMEM_BYTES, stream, p, lines, plan.schedule);
  launch_dependent(gemm_six_kernel<SixPolicy>, plan.blocks, dim3(SixPolicy::Shape::THREADS), Rings<Bf16x6>::SMEM_BYTES,
                   stream, p, lines, lines.six(p), plan.schedule);
}

/// From where on six products are faster, by the predictions for the plan.
template <class Three, class Six>
MostResiduals most_residuals(const GemmProblem& p, const PredictedPlan& plan) {
  const double elements = (static_cast<double>(p.m) + static_cast<double>(p.n)) * static_cast<double>(p.k);
  const auto us = [](const Splitting& splitting, double cycles, double split, double streamed) {
    return microseconds(board_model(), {splitting.method, 0.0, cycles, split * splitting.bytes, 0.0, 0.0, streamed});
  };
  const auto tiles = static_cast<int>(tile_count<Three>(p));
  const double step = us(LINES_SPLITTING, UNEVEN * plan.cycles, elements / 2, residual_bytes<Three>(plan, tiles));
  const double left = us(BF16X6_SPLITTING, predicted_cycles<Six>(p, plan, tiles), elements, 0.0) -
                      us(LINES_SPLITTING, plan.cycles, 0.0, 0.0);
  return {static_cast<float>((left - us(LINES_SPLITTING, 0.0, elements, 0.0)) / step), static_cast<float>(left / step),
          Three::B_TILES};
}

template <int B_TILES>
Algorithm algorithm(const GemmBatch& batch, int multiprocessors, bool streamed) {
  using Three = BlockTile<LineTerms::Split, B_TILES>;
  using Six = BlockTile<Bf16x6, B_TILES>;
  const GemmProblem& p = batch.first;
  const LaunchMemory<SharesMemory<Three::CONSUMER_WARPS, B_TILES, 64>> memory(
      plan<Three>(p, multiprocessors, streamed), streamed ? multiprocessors : 0, LineTerms(p, nullptr).bytes(),
      tiles_of_c(p));
  const MostResiduals most = most_residuals<Three, Six>(p, memory.planned);
  Algorithm algorithm = one_by_one<Three>("12_fp16x3_lines", 5, int8::of_lines(LINES_SPLITTING, p), batch,
                                          multiprocessors, streamed, memory);
  const auto run = [=](const GemmProblem& problem, const GemmEpilogue* epilogue, void* workspace, cudaStream_t stream) {
    const auto work = memory.in(workspace);
    const LineTerms lines(problem, work.operands, most);
    const Deferred deferred(tiles_of_c(problem), work.deferred);
    launch(gemm_prepare_lines_kernel, LineTerms::SAMPLES, dim3(SPLIT_THREADS), 0, stream, problem, lines);
    int8::launch_lines(problem, lines, work.flags, stream);
    const auto split_left_over =
        kernel_for(readings_of(problem), [](auto a, auto b) { return gemm_split_left_over_kernel<a, b>; });
    launch_dependent(split_left_over, SPLIT_BLOCKS_PER_SM * multiprocessors, dim3(SPLIT_THREADS), 0, stream, problem,
                     lines, lines.six(problem));
    const DeferringProblem plain(problem, deferred);
    if (epilogue != nullptr) {
      const EpilogueProblem with(problem, deferred, *epilogue, has_pairs(problem, *epilogue));
      multiply<OneGemmWithEpilogue<Three>, OneGemmWithEpilogue<Six>>(with, lines, work, stream);
    } else if (rows_split_into<2>(problem.c, problem.n, problem.ldc)) {
      multiply<OneGemm<Three, Access::float2>, OneGemm<Six, Access::float2>>(plain, lines, work, stream);
    } else {
      multiply<OneGemm<Three, Access::float1>, OneGemm<Six, Access::float1>>(plain, lines, work, stream);
    }
  };
  launch_by(algorithm, run);
  return algorithm;
}

}  // namespace
}  // namespace SGEMM_TARGET::split_product

std::vector<Algorithm> lines_algorithms(const GemmBatch& batch, int multiprocessors) {
  std::vector<Algorithm> all;
  if (!batch.addresses_on_device() && split_product::can_run<split_product::Bf16x6>(batch.first)) {
    for (const bool streamed : {false, true}) {
      all.push_back(split_product::algorithm<1>(batch, multiprocessors, streamed));
      all.push_back(split_product::algorithm<2>(batch, multiprocessors, streamed));
    }
  }
  return all;
}

}  // namespace sgemm
