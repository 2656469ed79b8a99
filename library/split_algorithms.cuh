#pragma once

// What the library's kernels of chapters 11, 12 and 13 have in common. Only kernels that split read A and B, in one of
// two patterns: along k, as rows of A lie, or across k, as columns of B lie. A transposed operand is read in the other
// one's pattern, so that all four layouts cost about the same.

#include "algorithm.hpp"
#include "common/ceil_div.hpp"
#include "common/cuda_check.hpp"
#include "common/target.hpp"
#include "common/vector_access.cuh"
#include "deferred_elements.cuh"
#include "engine/int8_operands.cuh"
#include "engine/split_launch.cuh"
#include "engine/split_operands.cuh"
#include "gemm_epilogue.hpp"
#include "gemm_problem.hpp"
#include "gemm_scalars.cuh"
#include "host/launch.cuh"
#include "operand_places.cuh"
#include "predicted_time.hpp"
#include "ptx/griddepcontrol.cuh"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

namespace sgemm::SGEMM_TARGET::split_product {

/// How the rows of op(A) or the columns of op(B) are read.
enum class Reading {
  k_major_by_four,  ///< each splits into aligned groups of four
  k_major,
  mn_major,
};

inline Reading reading(const float* data, std::int64_t stride, std::int64_t depth, bool k_major) {
  return !k_major                                      ? Reading::mn_major
         : rows_split_into_float4(data, depth, stride) ? Reading::k_major_by_four
                                                       : Reading::k_major;
}

/// How both operands are read.
struct Readings {
  Reading a;
  Reading b;
};

inline Readings readings_of(const GemmProblem& p) {
  return {reading(p.a, p.lda, p.k, !p.a_transposed), reading(p.b, p.ldb, p.k, p.b_transposed)};
}

/// kernel(a, b), where a and b are std::integral_constants of the readings. Kernels have them as parameters of the
/// template, so that nothing stands between the loads of a thread, and their code is short.
template <class KernelFor>
auto kernel_for(const Readings& read, const KernelFor& kernel) {
  constexpr std::integral_constant<Reading, Reading::k_major_by_four> BY_FOUR{};
  constexpr std::integral_constant<Reading, Reading::k_major> K_MAJOR{};
  constexpr std::integral_constant<Reading, Reading::mn_major> MN_MAJOR{};
  const auto with_a = [&](auto a) {
    return read.b == BY_FOUR ? kernel(a, BY_FOUR) : read.b == K_MAJOR ? kernel(a, K_MAJOR) : kernel(a, MN_MAJOR);
  };
  return read.a == BY_FOUR ? with_a(BY_FOUR) : read.a == K_MAJOR ? with_a(K_MAJOR) : with_a(MN_MAJOR);
}

/// kernel(a, b), where a and b are std::bool_constants of whether the operands lie along k.
template <class KernelFor>
auto kernel_for_layout(const GemmProblem& p, const KernelFor& kernel) {
  constexpr std::true_type K_MAJOR{};
  constexpr std::false_type MN_MAJOR{};
  const auto with_a = [&](auto a) { return p.b_transposed ? kernel(a, K_MAJOR) : kernel(a, MN_MAJOR); };
  return p.a_transposed ? with_a(MN_MAJOR) : with_a(K_MAJOR);
}

/// Both operands in global memory. Where alpha is 0, the operands are not read and count as zeros.
struct Operands {
  Operand a;
  Operand b;

  __device__ __forceinline__ explicit Operands(const GemmProblem& p) {
    const bool used = scalars_of(p).alpha != 0.0F;
    a = {p.a, p.lda, used ? p.m : 0, p.k};
    b = {p.b, p.ldb, used ? p.n : 0, p.k};
  }
};

/// The flags of stream-k, which are 0 when the kernel that multiplies starts. It may find anything else in its
/// workspace.
struct Flags {
  unsigned* at;
  int count;

