// The kernels of chapters 11 and 12 for a GemmProblem: operands of any layout, scalars on the host or on the GPU.

#include "algorithms.hpp"
#include "common/target.hpp"
#include "deferred_elements.cuh"
#include "engine/split_launch.cuh"
#include "engine/split_operands.cuh"
#include "engine/split_product.cuh"
#include "engine/stream_k.cuh"
#include "engine/terms_loop.cuh"
#include "epilogue_alignment.hpp"
#include "epilogue_store.cuh"
#include "gemm_epilogue.hpp"
#include "gemm_problem.hpp"
#include "host/alignment.hpp"
#include "host/launch.cuh"
#include "line_sums.hpp"
#include "operand_places.cuh"
#include "packed.hpp"
#include "predicted_time.hpp"
#include "split_algorithms.cuh"

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sgemm {
inline namespace SGEMM_TARGET {

namespace split_product {
namespace {

/// Where the sums of operand tiles go, one for each k-tile and line; null: nowhere.
struct SumsOfTiles {
  float* a = nullptr;
  float* b = nullptr;
};

/// Adds up the lines of an operand tile. The block splits it next, and finds it in the L1 then.
template <Reading READING>
__device__ __forceinline__ void add_up_operand_tile(const Operand& lines, std::int64_t tile, std::int64_t k_tile,
                                                    float* sums, uint4* shared) {
  sums += k_tile * lines.count;
  const std::int64_t first_k = k_tile * BK;
  if constexpr (READING == Reading::across_k) {
    constexpr int HALVES = SPLIT_THREADS / TILE_ROWS;  // a thread has every other number of its line
    static_assert(HALVES == 2);
    const std::int64_t line = tile * TILE_ROWS + threadIdx.x % TILE_ROWS;
    const int half = static_cast<int>(threadIdx.x) / TILE_ROWS;
    const float* const from = lines.data + first_k * lines.stride + line;
    float sum = 0.0F;
#pragma unroll
    for (int k = 0; k < BK; k += HALVES) {
      sum += load_or_zero(from + (k + half) * lines.stride, line < lines.count && first_k + k + half < lines.depth);
    }
    float* const halves = reinterpret_cast<float*>(shared);
    halves[threadIdx.x] = sum;
    __syncthreads();
    if (half == 0 && line < lines.count) {
      sums[line] = sum + halves[threadIdx.x + TILE_ROWS];
    }
    __syncthreads();
  } else {
    constexpr int LANES = BK / 4;  // of a line
    constexpr int LINES = SPLIT_THREADS / LANES;
    const int lane = static_cast<int>(threadIdx.x) % LANES;
    float of_lane[TILE_ROWS / LINES];
#pragma unroll
    for (int i = 0; i < TILE_ROWS / LINES; ++i) {
      const std::int64_t line = tile * TILE_ROWS + i * LINES + threadIdx.x / LANES;
      const float* const from = lines.data + line * lines.stride + first_k;
      const bool inside = line < lines.count;
      if constexpr (READING == Reading::along_k_by_four) {
        const float4 four = load_float4_or_zero(from + 4 * lane, inside && first_k + 4 * lane < lines.depth);
        of_lane[i] = (four.x + four.y) + (four.z + four.w);
      } else {
        of_lane[i] = 0.0F;
#pragma unroll
        for (int j = lane; j < BK; j += LANES) {
          of_lane[i] += load_or_zero(from + j, inside && first_k + j < lines.depth);
        }
      }
    }
#pragma unroll
    for (int i = 0; i < TILE_ROWS / LINES; ++i) {
#pragma unroll
      for (int lanes = LANES / 2; lanes > 0; lanes /= 2) {
        of_lane[i] += __shfl_xor_sync(~0U, of_lane[i], lanes);
      }
      const std::int64_t line = tile * TILE_ROWS + i * LINES + threadIdx.x / LANES;
      if (lane == 0 && line < lines.count) {
        sums[line] = of_lane[i];
      }
    }
  }
}

/// Splits A and B, and lowers the flags of the next kernel.
template <class Scheme, Reading READ_A, Reading READ_B>
__global__ void __launch_bounds__(SPLIT_THREADS, SPLIT_BLOCKS_PER_SM)
    gemm_split_kernel(GemmProblem p, void* workspace, Flags flags, SumsOfTiles sums) {
  flags.lower();
  const Operands operands(p);
  split_tile<Scheme>(
      p, workspace,
      [&](std::int64_t tile, std::int64_t k_tile, unsigned char* terms, Scaling& scaling, uint4* shared) {
        if (sums.a != nullptr) {
          add_up_operand_tile<READ_A>({p.a, p.lda, p.m, p.k}, tile, k_tile, sums.a, shared);
        }
        split_operand_tile<Scheme, READ_A>(operands.a, tile, k_tile, terms, scaling, shared);
      },
      [&](std::int64_t tile, std::int64_t k_tile, unsigned char* terms, Scaling& scaling, uint4* shared) {
        if (sums.b != nullptr) {
          add_up_operand_tile<READ_B>({p.b, p.ldb, p.n, p.k}, tile, k_tile, sums.b, shared);
        }
        split_operand_tile<Scheme, READ_B>(operands.b, tile, k_tile, terms, scaling, shared);
      });
}

template <class Scheme>
struct SplitKernel {
  template <Reading READ_A, Reading READ_B>
  static auto get() {
    return gemm_split_kernel<Scheme, READ_A, READ_B>;
  }
};

template <class Loop, class Policy>
__global__ void __launch_bounds__(Policy::Shape::THREADS, 1)
    gemm_kernel(typename Policy::Problem p, OperandPlaces places, Schedule schedule) {
  using Scheme = typename Loop::Scheme;
  Policy::before_first_tile();
  produce_and_consume<Policy>(p, PlacedOperands<Scheme>(p, places), schedule, [&](const Rings<Scheme>& rings) {
    Loop::template consume<Policy>(p, schedule, rings);
    Policy::after_last_tile(p, schedule);
  });
}

/// Enqueues the kernel that splits what is not packed into a Workspace, and lowers the flags of the next kernel.
template <class Scheme>
void split_left(const GemmProblem& p, const PackedTiles& packed, void* operands, const Flags& flags,
                const SumsOfTiles& sums, cudaStream_t stream) {
  const GemmProblem left = without_packed(p, packed);
  if (const std::int64_t tiles = Workspace<Scheme>(left, nullptr).count(); tiles > 0) {
    launch(kernel_for<SplitKernel<Scheme>>(readings_of(left)), tiles, dim3(SPLIT_THREADS), 0, stream, left, operands,
           flags, sums);
  } else {
    launch(lower_flags_kernel<Scheme>, 1, dim3(SPLIT_THREADS), 0, stream, flags,
           places_of<Scheme>(p, packed.a, packed.b, operands).progress);
  }
}

template <class Loop, class Shape>
Algorithm algorithm(const char* kernel, const Splitting& splitting, const GemmBatch& batch, int multiprocessors,
                    bool streamed) {
  using Scheme = typename Loop::Scheme;
  using Memory = SharesMemory<Shape::CONSUMER_WARPS, Shape::B_TILES, 64>;
  const GemmProblem& p = batch.first;
  const PackedTiles packed = p.packed_for(splitting.method);
  const PredictedPlan planned =
      streamed ? plan_streamed<Shape>(p, multiprocessors) : plan_whole<Shape>(p, multiprocessors);
  const std::size_t operands_at = streamed ? Memory::bytes(multiprocessors) : 0;
  const int flag_count = streamed ? multiprocessors * Shape::CONSUMER_WARPS : 0;
  Algorithm algorithm;
  algorithm.kernel = kernel;
  algorithm.configuration = tile_name(Shape::BM, Shape::BN, streamed);
  const std::size_t deferred_at = operands_at + Workspace<Scheme>(without_packed(p, packed), nullptr).bytes();
  algorithm.workspace_bytes = deferred_at + Deferred::bytes(tiles_of_c(p));
  const std::size_t sums_at = algorithm.workspace_bytes;
  const auto sums_bytes = [&](std::int64_t lines) {
    return static_cast<std::size_t>(lines * k_tiles_of<Scheme>(p)) * sizeof(float);
  };
  algorithm.sums_of_a_bytes = packed.a == nullptr && batch.count == 1 ? sums_bytes(p.m) : 0;
  algorithm.sums_of_b_bytes = packed.b == nullptr && batch.count == 1 ? sums_bytes(p.n) : 0;
  algorithm.cost = split_cost(splitting, {p.m, p.n, p.k, multiprocessors}, batch.count, batch.count,
                              static_cast<double>(batch.count) * planned.cycles);
  read_packed(algorithm, splitting, p, packed);
  algorithm.launches = batch.count;
  algorithm.kernels = 2;
  const auto run = [=, method = splitting.method](const GemmProblem& problem, const GemmEpilogue* epilogue,
                                                  void* workspace, cudaStream_t stream) {
    Plan work = planned;
    Memory::place(work.schedule, workspace, multiprocessors);
    void* const operands = static_cast<char*>(workspace) + operands_at;
    const Deferred deferred(tiles_of_c(problem), static_cast<char*>(workspace) + deferred_at);
    const PackedTiles tiles = problem.packed_for(method);
    SumsOfTiles sums;
    Lines of_tiles;  // one of them is a k-tile's sums of all lines
    if (epilogue != nullptr && epilogue->sums_operand()) {
      auto* const at = reinterpret_cast<float*>(static_cast<char*>(workspace) + sums_at);
      const bool of_a = epilogue->sums_of == SGEMM_SUMS_OF_A;
      (of_a ? sums.a : sums.b) = at;
      of_tiles.data = at;
      of_tiles.count = of_a ? problem.m : problem.n;
      of_tiles.depth = k_tiles_of<Scheme>(problem);
      of_tiles.stride = of_tiles.count;
      of_tiles.along = false;
    }
    split_left<Scheme>(problem, tiles, operands, Flags{work.schedule.flags, flag_count}, sums, stream);
    const OperandPlaces places = places_of<Scheme>(problem, tiles.a, tiles.b, operands);
    const auto multiply = [&](const auto& kernel, const auto& with) {
      launch_dependent(kernel, work.blocks, dim3(Shape::THREADS), Rings<Scheme>::SMEM_BYTES, stream, with, places,
                       work.schedule);
    };
    if (epilogue != nullptr && epilogue->changes_d(problem)) {
      multiply(gemm_kernel<Loop, OneGemmWithEpilogue<Shape>>,
               EpilogueProblem(problem, deferred, *epilogue, splits_into<2>(problem, *epilogue)));
    } else {
      const bool pairs = rows_split_into_float2(problem.c, problem.n, problem.ldc);
      multiply(
          pairs ? gemm_kernel<Loop, OneGemm<Shape, Access::float2>> : gemm_kernel<Loop, OneGemm<Shape, Access::float1>>,
          DeferringProblem(problem, deferred));
    }
    if (of_tiles.data != nullptr) {
      add_up_last(of_tiles, epilogue->sums, stream);
    }
  };
  algorithm.launch = one_after_the_other([=](const GemmProblem& problem, void* workspace, cudaStream_t stream) {
    run(problem, nullptr, workspace, stream);
  });
  algorithm.launch_with_epilogue = [=](const GemmBatch& of, const GemmEpilogue& epilogue, void* workspace,
                                       cudaStream_t stream) { run(of.first, &epilogue, workspace, stream); };
  return algorithm;
}

template <class Loop>
std::vector<Algorithm> algorithms(const char* kernel, const Splitting& splitting, const GemmBatch& batch,
                                  int multiprocessors) {
  using Scheme = typename Loop::Scheme;
  std::vector<Algorithm> all;
  if (!batch.addresses_on_device() && can_run<Scheme>(batch.first)) {
    for (const bool streamed : {false, true}) {
      all.push_back(algorithm<Loop, Tile128x128<Scheme>>(kernel, splitting, batch, multiprocessors, streamed));
      all.push_back(algorithm<Loop, Tile128x256<Scheme>>(kernel, splitting, batch, multiprocessors, streamed));
    }
  }
  return all;
}

template <class Scheme>
Packing packing(const GemmProblem& rows) {
  if (!can_run<Scheme>(rows)) {
    return {};
  }
  return {Workspace<Scheme>(rows, nullptr).bytes(),
          [=](void* memory, cudaStream_t stream) { split_left<Scheme>(rows, {}, memory, {}, {}, stream); }};
}

}  // namespace
}  // namespace split_product
}  // namespace SGEMM_TARGET

Packing bf16x6_packing(const GemmProblem& rows) { return split_product::packing<split_product::Bf16x6>(rows); }

Packing fp16x3_packing(const GemmProblem& rows) { return split_product::packing<split_product::Fp16x3>(rows); }

std::vector<Algorithm> bf16x6_algorithms(const GemmBatch& batch, int multiprocessors) {
  return split_product::algorithms<split_product::Bf16x6Loop>("11_bf16x6", BF16X6_SPLITTING, batch, multiprocessors);
}

std::vector<Algorithm> fp16x3_algorithms(const GemmBatch& batch, int multiprocessors) {
  return split_product::algorithms<split_product::Fp16x3Loop>("12_fp16x3", FP16X3_SPLITTING, batch, multiprocessors);
}

}  // namespace sgemm
