#pragma once

// Products that are too small for a kernel of their own that splits. Two launches, and a pass of all terms through the
// L2, take longer there than the products. Here the producers of a block read plain numbers, split them, and fill the
// rings of chapter 11 with their terms; consumers multiply as they do in chapter 11. Where tiles of C do not keep all
// multiprocessors busy, the blocks of a cluster divide k among themselves, and add their sums through each other's
// shared memory: nothing goes through global memory, and nothing has to be set before the launch.
//
// All numbers have one scale, 2^24: all three terms of the smallest denormal number are normal then. From 2^104 on
// numbers overflow, and sums from 2^80 on. These are computed again without tensor cores.
//
// A kernel runs each of its instructions a few times, most of them for the first time, and cold ones are fetched
// slowly. So this code is short before it is anything else: loops are rolled where registers can move up, and numbers
// that divide have their reciprocals from the host.

#include "common/keep_in_register.cuh"
#include "common/problem.hpp"
#include "common/target.hpp"
#include "common/vector_access.cuh"
#include "deferred_elements.cuh"
#include "divisor.hpp"
#include "engine/product_policy.cuh"
#include "engine/split_configurations.cuh"
#include "engine/split_operands.cuh"
#include "engine/split_product.cuh"
#include "engine/split_terms.cuh"
#include "engine/terms_loop.cuh"
#include "gemm_problem.hpp"
#include "gemm_scalars.cuh"
#include "ptx/bar.cuh"
#include "ptx/cluster_reads.cuh"
#include "ptx/mbarrier.cuh"
#include "ptx/setmaxnreg.cuh"
#include "ptx/shared_memory.cuh"
#include "split_algorithms.cuh"
#include "stacked_batch.cuh"

#include <cuda_runtime.h>

#include <cstdint>

namespace sgemm::SGEMM_TARGET::split_product {

/// A block's tile: 128 rows by 128 columns of C. Two consumer warpgroups have 64 rows each, two producer warpgroups
/// split.
struct SmallShape : BlockTile<Bf16x6, 1> {
  static constexpr int PRODUCER_THREADS = 2 * WARPGROUP;
  static constexpr int PRODUCER_WARPS = PRODUCER_THREADS / WARP;
  static constexpr int THREADS = CONSUMER_THREADS + PRODUCER_THREADS;
  // 64 Ki registers make 128 for each of 512 threads.
  static constexpr int PRODUCER_REGISTERS = 96;
  static constexpr int CONSUMER_REGISTERS = 160;
};
static_assert(SmallShape::PRODUCER_THREADS == SPLIT_THREADS);

/// The rings of chapter 11, without the scalings of tiles.
using SmallRings =
    RingPair<Ring<OperandTile<Bf16x6>::BYTES, Bf16x6::A_STAGES>, Ring<OperandTile<Bf16x6>::BYTES, Bf16x6::B_STAGES>>;

/// What the kernel gets. A cluster of `parts` blocks has a tile of C. Where that is one block, it may have further
/// tiles, whose operands producers split while consumers store.
struct SmallProblem {
  GemmBatch batch;  ///< by strides
  int k_tiles;
  int parts;
  int tasks;
  Divisor by_parts;
  Divisor by_tiles;    ///< of a product's C
  Divisor by_columns;  ///< tiles of B
  Deferred deferred;   ///< with a place for each task

  SmallProblem(const GemmBatch& products, int parts_of_k, void* notes)
      : batch(products),
        k_tiles(static_cast<int>(k_tiles_of<Bf16x6>(products.first))),
        parts(parts_of_k),
        tasks(static_cast<int>(products.count * tiles_of_c(products.first)) * parts_of_k),
        by_parts(parts_of_k),
        by_tiles(static_cast<int>(tiles_of_c(products.first))),
        by_columns(static_cast<int>(tiles_along(products.first.n))),
        deferred(tasks, notes) {}
};

/// What a block computes at a time: a range of k-tiles for a tile of C.
struct SmallTask {
  DeferringProblem product;
  int a_tile;
  int b_tile;
  int part;
  int first_k_tile;
  int k_tiles;

  __device__ __forceinline__ SmallTask(const SmallProblem& p, int number)
      : SmallTask(p, number, p.by_parts(number), p.by_parts.rest(number)) {}

 private:
  __device__ __forceinline__ SmallTask(const SmallProblem& p, int number, int tile, int rank)
      : SmallTask(p, p.batch.problem_by_strides(p.by_tiles(tile)), number, p.by_tiles.rest(tile), rank) {}