  /// By all blocks of the kernel before.
  __device__ __forceinline__ void lower() const {
    if (blockIdx.x == 0) {
      for (int i = static_cast<int>(threadIdx.x); i < count; i += SPLIT_THREADS) {
        at[i] = 0;
      }
    }
  }
};

/// What a call has to split: the problem without its packed operands.
inline GemmProblem without_packed(GemmProblem p, const PackedTiles& packed) {
  p.m = packed.a == nullptr ? p.m : 0;
  p.n = packed.b == nullptr ? p.n : 0;
  return p;
}

/// Takes the place of the kernel that splits where both operands are packed.
template <class Split>
__global__ void __launch_bounds__(SPLIT_THREADS) lower_flags_kernel(Flags flags, unsigned* progress) {
  griddepcontrol_launch_dependents();
  flags.lower();
  if (threadIdx.x == 0) {
    ProgressWindow::reset(progress);
  }
}

/// Makes an algorithm, of a product that splits both operands, that of one whose packed operands are not split.
inline void read_packed(Algorithm& algorithm, const Splitting& splitting, const GemmProblem& p,
                        const PackedTiles& packed) {
  const std::int64_t lines = (packed.a != nullptr ? p.m : 0) + (packed.b != nullptr ? p.n : 0);
  if (lines > 0) {
    algorithm.reads_packed = true;
    algorithm.configuration += packed.a == nullptr   ? " packed B"
                               : packed.b == nullptr ? " packed A"
                                                     : " packed A and B";
    algorithm.cost = packed_cost(algorithm.cost, splitting, static_cast<double>(lines) * static_cast<double>(p.k));
  }
}

/// Whether rows of all matrices that a kernel with an epilogue stores to or loads from, and a bias of columns, split
/// into aligned pairs. Only kernels read A and B.
inline bool has_pairs(const GemmProblem& p, const GemmEpilogue& epilogue) {
  const bool aux_has_floats = epilogue.writes_argument() || epilogue.activation == SGEMM_ACTIVATION_GELU_GRADIENT;
  const bool reads_c = p.scalars_on_device() || p.beta != 0.0F;
  return rows_split_into<2>(p.c, p.n, p.ldc) && (!reads_c || rows_split_into<2>(epilogue.c, p.n, epilogue.ldc)) &&
         (epilogue.bias_of_rows || rows_split_into<2>(epilogue.bias, p.n, p.n)) &&
         (!aux_has_floats || rows_split_into<2>(static_cast<const float*>(epilogue.aux), p.n, epilogue.aux_ld));
}

/// Splits one operand tile for the kernels of chapters 11 and 12.
template <class Split, Reading READING>
__device__ __forceinline__ void split_operand_tile(const Operand& operand, const TileToSplit& to) {
  if constexpr (READING == Reading::mn_major) {
    split_columns<Split>(operand, to);
  } else {
    split_rows<Split, READING == Reading::k_major_by_four ? Access::float4 : Access::float1>(operand, to);
  }
}

/// A launch in clusters of so many blocks, 8 at most (sm_90 and later). `early`: it may start before the kernel in
/// front of it has ended, because it waits for that itself.
class ClusterLaunch {
 public:
  /// Of `blocks` blocks, a multiple of `cluster`.
  ClusterLaunch(int cluster, std::int64_t blocks, dim3 threads, std::size_t dynamic_smem, cudaStream_t stream,
                bool early = false)
      : config_(launch_config(blocks, threads, dynamic_smem, stream)) {
    config_.attrs = attributes_;
    const auto next = [&]() -> cudaLaunchAttribute& { return attributes_[config_.numAttrs++]; };
    if (cluster > 1) {
      cudaLaunchAttribute& clusters = next();
      clusters.id = cudaLaunchAttributeClusterDimension;
      clusters.val.clusterDim = {static_cast<unsigned>(cluster), 1, 1};
    }
    if (early) {
      cudaLaunchAttribute& serialization = next();
      serialization.id = cudaLaunchAttributeProgrammaticStreamSerialization;
      serialization.val.programmaticStreamSerializationAllowed = 1;
    }
  }
  ClusterLaunch(const ClusterLaunch&) = delete;
  ClusterLaunch& operator=(const ClusterLaunch&) = delete;

  template <class... Parameters, class... Arguments>
  void enqueue(void (*kernel)(Parameters...), Arguments... arguments) const {
    launch(config_, kernel, arguments...);
  }

  /// How many clusters of `kernel` the current device runs at the same time.
  template <class... Parameters>
  int clusters_at_once(void (*kernel)(Parameters...)) const {
    const void* const function = reinterpret_cast<const void*>(kernel);
    allow_dynamic_smem(function, config_.dynamicSmemBytes);
    int clusters = 0;
    CUDA_CHECK(cudaOccupancyMaxActiveClusters(&clusters, function, &config_));
    return clusters;
  }

