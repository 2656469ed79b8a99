#pragma once

// Products whose C is tall: many rows, and at most 128 columns. Splitting A by a kernel of its own would move several
// times as many bytes as A has. So consumers split it themselves: they read plain numbers from shared memory and keep
// the terms in registers, from where wgmma takes them. Only B, which is small, is split beforehand. The terms, their
// products and the order of sums are those of chapter 11. A flat C is the transposed of a tall one.

#include "common/ceil_div.hpp"
#include "common/epilogue.cuh"
#include "common/problem.hpp"
#include "common/target.hpp"
#include "common/vector_access.cuh"
#include "deferred_elements.cuh"
#include "engine/product_policy.cuh"
#include "engine/split_configurations.cuh"
#include "engine/split_operands.cuh"
#include "engine/split_product.cuh"
#include "engine/split_terms.cuh"
#include "engine/stream_k.cuh"
#include "engine/terms_loop.cuh"
#include "engine/wgmma_registers.cuh"
#include "gemm_problem.hpp"
#include "ptx/cp_async.cuh"
#include "ptx/cp_async_bulk.cuh"
#include "ptx/griddepcontrol.cuh"
#include "ptx/mbarrier.cuh"
#include "ptx/setmaxnreg.cuh"
#include "ptx/shared_memory.cuh"
#include "ptx/wgmma.cuh"
#include "split_algorithms.cuh"
#include "stacked_batch.cuh"

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>

namespace sgemm::SGEMM_TARGET::split_product {

/// A product with a tall C, which may be stored transposed.
struct TallProduct : DeferringProblem {
  SGEMM_HOST_DEVICE TallProduct(const GemmProblem& p, const Deferred& notes, bool transposed)
      : DeferringProblem(p, notes), c_transposed(transposed) {}

  bool c_transposed;

  __device__ __forceinline__ float& element_of_c(std::int64_t row, std::int64_t column) const {
    return c_transposed ? c[column * ldc + row] : c[row * ldc + column];
  }
};

/// The batch as the engine's problem, for whose workspace there is no A, and each product's B is one operand tile
/// wide.
struct TallProblem : Problem {
  /// `notes` has room for the tiles of all C.
  TallProblem(const GemmBatch& tall, bool transposed, void* notes)
      : batch(tall),
        c_transposed(transposed),
        a_tiles(static_cast<int>(tiles_along(tall.first.m))),
        deferred(tall.count * a_tiles, notes) {
    m = 0;
    n = tall.count * TILE_ROWS;
    k = tall.first.k;
  }

  GemmBatch batch;
  bool c_transposed;
  int a_tiles;  ///< of the A of one product
  Deferred deferred;

  __device__ __forceinline__ TallProduct product(int index) const {
    return {product_of(batch, index), Deferred(deferred, std::int64_t{index} * a_tiles), c_transposed};
  }
};

/// An operand tile of A in shared memory, as it is in the matrix: along k, or with the rows of op(A) side by side. The
/// strides, in floats, keep threads that read at the same time on different banks. Each thread reads at one k of the
/// lower half of the k-tile or of the upper half, as k_in_tile() has it.
template <bool K_MAJOR>
struct PlainTile {
  static constexpr int LINE = K_MAJOR ? BK + 8 : 1;
  static constexpr int K = K_MAJOR ? 1 : TILE_ROWS + 4;
  static constexpr int UPPER_HALF = K_MAJOR ? 4 : 16;
  static constexpr int USED_BYTES =
      static_cast<int>(sizeof(float)) * (K_MAJOR ? TILE_ROWS * LINE : BK * K + UPPER_HALF);
  static constexpr int BYTES = ceil_div(USED_BYTES, WGMMA_ALIGNMENT) * WGMMA_ALIGNMENT;