  /// The tile's notes are found where those of this task are.
  __device__ __forceinline__ SmallTask(const SmallProblem& p, const GemmProblem& one, int number, int tile, int rank)
      : product(one, Deferred(p.deferred, static_cast<std::int64_t>(number) - tile)),
        a_tile(p.by_columns(tile)),
        b_tile(p.by_columns.rest(tile)),
        part(rank),
        first_k_tile(p.by_parts(p.k_tiles * rank)),
        k_tiles(p.by_parts(p.k_tiles * (rank + 1)) - first_k_tile) {}
};

constexpr int SMALL_EXPONENT = -24;  ///< numbers are multiplied by 2^24

// ---- Producers ----

/// A producer's part of an operand: of each k-tile four groups of numbers, which it loads while others split. Rows of
/// the stored matrix split into aligned groups of four floats. A warp loads whole lines of 128 bytes, four at a time,
/// and stores to different banks: along k eight neighbouring threads have the groups of a row of the tile, across k
/// four have those of a half of each of four rows.
template <bool K_MAJOR>
class SmallReader {
 public:
  /// Of operand tile number `tile`, from a k-tile on, whose numbers are under way then.
  __device__ __forceinline__ SmallReader(const Operand& operand, int tile, int first_k_tile)
      : stride_(operand.stride), k_left_(operand.depth - static_cast<std::int64_t>(first_k_tile) * BK - group() * 4) {
    const std::int64_t line = static_cast<std::int64_t>(tile) * TILE_ROWS + row(0);
    lines_left_ = static_cast<int>(max(min(operand.count - line, std::int64_t{TILE_ROWS}), std::int64_t{0}));
    const std::int64_t k = static_cast<std::int64_t>(first_k_tile) * BK + group() * 4;
    from_ = operand.data + (K_MAJOR ? line * stride_ + k : k * stride_ + line);
    load();
  }

  /// Splits the k-tile into a stage of a ring, and loads the next one.
  template <class Ring>
  __device__ __forceinline__ void fill(Ring& ring) {
    ring.wait_until_empty();
    unsigned char* const stage = static_cast<unsigned char*>(const_cast<void*>(from_shared_address(ring.tile())));
#pragma unroll 1
    for (int i = 0; i < GROUPS_PER_THREAD; ++i) {
      store(stage, i, numbers_[0]);
#pragma unroll
      for (int j = 1; j < GROUPS_PER_THREAD; ++j) {  // registers have no index
#pragma unroll
        for (int number = 0; number < GROUP; ++number) {
          numbers_[j - 1][number] = numbers_[j][number];
        }
      }
    }
    from_ += K_MAJOR ? BK : BK * stride_;
    k_left_ -= BK;
    load();
    fence_proxy_async();
    mbarrier_arrive_as_warp(ring.full());
    ring.advance();
  }

 private:
  static constexpr int ROW_STEP = K_MAJOR ? SPLIT_THREADS / GROUPS : 1;  // of a thread's rows of the tile

  /// The row of the tile that group number `i` is in.
  __device__ __forceinline__ static int row(int i) {
    const int thread = static_cast<int>(threadIdx.x) - SmallShape::CONSUMER_THREADS;
    const int four_rows = thread / (2 * WARP) * (WARP / 4) + thread % WARP / 4;
    return (K_MAJOR ? thread / GROUPS : four_rows * GROUPS_PER_THREAD) + i * ROW_STEP;
  }
  __device__ __forceinline__ static int group() {
    const int thread = static_cast<int>(threadIdx.x) - SmallShape::CONSUMER_THREADS;
    return K_MAJOR ? thread % GROUPS : thread / WARP % 2 * (GROUPS / 2) + thread % (GROUPS / 2);
  }

  /// Loads what is left of the operand, and zeros behind its end.
  __device__ __forceinline__ void load() {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        if constexpr (K_MAJOR) {
          const bool inside = i * ROW_STEP < lines_left_ && k_left_ > half * (BK / 2);
          unpack(load_float4_or_zero(from_ + i * ROW_STEP * stride_ + half * (BK / 2), inside), &numbers_[i][half * 4]);
        } else {
          const int k = half * (BK / 2) + i;
          const float4 four = load_float4_or_zero(from_ + k * stride_, lines_left_ > 0 && k_left_ > k);
          numbers_[0][half * 4 + i] = four.x;
          numbers_[1][half * 4 + i] = four.y;
          numbers_[2][half * 4 + i] = four.z;
          numbers_[3][half * 4 + i] = four.w;
        }
      }
    }
  }

  /// Group number `i`.
  __device__ __forceinline__ static void store(unsigned char* stage, int i, const float (&x)[GROUP]) {
    const float scale = power_of_2(-SMALL_EXPONENT);
    uint4 terms[Bf16x6::TERMS];
    split_group<Bf16x6>([&](int j) { return x[j] * scale; }, terms);
    store_terms(stage, place_in_term(row(i), group()), terms);
  }

  const float* from_;  ///< the first number to load
  std::int64_t stride_;
  std::int64_t k_left_;  ///< of the operand, from there on
  int lines_left_;       ///< of the operand, from the first row on
  float numbers_[GROUPS_PER_THREAD][GROUP];
};