 private:
  cudaLaunchAttribute attributes_[2]{};
  cudaLaunchConfig_t config_;
};

namespace int8 {

template <Reading READING>
__device__ __forceinline__ auto line_reader(const Operand& lines) {
  return LineReader{READING != Reading::mn_major, [=](std::int64_t line, std::int64_t first_k, int group, auto& x) {
                      if constexpr (READING == Reading::mn_major) {
                        load_mn_major(lines, line, first_k, group, x);
                      } else {
                        load_k_major<READING == Reading::k_major_by_four ? Access::float4 : Access::float1>(
                            lines, line, first_k, group, x);
                      }
                    }};
}

/// Splits whole lines into what Lines has, and lowers the flags of the next kernel.
template <class Lines, Reading READ_A, Reading READ_B, bool IN_PIECES>
__global__ void __launch_bounds__(SPLIT_THREADS, LINES_BLOCKS_PER_SM)
    gemm_split_lines_kernel(GemmProblem p, Lines lines, LinesOfCluster share, Flags flags) {
  flags.lower();
  const Operands operands(p);
  split_whole_lines<IN_PIECES>(p, lines, share, line_reader<READ_A>(operands.a), line_reader<READ_B>(operands.b));
}

/// How a call splits whole lines.
inline LinesOfCluster lines_of(const GemmProblem& p) { return LinesOfCluster::of(k_tiles_of<Int8x6>(p)); }

/// What that costs. Lines in pieces are read twice. Across k, the largest clusters read so few neighbouring lines, each
/// at a time of its own, that memory gives twice the bytes, or three times where a cluster has half as many lines.
inline Splitting of_lines(Splitting splitting, const GemmProblem& p) {
  const LinesOfCluster share = lines_of(p);
  const int readings = share.pieces > 1 ? 2 : 1;
  const double beside = share.blocks == LARGEST_CLUSTER ? sizeof(float) * readings * MOST_LINES / share.lines : 0;
  const double mn_major =
      static_cast<double>((p.a_transposed ? p.m : 0) + (p.b_transposed ? 0 : p.n)) / static_cast<double>(p.m + p.n);
  splitting.bytes += sizeof(float) * (readings - 1) + mn_major * std::max(splitting.mn_major, beside);
  return splitting;
}

/// Enqueues that kernel.
template <class Lines>
void launch_lines(const GemmProblem& p, const Lines& lines, const Flags& flags, cudaStream_t stream) {
  const LinesOfCluster share = lines_of(p);
  const std::int64_t blocks = (tiles_along(p.m) + tiles_along(p.n)) * (TILE_ROWS / share.lines) * share.blocks;
  const auto kernel =
      share.pieces > 1  // of which numbers are read one by one
          ? kernel_for_layout(p,
                              [](auto a_k_major, auto b_k_major) {
                                return gemm_split_lines_kernel < Lines,
                                       a_k_major ? Reading::k_major : Reading::mn_major,
                                       b_k_major ? Reading::k_major : Reading::mn_major, true > ;
                              })
          : kernel_for(readings_of(p), [](auto a, auto b) { return gemm_split_lines_kernel<Lines, a, b, false>; });
  ClusterLaunch(share.blocks, blocks, dim3(SPLIT_THREADS), LINES_SMEM_BYTES, stream, Lines::FOLLOWS_A_KERNEL)
      .enqueue(kernel, p, lines, share, flags);
}

}  // namespace int8

/// split_operand_tile() for operands that may be aligned or not.
template <class Split, bool K_MAJOR>
__device__ __forceinline__ void split_operand_tile_of_any_alignment(const Operand& operand, const TileToSplit& to) {
  if constexpr (!K_MAJOR) {
    split_operand_tile<Split, Reading::mn_major>(operand, to);
  } else if (rows_split_into<4>(operand.data, operand.depth, operand.stride)) {
    split_operand_tile<Split, Reading::k_major_by_four>(operand, to);
  } else {
    split_operand_tile<Split, Reading::k_major>(operand, to);
  }
}

/// Whether this build has code for the current device, and its grids and counters room for the problem.
template <class Split>
bool can_run(const Problem& p) {
#ifndef SGEMM_CODE_FOR_SM_90A
  if (TARGET == Target::for_gpu) {
    return false;
  }
#endif
  return current_device().compute_capability == 90 &&
         Workspace<Split>(p, nullptr).count() <= std::numeric_limits<int>::max();
}

// ---- Launches ----

/// The plan of a launch and its workspace: flags and partial sums of so many shares of tiles, operands, and notes for
/// tiles of C.
template <class Memory>
struct LaunchMemory {
  PredictedPlan planned;
  int shares;
  std::size_t operands_at;
  std::size_t deferred_at;
  std::size_t bytes;