  SGEMM_HOST_DEVICE static constexpr int at(int line, int k) {
    return line * LINE + k * K + (k >= BK / 2 ? UPPER_HALF : 0);
  }
};

/// The terms of a k-tile of B, for as many columns as C may have.
template <int COLUMNS>
struct NarrowTile {
  static constexpr int TERM_BYTES = COLUMNS * WGMMA_ROW_BYTES;
  static constexpr int BYTES = Bf16x6::TERMS * TERM_BYTES;
};

/// A block computes tiles of 128 rows. Two consumer warpgroups split and multiply 64 rows each. Of the producers, two
/// warps copy A, and a thread of a third one copies B.
template <int COLUMNS_>
struct TallShape : BlockTile<Bf16x6, 1> {
  static constexpr int COLUMNS = COLUMNS_;
  static constexpr int VALUES = COLUMNS / 2;  // accumulators of a thread
  static constexpr int A_STAGES = COLUMNS == 32 ? 5 : COLUMNS == 64 ? 4 : 3;
  static constexpr int B_STAGES = COLUMNS == TILE_ROWS ? 2 : 3;
  static constexpr int A_PRODUCERS = 2 * WARP;
};

/// What compute_deferred() asks: a tile of C is 128 rows of A by all columns. Those of a product follow one another.
template <class Shape_>
struct TallTiles {
  using Shape = Shape_;
  using Problem = TallProblem;

  __device__ __forceinline__ static Tile tile_at(const TallProblem&, int position) { return {position, 0, 1}; }
};

template <class Shape, bool K_MAJOR>
using TallRings =
    RingPair<TileRing<PlainTile<K_MAJOR>, Shape::A_STAGES>, TileRing<NarrowTile<Shape::COLUMNS>, Shape::B_STAGES>>;

/// A is multiplied by 2^-A_EXPONENT, so that all three terms of its smallest denormal number are normal. From 2^75 on
/// products may overflow, and are computed again.
constexpr int A_EXPONENT = -24;

/// How B is split. A is not scaled by its own numbers, so it may be tiny where B is large. B is therefore scaled down
/// by no more than A is scaled up. Then sums lose no bits that floats without any scaling would keep.
struct NarrowBf16x6 : Bf16x6 {};
template <>
inline constexpr int LEAST_EXPONENT<NarrowBf16x6> = A_EXPONENT;

// ---- Producers ----

/// Starts copying a k-tile of A in groups of four numbers, each in one access or in four. Zeros stand for what is
/// outside of the matrix. `thread` is one of COPIERS.
template <bool K_MAJOR, int COPIERS, Access ACCESS>
__device__ __forceinline__ void copy_numbers(unsigned stage, const Operand& operand, std::int64_t first_line,
                                             std::int64_t first_k, int thread) {
  constexpr int ROW_GROUPS = (K_MAJOR ? BK : TILE_ROWS) / 4;  // of a row of the stored matrix
  constexpr int STEP = COPIERS / ROW_GROUPS;
  constexpr int GROUPS_OF_TILE = TILE_ROWS * BK / 4;
  static_assert(COPIERS % ROW_GROUPS == 0);
  const int along = thread % ROW_GROUPS * 4;
  int across = thread / ROW_GROUPS;
  const std::int64_t first_along = K_MAJOR ? first_k : first_line;
  const std::int64_t first_across = K_MAJOR ? first_line : first_k;
  const std::int64_t left_along = (K_MAJOR ? operand.depth : operand.count) - first_along - along;
  const std::int64_t left_across = (K_MAJOR ? operand.count : operand.depth) - first_across;
  const float* from = operand.data + (first_across + across) * operand.stride + first_along + along;
#pragma unroll 4
  for (int i = 0; i < GROUPS_OF_TILE / COPIERS; ++i) {
    const int place = K_MAJOR ? PlainTile<true>::at(across, along) : PlainTile<false>::at(along, across);
    const unsigned to = stage + static_cast<unsigned>(place) * sizeof(float);
    const bool inside = across < left_across;
    if (ACCESS == Access::float4) {
      cp_async_zfill<16>(to, from, inside && left_along > 0);
    } else {
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        cp_async_zfill<4>(to + j * sizeof(float), from + j, inside && left_along > j);
      }
    }
    from += STEP * operand.stride;
    across += STEP;
  }
}

