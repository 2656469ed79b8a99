// The kernels of chapters 11 and 12 for a GemmProblem: operands of any layout, scalars on the host or on the GPU.

#include "algorithms.hpp"
#include "common/target.hpp"
#include "common/vector_access.cuh"
#include "deferred_elements.cuh"
#include "engine/split_operands.cuh"
#include "engine/split_product.cuh"
#include "engine/stream_k.cuh"
#include "engine/terms_loop.cuh"
#include "epilogue_store.cuh"
#include "gemm_epilogue.hpp"
#include "gemm_problem.hpp"
#include "host/launch.cuh"
#include "operand_places.cuh"
#include "packed.hpp"
#include "predicted_time.hpp"
#include "split_algorithms.cuh"

#include <cuda_runtime.h>

#include <cstdint>
#include <vector>

namespace sgemm {
namespace SGEMM_TARGET::split_product {
namespace {

/// Splits A and B, and lowers the flags of the next kernel.
template <class Split, Reading READ_A, Reading READ_B>
__global__ void __launch_bounds__(SPLIT_THREADS, SPLIT_BLOCKS_PER_SM)
    gemm_split_kernel(GemmProblem p, void* workspace, Flags flags) {
  flags.lower();
  const Operands operands(p);
  split_tile<Split>(
      p, workspace, [&](const TileToSplit& to) { split_operand_tile<Split, READ_A>(operands.a, to); },
      [&](const TileToSplit& to) { split_operand_tile<Split, READ_B>(operands.b, to); });
}

template <class Loop, class Policy>
__global__ void __launch_bounds__(Policy::Shape::THREADS, 1)
    gemm_kernel(typename Policy::Problem p, OperandPlaces places, Schedule schedule) {
  using Split = typename Loop::Split;
  Policy::before_first_tile();
  produce_and_consume<Policy>(p, PlacedOperands<Split>(p, places), schedule, [&](const Rings<Split>& rings) {
    Loop::template consume<Policy>(p, schedule, rings);
    Policy::after_last_tile(p, schedule);
  });
}

/// Enqueues the kernel that splits what is not packed into a Workspace, and lowers the flags of the next kernel.
template <class Split>
void split_left(const GemmProblem& p, const PackedTiles& packed, void* operands, const Flags& flags,
                cudaStream_t stream) {
  const GemmProblem left = without_packed(p, packed);
  if (const std::int64_t tiles = Workspace<Split>(left, nullptr).count(); tiles > 0) {
    const auto kernel = kernel_for(readings_of(left), [](auto a, auto b) { return gemm_split_kernel<Split, a, b>; });
    launch(kernel, tiles, dim3(SPLIT_THREADS), 0, stream, left, operands, flags);
  } else {
    launch(lower_flags_kernel<Split>, 1, dim3(SPLIT_THREADS), 0, stream, flags,
           places_of<Split>(p, packed.a, packed.b, operands).progress);
  }
}

template <class Loop, class Shape>
Algorithm algorithm(const char* kernel, const Splitting& splitting, const GemmBatch& batch, int multiprocessors,
                    bool streamed) {
  using Split = typename Loop::Split;
  const GemmProblem& p = batch.first;
  const PackedTiles packed = p.packed_for(splitting.method);
  const LaunchMemory<SharesMemory<Shape::CONSUMER_WARPS, Shape::B_TILES, 64>> memory(
      plan<Shape>(p, multiprocessors, streamed), streamed ? multiprocessors : 0,
      Workspace<Split>(without_packed(p, packed), nullptr).bytes(), tiles_of_c(p));
  Algorithm algorithm = one_by_one<Shape>(kernel, 2, splitting, batch, multiprocessors, streamed, memory);
  read_packed(algorithm, splitting, p, packed);
  const auto run = [=, method = splitting.method](const GemmProblem& problem, const GemmEpilogue* epilogue,
                                                  void* workspace, cudaStream_t stream) {
    const auto work = memory.in(workspace);
    const Deferred deferred(tiles_of_c(problem), work.deferred);
    const PackedTiles tiles = problem.packed_for(method);
    split_left<Split>(problem, tiles, work.operands, work.flags, stream);
    const OperandPlaces places = places_of<Split>(problem, tiles.a, tiles.b, work.operands);
    const auto multiply = [&](const auto& kernel, const auto& with) {
      launch_dependent(kernel, work.blocks, dim3(Shape::THREADS), Rings<Split>::SMEM_BYTES, stream, with, places,
                       work.schedule);
    };
    if (epilogue != nullptr) {
      multiply(gemm_kernel<Loop, OneGemmWithEpilogue<Shape>>,
               EpilogueProblem(problem, deferred, *epilogue, has_pairs(problem, *epilogue)));
    } else {
      const bool pairs = rows_split_into<2>(problem.c, problem.n, problem.ldc);
      multiply(
          pairs ? gemm_kernel<Loop, OneGemm<Shape, Access::float2>> : gemm_kernel<Loop, OneGemm<Shape, Access::float1>>,
          DeferringProblem(problem, deferred));
    }
  };
  launch_by(algorithm, run);
  return algorithm;
}

template <class Loop>
std::vector<Algorithm> algorithms(const char* kernel, const Splitting& splitting, const GemmBatch& batch,
                                  int multiprocessors) {
  using Split = typename Loop::Split;
  std::vector<Algorithm> all;
  if (!batch.addresses_on_device() && can_run<Split>(batch.first)) {
    for (const bool streamed : {false, true}) {
      all.push_back(algorithm<Loop, Tile128x128<Split>>(kernel, splitting, batch, multiprocessors, streamed));
      all.push_back(algorithm<Loop, Tile128x256<Split>>(kernel, splitting, batch, multiprocessors, streamed));
    }
  }
  return all;
}

template <class Split>
Packing packing(const GemmProblem& rows) {
  if (!can_run<Split>(rows)) {
    return {};
  }
  return {Workspace<Split>(rows, nullptr).bytes(),
          [=](void* memory, cudaStream_t stream) { split_left<Split>(rows, {}, memory, {}, stream); }};
}

}  // namespace
}  // namespace SGEMM_TARGET::split_product

Packing bf16x6_packing(const GemmProblem& rows) { return split_product::packing<split_product::Bf16x6>(rows); }

Packing fp16x3_packing(const GemmProblem& rows) { return split_product::packing<split_product::Fp16x3>(rows); }

std::vector<Algorithm> bf16x6_algorithms(const GemmBatch& batch, int multiprocessors) {
  return split_product::algorithms<split_product::Bf16x6Loop>("11_bf16x6", BF16X6_SPLITTING, batch, multiprocessors);
}

std::vector<Algorithm> fp16x3_algorithms(const GemmBatch& batch, int multiprocessors) {
  return split_product::algorithms<split_product::Fp16x3Loop>("12_fp16x3", FP16X3_SPLITTING, batch, multiprocessors);
}

}  // namespace sgemm