  LaunchMemory(const PredictedPlan& plan, int share_count, std::size_t operand_bytes, std::int64_t c_tiles)
      : planned(plan),
        shares(share_count),
        operands_at(Memory::bytes(shares)),
        deferred_at(operands_at + operand_bytes),
        bytes(deferred_at + Deferred::bytes(c_tiles)) {}

  struct Places : Plan {
    Flags flags;
    char* operands;
    char* deferred;
  };
  Places in(void* workspace) const {
    char* const memory = static_cast<char*>(workspace);
    Plan plan = planned;
    Memory::place(plan.schedule, workspace, shares);
    return {plan, {plan.schedule.flags, Memory::flag_count(shares)}, memory + operands_at, memory + deferred_at};
  }
};

/// The algorithm of a tile that computes one product after the other by so many kernels, but for its launches.
template <class Shape, class Memory>
Algorithm one_by_one(const char* kernel, int kernels, const Splitting& splitting, const GemmBatch& batch,
                     int multiprocessors, bool streamed, const Memory& memory) {
  const GemmProblem& p = batch.first;
  const auto count = static_cast<double>(batch.count);
  Cost cost =
      split_cost(splitting, {p.m, p.n, p.k, multiprocessors}, batch.count, batch.count, count * memory.planned.cycles);
  cost.streamed = count * memory.planned.strayed_bytes;
  return {kernel, tile_name(Shape::BM, Shape::BN, streamed), memory.bytes, cost, batch.count, kernels};
}

/// A batch in launches of about equal numbers of products.
struct Parts {
  /// A launch has as many products as need no more memory than this. Larger launches would gain next to nothing:
  /// splitting so many operands takes ten times as long as what a launch takes besides.
  static constexpr std::size_t LARGEST = std::size_t{1} << 29U;

  std::int64_t products;  ///< of each but the last
  std::int64_t launches;

  Parts(std::int64_t count, std::int64_t most)
      : products(ceil_div(count, ceil_div(count, std::clamp<std::int64_t>(most, 1, count)))),
        launches(ceil_div(count, products)) {}

  /// Calls `enqueue(part, is_last)`.
  template <class Enqueue>
  void for_each(const GemmBatch& batch, const Enqueue& enqueue) const {
    for (std::int64_t index = 0; index < batch.count; index += products) {
      const std::int64_t left = batch.count - index;
      enqueue(batch.part(index, std::min(products, left)), left <= products);
    }
  }
};

/// The algorithm of a batch in parts. `launch_of(products)` is a launch of so many, with a plan, a size of its
/// workspace and an enqueue().
template <class LaunchOf>
Algorithm in_parts(const char* kernel, std::string configuration, const Splitting& splitting,
                   const PredictedShape& shape, std::int64_t count, const Parts& parts, const LaunchOf& launch_of) {
  const auto each = launch_of(parts.products);
  const auto last = launch_of(count - (parts.launches - 1) * parts.products);
  const double cycles =
      static_cast<double>(parts.launches - 1) * each.memory.planned.cycles + last.memory.planned.cycles;
  Algorithm algorithm{kernel,
                      std::move(configuration),
                      std::max(each.memory.bytes, last.memory.bytes),
                      split_cost(splitting, shape, count, parts.launches, cycles),
                      parts.launches,
                      2};
  algorithm.launch = [=](const GemmBatch& of, void* workspace, cudaStream_t stream) {
    parts.for_each(
        of, [&](const GemmBatch& part, bool is_last) { (is_last ? last : each).enqueue(part, workspace, stream); });
  };
  return algorithm;
}

}  // namespace sgemm::SGEMM_TARGET::split_product