/// Copies A, by whole warps.
template <class Shape, bool K_MAJOR>
__device__ __forceinline__ void produce_a(const TallProblem& p, const Schedule& schedule,
                                          TallRings<Shape, K_MAJOR> rings) {
  const auto thread = static_cast<int>(threadIdx.x) - Shape::CONSUMER_THREADS;
  Work work(schedule);
#pragma unroll 1
  while (!work.done(schedule)) {
    const Segment segment = work.next(schedule);
    const int number = segment.tile / p.a_tiles;
    const std::int64_t first_line = static_cast<std::int64_t>(segment.tile - number * p.a_tiles) * TILE_ROWS;
    const Operand a = Operands(p.product(number)).a;
    const bool vector = rows_split_into<4>(a.data, K_MAJOR ? a.depth : a.count, a.stride);
#pragma unroll 1
    for (int k_tile = segment.first; k_tile < segment.first + segment.count; ++k_tile) {
      const std::int64_t first_k = static_cast<std::int64_t>(k_tile) * BK;
      rings.a.wait_until_empty();
      if (vector) {
        copy_numbers<K_MAJOR, Shape::A_PRODUCERS, Access::float4>(rings.a.tile(), a, first_line, first_k, thread);
      } else {
        copy_numbers<K_MAJOR, Shape::A_PRODUCERS, Access::float1>(rings.a.tile(), a, first_line, first_k, thread);
      }
      cp_async_mbarrier_arrive_noinc(rings.a.full());
      rings.a.advance();
    }
  }
}

/// Copies the terms of B, by one thread.
template <class Shape, bool K_MAJOR>
__device__ __forceinline__ void produce_b(const TallProblem& p, const Schedule& schedule,
                                          const Workspace<Bf16x6>& workspace, TallRings<Shape, K_MAJOR> rings) {
  using Narrow = NarrowTile<Shape::COLUMNS>;
  Work work(schedule);
  griddepcontrol_wait();
#pragma unroll 1
  while (!work.done(schedule)) {
    const Segment segment = work.next(schedule);
    std::int64_t tile = static_cast<std::int64_t>(segment.tile / p.a_tiles) * workspace.k_tiles() + segment.first;
#pragma unroll 1
    for (int left = segment.count; left > 0; --left, ++tile) {
      rings.b.wait_until_empty();
      mbarrier_arrive_expect_tx(rings.b.full(), Narrow::BYTES + SCALING_BYTES);
#pragma unroll
      for (int term = 0; term < Bf16x6::TERMS; ++term) {
        cp_async_bulk(rings.b.tile() + term * Narrow::TERM_BYTES,
                      workspace.terms(tile) + term * OperandTile<Bf16x6>::TERM_BYTES, Narrow::TERM_BYTES,
                      rings.b.full());
      }
      cp_async_bulk(rings.b.scaling(), workspace.scaling(tile), SCALING_BYTES, rings.b.full());
      rings.b.advance();
    }
  }
}

// ---- Consumers ----

/// The scaling of all tiles of A, in shared memory.
__device__ __forceinline__ Scaling& scaling_of_a() {
  __shared__ Scaling scaling;
  return scaling;
}

/// By all threads of the block, before a barrier of it.
__device__ __forceinline__ void set_scaling_of_a() {
  Scaling& scaling = scaling_of_a();
  if (threadIdx.x == 0) {
    scaling.exponent = A_EXPONENT;
    scaling.uniform = A_EXPONENT;
    scaling.tile = 0;
    scaling.has_next = 0;
  }
  if (threadIdx.x < TILE_ROWS) {
    scaling.rows[threadIdx.x] = 0;
  }
}

constexpr int STEPS = 2;  // of wgmma, of 16 k each, of which a thread has the terms of A at a time
constexpr int CHUNKS = BK / (STEPS * WGMMA_K);

/// A thread's part of A for some steps, as wgmma takes it from registers.
struct Fragments {
  unsigned terms[STEPS][Bf16x6::TERMS][4];

  /// Splits a chunk of a tile, where `numbers` is the thread's first one.
  template <bool K_MAJOR>
  __device__ __forceinline__ void split(const float* numbers, int chunk) {
#pragma unroll
    for (int step = 0; step < STEPS; ++step) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float* const at =
            numbers + PlainTile<K_MAJOR>::at(i % 2 * 8, ((chunk * STEPS + step) * 2 + i / 2) * (GROUP / 2));
        float2 x;
        if (K_MAJOR) {
          x = *reinterpret_cast<const float2*>(at);
        } else {
          x = {at[0], at[PlainTile<K_MAJOR>::K]};
        }
        unsigned parts[Bf16x6::TERMS];
        split_pair<Bf16>(x.x * power_of_2(-A_EXPONENT), x.y * power_of_2(-A_EXPONENT), parts);
#pragma unroll
        for (int term = 0; term < Bf16x6::TERMS; ++term) {
          terms[step][term][i] = parts[term];
        }
      }
    }
    keep();
  }

  /// Keeps the registers as they are up to here.
  __device__ __forceinline__ void keep() const {
#ifdef __CUDACC__
#pragma unroll
    for (const auto& step : terms) {
#pragma unroll
      for (const auto& term : step) {
        asm volatile("" ::"r"(term[0]), "r"(term[1]), "r"(term[2]), "r"(term[3]));
      }
    }
#endif
  }
};

