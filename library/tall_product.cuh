#pragma once

// Products whose C is tall: many rows, and at most 128 columns. Splitting A by a kernel of its own would move several
// times as many bytes as A has. So consumers split it themselves: they read plain numbers from shared memory and keep
// the terms in registers, from where wgmma takes them. Only B, which is small, is split beforehand. The terms, their
// products and the order of sums are those of chapter 11, but nobody looks for the largest numbers: all of A and of B
// is multiplied by the same power of two. A flat C is the transposed of a tall one.

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

/// What the kernels get: products with a tall C, or with a flat one before they were transposed.
struct TallProblem {
  /// `notes` has room for the tiles of all C.
  TallProblem(const GemmBatch& tall, bool transposed, void* notes)
      : batch(tall),
        c_transposed(transposed),
        a_tiles(static_cast<int>(tiles_along(tall.first.m))),
        k_tiles(static_cast<int>(k_tiles_of<Bf16x6>(tall.first))),
        deferred(tall.count * a_tiles, notes) {}

  GemmBatch batch;
  bool c_transposed;
  int a_tiles;  ///< of the A of one product
  int k_tiles;
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

/// The terms of a k-tile of B, for as many columns as C may have. In memory those of a product follow one another.
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
  static constexpr int A_STAGES = 3;          // measured: with more of them A streams more slowly
  static constexpr int B_STAGES = COLUMNS == 32 ? 4 : COLUMNS == 64 ? 3 : 2;
  static constexpr int A_PRODUCERS = 2 * WARP;
  static constexpr int PRODUCER_REGISTERS = 56;  // with 40 they spill, and A streams more slowly
  static constexpr int CONSUMER_REGISTERS = 224;
};

/// What compute_deferred() asks: a tile of C is 128 rows of A by all columns. Those of a product follow one another.
template <class Shape_>
struct TallTiles {
  using Shape = Shape_;
  using Problem = TallProblem;

  __device__ __forceinline__ static Tile tile_at(const TallProblem&, int position) { return {position, 0, 1}; }
};

template <class Shape, bool K_MAJOR>
using TallRings = RingPair<Ring<PlainTile<K_MAJOR>::BYTES, Shape::A_STAGES>,
                           Ring<NarrowTile<Shape::COLUMNS>::BYTES, Shape::B_STAGES>>;

/// A and B are multiplied by 2^TALL_EXPONENT, so that all three terms of the smallest denormal number are normal.
/// Numbers from 2^(128 - TALL_EXPONENT) and sums from 2^(128 - 2 TALL_EXPONENT) on overflow, and are computed again.
constexpr int TALL_EXPONENT = 24;

/// Splits two neighbours along k.
__device__ __forceinline__ void split_neighbours(float x, float y, unsigned (&terms)[Bf16x6::TERMS]) {
  split_pair<Bf16>(x * power_of_2(TALL_EXPONENT), y * power_of_2(TALL_EXPONENT), terms);
}

/// Splits the B of all products, a group a thread.
template <class Shape, bool K_MAJOR>
__device__ __forceinline__ void split_narrow(const TallProblem& p, unsigned char* terms) {
  constexpr int COLUMNS = Shape::COLUMNS;
  using Narrow = NarrowTile<COLUMNS>;
  const auto thread = std::int64_t{blockIdx.x} * SPLIT_THREADS + static_cast<int>(threadIdx.x);
  const auto in_tile = static_cast<int>(thread % (COLUMNS * GROUPS));
  const std::int64_t tile = thread / (COLUMNS * GROUPS);
  const auto number = static_cast<int>(tile / p.k_tiles);
  if (number >= p.batch.count) {
    return;
  }
  const int column = K_MAJOR ? in_tile / GROUPS : in_tile % COLUMNS;
  const int group = K_MAJOR ? in_tile % GROUPS : in_tile / COLUMNS;
  const std::int64_t first_k = tile % p.k_tiles * BK;
  const Operand b = Operands(p.product(number)).b;
  float x[GROUP];
  if constexpr (!K_MAJOR) {
    load_mn_major(b, column, first_k, group, x);
  } else if (rows_split_into<4>(b.data, b.depth, b.stride)) {
    load_k_major<Access::float4>(b, column, first_k, group, x);
  } else {
    load_k_major<Access::float1>(b, column, first_k, group, x);
  }
  uint4 parts[Bf16x6::TERMS];
  split_group<Bf16x6>([&](int i) { return x[i] * power_of_2(TALL_EXPONENT); }, parts);
#pragma unroll
  for (int term = 0; term < Bf16x6::TERMS; ++term) {
    unsigned char* const to = terms + tile * Narrow::BYTES + term * Narrow::TERM_BYTES;
    *reinterpret_cast<uint4*>(to + place_in_term(column, group)) = parts[term];
  }
}