template <bool A_K_MAJOR, bool B_K_MAJOR>
__device__ __forceinline__ void produce_small(const SmallTask& task, SmallRings& rings) {
  Operands operands(task.product);
  const std::int64_t end = static_cast<std::int64_t>(task.first_k_tile + task.k_tiles) * BK;
  operands.a.depth = min(operands.a.depth, end);  // what follows is another block's
  operands.b.depth = operands.a.depth;
  SmallReader<A_K_MAJOR> a(operands.a, task.a_tile, task.first_k_tile);
  SmallReader<B_K_MAJOR> b(operands.b, task.b_tile, task.first_k_tile);
#pragma unroll 1
  for (int left = task.k_tiles; left > 0; --left) {
    a.fill(rings.a);
    b.fill(rings.b);
  }
}

// ---- Consumers ----

/// The sums of a task, of 64 rows of C: the main loop of chapter 11 for tiles that have the same scale.
__device__ __forceinline__ void multiply_k_tiles(int k_tiles, SmallRings& rings, float (&sums)[64]) {
  const unsigned rows_of_group = threadIdx.x / WARPGROUP * (WGMMA_M * WGMMA_ROW_BYTES);
#pragma unroll 1
  for (; k_tiles > 0; --k_tiles) {
    float products[64];
    rings.a.wait_until_full();
    rings.b.wait_until_full();
    Bf16x6Loop::start_products(products, rings.a.tile() + rows_of_group, rings.b.tile());
    wgmma_wait_group<0>(products);
    mbarrier_arrive_as_warp(rings.a.empty(), rings.b.empty());
    rings.a.advance();
    rings.b.advance();
#pragma unroll
    for (int i = 0; i < 64; ++i) {
      sums[i] += products[i];
    }
  }
}

/// Stores the sums of columns `unit` * 8 to `unit` * 8 + 7, four of a thread. Returns bits for pairs that are not
/// finite.
template <int UNITS>
__device__ __forceinline__ unsigned store_units(const SmallTask& task, const Scalars& scalars, bool pairs, int unit,
                                                const float (&scaled_sums)[4 * UNITS]) {
  float sums[4 * UNITS];
#pragma unroll
  for (int i = 0; i < 4 * UNITS; ++i) {
    sums[i] = scaled_sums[i] * power_of_2(2 * SMALL_EXPONENT);
  }
  const DeferringProblem& p = task.product;
  const std::int64_t row = static_cast<std::int64_t>(task.a_tile) * TILE_ROWS + first_row(threadIdx.x);
  const std::int64_t column = static_cast<std::int64_t>(task.b_tile) * TILE_ROWS + first_column(threadIdx.x) + unit * 8;
  float* const c = p.c + row * p.ldc + column;
  float* const rows[2] = {c, c + 8 * p.ldc};
  const std::int64_t left = p.n - column;
  const int width = static_cast<int>(left < 0 ? 0 : left < TILE_ROWS ? left : TILE_ROWS);
  const int columns[2] = {row < p.m ? width : 0, row + 8 < p.m ? width : 0};
  return pairs ? store_pairs<Access::float2>(rows, columns, sums, scalars)
               : store_pairs<Access::float1>(rows, columns, sums, scalars);
}

constexpr int UNITS = TILE_ROWS / 8;  // of eight columns
constexpr unsigned UNIT_BYTES = SmallShape::CONSUMER_THREADS * sizeof(float4);

__device__ __forceinline__ void add(float (&sums)[4], const float4& four) {
  sums[0] += four.x;
  sums[1] += four.y;
  sums[2] += four.z;
  sums[3] += four.w;
}