/// Starts all products of a chunk's terms. They replace the content of `products`. The smallest come first: tensor
/// cores cut off less while a sum is small.
template <class Shape>
__device__ __forceinline__ void start_products(float (&products)[Shape::VALUES], const Fragments& a, unsigned b_tile,
                                               int chunk) {
  const std::uint64_t b = wgmma_descriptor(b_tile);
  wgmma_fence();
#pragma unroll
  for (int product = 0; product < Bf16x6::PRODUCTS; ++product) {
    const TermsOfProduct of = Bf16x6Loop::product(product);
#pragma unroll
    for (int step = 0; step < STEPS; ++step) {
      wgmma_m64k16_bf16(products, a.terms[step][of.a],
                        wgmma_descriptor_at(
                            b, of.b * NarrowTile<Shape::COLUMNS>::TERM_BYTES + (chunk * STEPS + step) * K_BLOCK_BYTES),
                        product + step > 0);
    }
  }
  wgmma_commit_group();
}

/// accumulators += A * B for `k_tiles` k-tiles of a tile of C.
template <class Shape, bool K_MAJOR>
__device__ __forceinline__ void consume_tall_segment(int k_tiles, TallRings<Shape, K_MAJOR>& rings,
                                                     Accumulators<1, Shape::VALUES>& accumulators) {
  static_assert(CHUNKS == 2);
  const Scaling& a_scaling = scaling_of_a();
  // Of the pairs of groups of a step, a thread has k as k_in_tile() deals them out.
  const int q = static_cast<int>(threadIdx.x) % 4;
  const int first = PlainTile<K_MAJOR>::at(first_row(threadIdx.x), q / 2 * (BK / 2) + q % 2 * 2);
  const auto numbers = [&] { return static_cast<const float*>(from_shared_address(rings.a.tile())) + first; };
  float products[Shape::VALUES];
  const auto add = [&](const Scaling& b_scaling) {
    float factor = 1.0F;
    if (!accumulators.same_exponent(0, a_scaling, b_scaling)) {
      factor = accumulators.template rescale<Bf16x6>(0, products, a_scaling, b_scaling, first_row(threadIdx.x),
                                                     first_column(threadIdx.x));
    }
#pragma unroll
    for (int i = 0; i < Shape::VALUES; ++i) {
      accumulators.values[0][i] = fmaf(products[i], factor, accumulators.values[0][i]);
    }
  };
  Fragments even;
  Fragments odd;
  rings.a.wait_until_full();
  even.split<K_MAJOR>(numbers(), 0);
#pragma unroll 1
  for (; k_tiles > 0; --k_tiles) {
    rings.b.wait_until_full();
    const Scaling& b_scaling = scaling_at(rings.b.scaling());
    start_products<Shape>(products, even, rings.b.tile(), 0);
    odd.split<K_MAJOR>(numbers(), 1);
    mbarrier_arrive_as_warp(rings.a.empty());
    rings.a.advance();
    wgmma_wait_group<0>(products);
    even.keep();
    add(b_scaling);
    start_products<Shape>(products, odd, rings.b.tile(), 1);
    if (k_tiles > 1) {
      rings.a.wait_until_full();
      even.split<K_MAJOR>(numbers(), 0);
    }
    wgmma_wait_group<0>(products);
    odd.keep();
    add(b_scaling);
    mbarrier_arrive_as_warp(rings.b.empty());
    rings.b.advance();
  }
}