// ---- Producers ----

/// Starts copying a k-tile of A in groups of four numbers, each in one access or in four. Zeros stand for what is
/// outside of the matrix. `thread` is one of COPIERS.
template <bool K_MAJOR, int COPIERS, Access ACCESS>
__device__ __forceinline__ void copy_numbers(unsigned stage, const Operand& operand, std::int64_t first_line,
                                             std::int64_t first_k, int thread) {
  using Tile = PlainTile<K_MAJOR>;
  constexpr int ALONG = K_MAJOR ? BK : TILE_ROWS;  // of a row of the stored matrix
  constexpr int ACROSS = K_MAJOR ? TILE_ROWS : BK;
  constexpr int STEP = COPIERS / (ALONG / 4);
  constexpr int STEP_BYTES = STEP * static_cast<int>(sizeof(float)) * (K_MAJOR ? Tile::LINE : Tile::K);
  constexpr int HALF_BYTES =
      static_cast<int>(sizeof(float)) * (K_MAJOR ? Tile::at(ACROSS / 2, 0) : Tile::at(0, ACROSS / 2));
  static_assert(COPIERS % (ALONG / 4) == 0 && STEP < ACROSS / 2);
  const int along = thread % (ALONG / 4) * 4;
  int across = thread / (ALONG / 4);
  const std::int64_t first_along = K_MAJOR ? first_k : first_line;
  const std::int64_t first_across = K_MAJOR ? first_line : first_k;
  const std::int64_t left_along = (K_MAJOR ? operand.depth : operand.count) - first_along - along;
  const std::int64_t left_across = (K_MAJOR ? operand.count : operand.depth) - first_across;
  const float* from = operand.data + (first_across + across) * operand.stride + first_along + along;
  unsigned to =
      stage + static_cast<unsigned>(K_MAJOR ? Tile::at(across, along) : Tile::at(along, across)) * sizeof(float);
  const bool whole = ACCESS == Access::float4 && left_along > 0 && left_across >= ACROSS;
#pragma unroll 1
  for (int half = 0; half < 2; ++half) {
    if (whole) {
#pragma unroll 4
      for (int i = 0; i < ACROSS / 2 / STEP; ++i) {
        cp_async<16>(to + i * STEP_BYTES, from);
        from += STEP * operand.stride;
      }
    } else {
#pragma unroll 4
      for (int i = 0; i < ACROSS / 2 / STEP; ++i) {
        const bool inside = across < left_across;
        if (ACCESS == Access::float4) {
          cp_async_zfill<16>(to + i * STEP_BYTES, from, inside && left_along > 0);
        } else {
#pragma unroll
          for (int j = 0; j < 4; ++j) {
            cp_async_zfill<4>(to + i * STEP_BYTES + j * sizeof(float), from + j, inside && left_along > j);
          }
        }
        from += STEP * operand.stride;
        across += STEP;
      }
    }
    to += HALF_BYTES;
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
__device__ __forceinline__ void produce_b(const TallProblem& p, const Schedule& schedule, const unsigned char* terms,
                                          TallRings<Shape, K_MAJOR> rings) {
  using Narrow = NarrowTile<Shape::COLUMNS>;
  Work work(schedule);
  griddepcontrol_wait();
#pragma unroll 1
  while (!work.done(schedule)) {
    const Segment segment = work.next(schedule);
    std::int64_t tile = static_cast<std::int64_t>(segment.tile / p.a_tiles) * p.k_tiles + segment.first;
#pragma unroll 1
    for (int left = segment.count; left > 0; --left, ++tile) {
      rings.b.wait_until_empty();
      mbarrier_arrive_expect_tx(rings.b.full(), Narrow::BYTES);
      cp_async_bulk(rings.b.tile(), terms + tile * Narrow::BYTES, Narrow::BYTES, rings.b.full());
      rings.b.advance();
    }
  }
}

// ---- Consumers ----

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
        split_neighbours(x.x, x.y, parts);
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

/// The sums of a thread, for `k_tiles` k-tiles of a tile of C.
template <class Shape, bool K_MAJOR>
__device__ __forceinline__ void consume_tall_segment(int k_tiles, TallRings<Shape, K_MAJOR>& rings,
                                                     float (&sums)[Shape::VALUES]) {
  static_assert(CHUNKS == 2);
  // Of the pairs of groups of a step, a thread has k as k_in_tile() deals them out.
  const int q = static_cast<int>(threadIdx.x) % 4;
  const int first = PlainTile<K_MAJOR>::at(first_row(threadIdx.x), q / 2 * (BK / 2) + q % 2 * 2);
  const auto numbers = [&] { return static_cast<const float*>(from_shared_address(rings.a.tile())) + first; };
  float products[Shape::VALUES];
  const auto add = [&] {
#pragma unroll
    for (int i = 0; i < Shape::VALUES; ++i) {
      sums[i] += products[i];
    }
  };
  Fragments even;
  Fragments odd;
  rings.a.wait_until_full();
  even.split<K_MAJOR>(numbers(), 0);
#pragma unroll 1
  for (; k_tiles > 0; --k_tiles) {
    rings.b.wait_until_full();
    start_products<Shape>(products, even, rings.b.tile(), 0);
    odd.split<K_MAJOR>(numbers(), 1);
    mbarrier_arrive_as_warp(rings.a.empty());
    rings.a.advance();
    wgmma_wait_group<0>(products);
    even.keep();
    add();
    start_products<Shape>(products, odd, rings.b.tile(), 1);
    if (k_tiles > 1) {
      rings.a.wait_until_full();
      even.split<K_MAJOR>(numbers(), 0);
    }
    wgmma_wait_group<0>(products);
    odd.keep();
    add();
    mbarrier_arrive_as_warp(rings.b.empty());
    rings.b.advance();
  }
#pragma unroll
  for (float& sum : sums) {
    sum = sum * power_of_2(-TALL_EXPONENT) * power_of_2(-TALL_EXPONENT);
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
    float sums[1][Shape::VALUES] = {};
    consume_tall_segment<Shape, K_MAJOR>(segment.count, rings, sums[0]);
    finish_tall<Shape>(p, schedule, segment, sums);
  }
  compute_deferred<TallTiles<Shape>>(p, schedule, [&](int tile, int) {
    const int number = tile / p.a_tiles;
    compute_tile(p.product(number), tile - number * p.a_tiles, 0);
  });
}

/// A block. K_MAJOR: how A is stored.
template <class Shape, bool K_MAJOR>
__device__ __forceinline__ void multiply_tall(const TallProblem& p, const unsigned char* b_terms,
                                              const Schedule& schedule) {
  static_assert(sizeof(PlainMemory) <= TallRings<Shape, K_MAJOR>::SMEM_BYTES);
  const TallRings<Shape, K_MAJOR> rings(shared_address(dynamic_smem()));
  defer_nothing();
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
      produce_b<Shape, K_MAJOR>(p, schedule, b_terms, rings);
    }
  } else {
    setmaxnreg_inc<Shape::CONSUMER_REGISTERS>();
    consume_tall<Shape, K_MAJOR>(p, schedule, rings);
  }
}

}  // namespace sgemm::SGEMM_TARGET::split_product