/// The sums of a block become C, or are added up with those of the other blocks of the cluster: each has every
/// `parts`-th unit of eight columns. All consumers call it.
__device__ __forceinline__ unsigned finish_small(const SmallProblem& p, const SmallTask& task,
                                                 const float (&sums)[64]) {
  const Scalars scalars = scalars_of(task.product);
  const bool pairs = of_warp(rows_split_into<2>(task.product.c, task.product.n, task.product.ldc) ? 1 : 0) != 0;
  if (p.parts == 1) {
    return store_units<UNITS>(task, scalars, pairs, 0, sums);
  }
  const unsigned own = shared_address(dynamic_smem()) + threadIdx.x * sizeof(float4);
  bar_sync(CONSUMERS_BARRIER, CONSUMERS);  // nobody reads the rings any more
#pragma unroll
  for (int unit = 0; unit < UNITS; ++unit) {
    float4* const to = static_cast<float4*>(const_cast<void*>(from_shared_address(own + unit * UNIT_BYTES)));
    *to = float4{sums[4 * unit], sums[4 * unit + 1], sums[4 * unit + 2], sums[4 * unit + 3]};
  }
  bar_sync(CONSUMERS_BARRIER, CONSUMERS);
  cluster_sync_blocks(of_warp(static_cast<int>(threadIdx.x / WARP)) == 0);
  unsigned not_finite = 0;
#pragma unroll 1
  for (int unit = task.part; unit < UNITS; unit += 2 * p.parts) {
    const unsigned first = own + unit * UNIT_BYTES;
    const int next = unit + p.parts;
    const unsigned second = next < UNITS ? own + next * UNIT_BYTES : first;
    float first_sums[4] = {};
    float second_sums[4] = {};
#pragma unroll 2
    for (int rank = 0; rank < p.parts; ++rank) {
      const float4 x = ld_cluster_v4_f32(first, rank);
      const float4 y = ld_cluster_v4_f32(second, rank);
      add(first_sums, x);
      add(second_sums, y);
    }
    not_finite |= store_units<1>(task, scalars, pairs, unit, first_sums) << 2 * unit;
    if (next < UNITS) {
      not_finite |= store_units<1>(task, scalars, pairs, next, second_sums) << 2 * next;
    }
  }
  return not_finite;
}

/// A block: with clusters it has one task, and without some in a row. *_K_MAJOR: how an operand is stored.
template <bool A_K_MAJOR, bool B_K_MAJOR>
__device__ __forceinline__ void multiply_small(const SmallProblem& p) {
  static_assert(UNITS * UNIT_BYTES <= SmallRings::SMEM_BYTES);
  static_assert(sizeof(PlainMemory) <= SmallRings::SMEM_BYTES);
  SmallRings rings(shared_address(dynamic_smem()));
  defer_nothing();
  if (threadIdx.x == 0) {
    rings.a.init(SmallShape::CONSUMER_WARPS, SmallShape::PRODUCER_WARPS);
    rings.b.init(SmallShape::CONSUMER_WARPS, SmallShape::PRODUCER_WARPS);
  }
  __syncthreads();
  if (threadIdx.x >= SmallShape::CONSUMER_THREADS) {
    setmaxnreg_dec<SmallShape::PRODUCER_REGISTERS>();
#pragma unroll 1
    for (auto number = static_cast<int>(blockIdx.x); number < p.tasks; number += static_cast<int>(gridDim.x)) {
      produce_small<A_K_MAJOR, B_K_MAJOR>(SmallTask(p, number), rings);
    }
    if (p.parts > 1) {
      cluster_sync_blocks(false);
      cluster_sync_relaxed();
    }
  } else {
    setmaxnreg_inc<SmallShape::CONSUMER_REGISTERS>();
#pragma unroll 1
    for (auto number = static_cast<int>(blockIdx.x); number < p.tasks; number += static_cast<int>(gridDim.x)) {
      float sums[64] = {};
      multiply_k_tiles(SmallTask(p, number).k_tiles, rings, sums);
      // Computed again, not kept through the loop.
      const SmallTask task(p, static_cast<int>(keep_in_register(static_cast<unsigned>(number))));
      const unsigned not_finite = finish_small(p, task, sums);
      defer(task.product, static_cast<std::int64_t>(task.a_tile) * TILE_ROWS + first_row(threadIdx.x),
            static_cast<std::int64_t>(task.b_tile) * TILE_ROWS + first_column(threadIdx.x), not_finite);
    }
    if (p.parts > 1) {
      cluster_sync_relaxed();  // nobody reads this block's sums any more
    }
    bar_sync(CONSUMERS_BARRIER, CONSUMERS);
    if (any_warp(deferred_by_warp())) {
#pragma unroll 1
      for (auto number = static_cast<int>(blockIdx.x); number < p.tasks; number += static_cast<int>(gridDim.x)) {
        const SmallTask task(p, number);
        compute_tile(task.product, task.a_tile, task.b_tile);
      }
    }
  }
}

}  // namespace sgemm::SGEMM_TARGET::split_product