/// OneGemm::store() for a C that is stored transposed: neighbouring threads have neighbouring rows.
template <int VALUES>
__device__ __forceinline__ void store_transposed(const TallProduct& p, std::int64_t first_row, std::int64_t first_col,
                                                 const float (&sums)[VALUES]) {
  const Scalars scalars = scalars_of(p);
  float* const c = p.c + first_col * p.ldc + first_row;
  const std::int64_t rows_left = p.m - first_row;
  const std::int64_t columns_left = p.n - first_col;
  unsigned not_finite = 0;
#pragma unroll
  for (int pair = 0; pair < VALUES / 2; ++pair) {
    const int row = pair % 2 * 8;
    const int column = pair / 2 * 8;
    if (!(std::fabs(sums[2 * pair] + sums[2 * pair + 1]) < INFINITY)) {
      not_finite |= 1U << static_cast<unsigned>(pair);
    } else if (row < rows_left) {
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        if (column + j < columns_left) {
          update(c[(column + j) * p.ldc + row], sums[2 * pair + j], scalars.alpha, scalars.beta);
        }
      }
    }
  }
  defer(p, first_row, first_col, not_finite);
}

/// What finish() does for other shapes.
template <class Shape>
__device__ __forceinline__ void finish_tall(const TallProblem& p, const Schedule& schedule, const Segment& segment,
                                            float (&sums)[1][Shape::VALUES]) {
  if (!collect<PartialSums<Shape::CONSUMER_WARPS, 1, Shape::VALUES>>(schedule, segment, sums)) {
    return;
  }
  const int number = of_warp(segment.tile / p.a_tiles);
  const TallProduct product = p.product(number);
  const std::int64_t row =
      static_cast<std::int64_t>(segment.tile - number * p.a_tiles) * TILE_ROWS + first_row(threadIdx.x);
  const int column = first_column(threadIdx.x);
  if (product.c_transposed) {
    store_transposed(product, row, column, sums[0]);
  } else if (of_warp(rows_split_into<2>(product.c, product.n, product.ldc) ? 1 : 0) != 0) {
    OneGemm<Shape, Access::float2>::store(product, row, column, sums[0]);
  } else {
    OneGemm<Shape, Access::float1>::store(product, row, column, sums[0]);
  }
}

/// A consumer warpgroup: it multiplies and stores segment after segment.
template <class Shape, bool K_MAJOR>
__device__ __forceinline__ void consume_tall(const TallProblem& p, const Schedule& schedule,
                                             TallRings<Shape, K_MAJOR> rings) {
  Work work(schedule);
#pragma unroll 1
  while (!work.done(schedule)) {
    const Segment segment = work.next(schedule);
    Accumulators<1, Shape::VALUES> accumulators;
    consume_tall_segment<Shape, K_MAJOR>(segment.count, rings, accumulators);
    accumulators.undo_scaling();
    finish_tall<Shape>(p, schedule, segment, accumulators.values);
  }
  compute_deferred<TallTiles<Shape>>(p, schedule, [&](int tile, int) {
    const int number = tile / p.a_tiles;
    compute_tile(p.product(number), tile - number * p.a_tiles, 0);
  });
}

/// A block. K_MAJOR: how A is stored.
template <class Shape, bool K_MAJOR>
__device__ __forceinline__ void multiply_tall(const TallProblem& p, void* memory, const Schedule& schedule) {
  static_assert(sizeof(PlainMemory) <= TallRings<Shape, K_MAJOR>::SMEM_BYTES);
  const TallRings<Shape, K_MAJOR> rings(shared_address(dynamic_smem()));
  defer_nothing();
  set_scaling_of_a();
  if (threadIdx.x == 0) {
    rings.a.init(Shape::CONSUMER_WARPS, Shape::A_PRODUCERS);
    rings.b.init(Shape::CONSUMER_WARPS);
    fence_mbarrier_init();
  }
  __syncthreads();
  if (threadIdx.x >= Shape::CONSUMER_THREADS) {
    setmaxnreg_dec<Shape::PRODUCER_REGISTERS>();
    if (threadIdx.x < Shape::CONSUMER_THREADS + Shape::A_PRODUCERS) {
      produce_a<Shape, K_MAJOR>(p, schedule, rings);
    } else if (threadIdx.x == Shape::CONSUMER_THREADS + Shape::A_PRODUCERS) {
      produce_b<Shape, K_MAJOR>(p, schedule, Workspace<Bf16x6>(p, memory), rings);
    }
  } else {
    setmaxnreg_inc<Shape::CONSUMER_REGISTERS>();
    consume_tall<Shape, K_MAJOR>(p, schedule, rings);
  }
}

}  // namespace sgemm::SGEMM_TARGET::split_product
