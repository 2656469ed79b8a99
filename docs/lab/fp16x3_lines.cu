// A prototype of chapter 12 that keeps small numbers: three FP16 products, one scale for each row of A and column of B
// over all of k, and residual tiles. Lab note: 11-split-products.md. At commit 8581f7c6, as kernels/18_fp16x3_lines.cu
// with its line in kernels/CMakeLists.txt, it is a kernel of the runner, on a GPU and on the executor.

#include "common/problem.hpp"
#include "common/target.hpp"
#include "common/vector_access.cuh"
#include "engine/int8_operands.cuh"
#include "engine/int8_product.cuh"
#include "engine/product_policy.cuh"
#include "engine/ring.cuh"
#include "engine/split_operands.cuh"
#include "engine/split_product.cuh"
#include "engine/split_schemes.cuh"
#include "engine/stream_k.cuh"
#include "host/alignment.hpp"
#include "host/chapter.cuh"
#include "host/launch.cuh"
#include "engine/split_launch.cuh"
#include "ptx/cp_async_bulk.cuh"
#include "ptx/cvt.cuh"
#include "ptx/griddepcontrol.cuh"
#include "ptx/mbarrier.cuh"
#include "ptx/setmaxnreg.cuh"
#include "ptx/wgmma.cuh"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace sgemm {
inline namespace SGEMM_TARGET {
namespace split_product {
namespace lines {

using Scheme = Fp16x3;

#ifndef THRESHOLD
#define THRESHOLD 0x1p-19F
#endif
constexpr int RESIDUAL = 39;                          // residuals are scaled by 2^RESIDUAL besides
constexpr int CODE_EXPONENT = 127 + SCALED_EXPONENT;  // a line is multiplied by 2^(CODE_EXPONENT - code)
constexpr int UNSCALABLE_CODE = 255;

__device__ __forceinline__ int code_of(unsigned largest) {
  const int exponent = static_cast<int>(largest >> MANTISSA_BITS);
  return largest == 0 ? 127 : exponent == 0 ? UNSCALABLE_CODE : exponent;  // 255: Inf or NaN
}

constexpr int GROUP = 8;
constexpr int GROUPS = BK / GROUP;
constexpr int PER_THREAD = 8;                                      // groups
constexpr int LINE_K_TILES = SPLIT_THREADS * PER_THREAD / GROUPS;  // of a line that a block has alone

SGEMM_HOST_DEVICE inline int8::LinesOfCluster share_of(std::int64_t k_tiles) {
  for (int lines = 8; lines >= 4; lines /= 2) {
    for (int blocks = 1; blocks <= 8; blocks *= 2) {
      if (k_tiles * lines <= LINE_K_TILES * blocks) {
        return {lines, blocks};
      }
    }
  }
  return {0, 0};
}

/// Memory: words that are 0 before (flags, counter, progress), then codes, table, terms, extra terms, zeros.
struct Memory {
  int k_tiles, words, a_tiles, panels;
  std::int64_t count;
  unsigned char* memory;

  SGEMM_HOST_DEVICE Memory(const Problem& p, void* at)
      : k_tiles(static_cast<int>(k_tiles_of<Scheme>(p))),
        words((k_tiles + 31) / 32),
        a_tiles(static_cast<int>(tiles_along(p.m))),
        panels(static_cast<int>(tiles_along(p.m) + tiles_along(p.n))),
        count(static_cast<std::int64_t>(panels) * k_tiles),
        memory(static_cast<unsigned char*>(at)) {}
  SGEMM_HOST_DEVICE static std::size_t up(std::size_t bytes) { return (bytes + 127) / 128 * 128; }
  SGEMM_HOST_DEVICE std::size_t flags_bytes() const {
    return up((64 + static_cast<std::size_t>(panels) * (words + 1)) * sizeof(unsigned));
  }
  SGEMM_HOST_DEVICE std::size_t codes_bytes() const { return up(static_cast<std::size_t>(panels) * TILE_ROWS); }
  SGEMM_HOST_DEVICE std::size_t table_bytes() const { return up(count * sizeof(int)); }
  SGEMM_HOST_DEVICE std::size_t bytes() const {
    return flags_bytes() + codes_bytes() + table_bytes() +
           (2 * static_cast<std::size_t>(count) + 1) * OperandTile<Scheme>::BYTES;
  }
  __device__ unsigned* progress() const { return reinterpret_cast<unsigned*>(memory); }
  __device__ unsigned* counter() const { return progress() + 32; }
  __device__ unsigned* any(int panel) const { return progress() + 64 + panel; }
  __device__ unsigned* flags(int panel) const { return progress() + 64 + panels + panel * words; }
  __device__ unsigned char* codes(int panel) const { return memory + flags_bytes() + panel * TILE_ROWS; }
  __device__ int* table(std::int64_t tile) const {
    return reinterpret_cast<int*>(memory + flags_bytes() + codes_bytes()) + tile;
  }
  __device__ unsigned char* terms(std::int64_t tile) const {
    return memory + flags_bytes() + codes_bytes() + table_bytes() + tile * OperandTile<Scheme>::BYTES;
  }
  __device__ unsigned char* extra(std::int64_t i) const { return terms(count + i); }
  __device__ unsigned char* zeros() const { return terms(2 * count); }
};

__device__ constexpr int k_in(int group, int i) { return i / 4 * (BK / 2) + group * 4 + i % 4; }

template <Access ACCESS>
__device__ __forceinline__ void load_along(const Operand& rows, std::int64_t row, std::int64_t first_k, int group,
                                           float (&x)[GROUP]) {
  const float* const from = rows.data + row * rows.stride;
#pragma unroll
  for (int i = 0; i < GROUP; i += 4) {
    const std::int64_t k = first_k + k_in(group, i);
    if (ACCESS == Access::float4) {
      const float4 four = load_float4_or_zero(from + k, row < rows.count && k < rows.depth);
      x[i] = four.x;
      x[i + 1] = four.y;
      x[i + 2] = four.z;
      x[i + 3] = four.w;
    } else {
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        x[i + j] = load_or_zero(from + k + j, row < rows.count && k + j < rows.depth);
      }
    }
  }
}

__device__ __forceinline__ void load_across(const Operand& columns, std::int64_t column, std::int64_t first_k,
                                            int group, float (&x)[GROUP]) {
  const float* const from = columns.data + first_k * columns.stride + column;
#pragma unroll
  for (int i = 0; i < GROUP; ++i) {
    const int k = k_in(group, i);
    x[i] = load_or_zero(from + k * columns.stride, column < columns.count && first_k + k < columns.depth);
  }
}

/// Scales, splits, and leaves residuals in x (of the scaled numbers). Returns whether any residual matters.
__device__ __forceinline__ bool split_scaled(float (&x)[GROUP], int code, uint4 (&terms)[2]) {
  unsigned pairs[GROUP / 2][2];
  bool matters = false;
  const bool scalable = code != UNSCALABLE_CODE;
  const int exponent = CODE_EXPONENT - code;
  const float first = power_of_2(exponent / 2);
  const float second = power_of_2(exponent - exponent / 2);
#pragma unroll
  for (int i = 0; i < GROUP / 2; ++i) {
    float a = scalable ? x[2 * i] * first * second : 0.0F;
    float b = scalable ? x[2 * i + 1] * first * second : 0.0F;
    const float limit_a = fabsf(a) * THRESHOLD;
    const float limit_b = fabsf(b) * THRESHOLD;
#pragma unroll
    for (int term = 0; term < 2; ++term) {
      pairs[i][term] = Fp16::pack(a, b);
      const float2 rounded = Fp16::unpack(pairs[i][term]);
      a -= rounded.x;
      b -= rounded.y;
    }
    // Residuals of other numbers, of up to 2^-9, would leave FP16's range when they are scaled.
    const bool of_a = fabsf(a) > limit_a;
    const bool of_b = fabsf(b) > limit_b;
    matters = matters || of_a || of_b;
    x[2 * i] = of_a ? a : 0.0F;
    x[2 * i + 1] = of_b ? b : 0.0F;
  }
#pragma unroll
  for (int term = 0; term < 2; ++term) {
    terms[term] = uint4{pairs[0][term], pairs[1][term], pairs[2][term], pairs[3][term]};
  }
  return matters;
}

template <Access ACCESS>
__device__ __forceinline__ void split_lines(const Problem& p, void* at, const int8::LinesOfCluster& share) {
  unsigned* const maxima = reinterpret_cast<unsigned*>(dynamic_smem());
  griddepcontrol_launch_dependents();
  const Memory memory(p, at);
  const int lines = share.lines;
  const int cluster = static_cast<int>(blockIdx.x) / share.blocks;
  const int rank = static_cast<int>(blockIdx.x) % share.blocks;
  const int panel = cluster / (TILE_ROWS / lines);
  const bool of_a = panel < memory.a_tiles;
  const int tile = of_a ? panel : panel - memory.a_tiles;
  const int thread = static_cast<int>(threadIdx.x);
  const int own = of_a ? thread / GROUPS % lines : thread % lines;
  const int group = of_a ? thread % GROUPS : thread / lines % GROUPS;
  const int first_k_tile = rank * (LINE_K_TILES / lines) + thread / (GROUPS * lines);
  const int stride = SPLIT_THREADS / (GROUPS * lines);
  const int row = cluster % (TILE_ROWS / lines) * lines + own;
  const std::int64_t line = std::int64_t{tile} * TILE_ROWS + row;

  float x[PER_THREAD][GROUP];
#pragma unroll
  for (int i = 0; i < PER_THREAD; ++i) {
    const std::int64_t first_k = std::int64_t{first_k_tile + i * stride} * BK;
    if (of_a) {
      load_along<ACCESS>({p.a, p.lda, p.m, p.k}, line, first_k, group, x[i]);
    } else {
      load_across({p.b, p.ldb, p.n, p.k}, line, first_k, group, x[i]);
    }
  }
  if (threadIdx.x < 8) {
    maxima[threadIdx.x] = 0;
  }
  if (blockIdx.x == 0) {
    uint4* const zeros = reinterpret_cast<uint4*>(memory.zeros());
    for (int i = thread; i < OperandTile<Scheme>::BYTES / 16; i += SPLIT_THREADS) {
      zeros[i] = uint4{0, 0, 0, 0};
    }
  }
  unsigned largest = 0;
#pragma unroll
  for (int i = 0; i < PER_THREAD; ++i) {
#pragma unroll
    for (const float value : x[i]) {
      largest = int8::larger(largest, __float_as_uint(value) & ~(1U << 31U));
    }
  }
  const int first = of_a ? 1 : lines;
  const int last = of_a ? GROUPS : WARP;
  for (int lanes = first; lanes < last; lanes *= 2) {
    largest = int8::larger(largest, __shfl_xor_sync(~0U, largest, lanes));
  }
  __syncthreads();
  if (largest > 0 && threadIdx.x % last / first == 0) {
    atomicMax(&maxima[own], largest);
  }
  __syncthreads();
  const int code = code_of(share.blocks == 1 ? maxima[own] : int8::largest_in_cluster(maxima, own, share.blocks));
  const std::int64_t first_tile = std::int64_t{panel} * memory.k_tiles;
  const unsigned place = WgmmaOrder::place(row, group);
#pragma unroll
  for (int i = 0; i < PER_THREAD; ++i) {
    const int k_tile = first_k_tile + i * stride;
    if (k_tile >= memory.k_tiles) {
      break;
    }
    uint4 terms[2];
    const bool matters = split_scaled(x[i], code, terms);
    unsigned char* const to = memory.terms(first_tile + k_tile);
#pragma unroll
    for (int term = 0; term < 2; ++term) {
      *reinterpret_cast<uint4*>(to + WgmmaOrder::in_tile<Scheme>(term, place)) = terms[term];
    }
    if (matters) {
      atomicOr(memory.flags(panel) + k_tile / 32, 1U << (k_tile % 32));
      *memory.any(panel) = 1;
    }
  }
  if (rank == 0 && first_k_tile == 0 && group == 0) {
    memory.codes(panel)[row] = static_cast<unsigned char>(code);
  }
  if (share.blocks > 1) {
    cluster_meet();
  }
}

/// Writes residual tiles of the flagged k-tiles.
template <Access ACCESS>
__device__ __forceinline__ void split_residuals(const Problem& p, void* at) {
  __shared__ int slot;
  griddepcontrol_launch_dependents();
  const Memory memory(p, at);
  griddepcontrol_wait();
  const int thread = static_cast<int>(threadIdx.x);
#pragma unroll 1
  for (int word = static_cast<int>(blockIdx.x); word < memory.panels * memory.words;
       word += static_cast<int>(gridDim.x)) {
    const int panel = word / memory.words;
    unsigned bits = memory.flags(0)[word];
    const bool of_a = panel < memory.a_tiles;
    const int tile = of_a ? panel : panel - memory.a_tiles;
#pragma unroll 1
    for (; bits != 0; bits &= bits - 1) {
      const int k_tile = word % memory.words * 32 + __ffs(static_cast<int>(bits)) - 1;
      __syncthreads();
      if (thread == 0) {
        slot = static_cast<int>(atomicAdd(memory.counter(), 1U));
        *memory.table(std::int64_t{panel} * memory.k_tiles + k_tile) = slot;
      }
      __syncthreads();
      unsigned char* const to = memory.extra(slot);
#pragma unroll 1
      for (int i = 0; i < 4; ++i) {
        const int row = of_a ? thread / GROUPS + i * 32 : thread % TILE_ROWS;
        const int group = of_a ? thread % GROUPS : thread / TILE_ROWS * 4 + i;
        float x[GROUP];
        const std::int64_t line = std::int64_t{tile} * TILE_ROWS + row;
        if (of_a) {
          load_along<ACCESS>({p.a, p.lda, p.m, p.k}, line, std::int64_t{k_tile} * BK, group, x);
        } else {
          load_across({p.b, p.ldb, p.n, p.k}, line, std::int64_t{k_tile} * BK, group, x);
        }
        uint4 terms[2];
        split_scaled(x, memory.codes(panel)[row], terms);
#pragma unroll
        for (float& value : x) {
          value *= power_of_2(RESIDUAL);
        }
        unsigned pairs[GROUP / 2][2];
#pragma unroll
        for (int j = 0; j < GROUP / 2; ++j) {
          split_pair<Fp16>(x[2 * j], x[2 * j + 1], pairs[j]);
        }
        const unsigned place = WgmmaOrder::place(row, group);
#pragma unroll
        for (int term = 0; term < 2; ++term) {
          *reinterpret_cast<uint4*>(to + WgmmaOrder::in_tile<Scheme>(term, place)) =
              uint4{pairs[0][term], pairs[1][term], pairs[2][term], pairs[3][term]};
        }
      }
    }
  }
}

template <int SLOTS>
using LineRing = Ring<OperandTile<Scheme>::BYTES, SLOTS>;
using LineRings = RingPair<LineRing<Scheme::A_SLOTS>, LineRing<Scheme::B_SLOTS>>;

template <class R>
__device__ __forceinline__ void copy(R& ring, const unsigned char* from) {
  ring.wait_until_empty();
  mbarrier_arrive_expect_tx(ring.full(), OperandTile<Scheme>::BYTES);
  cp_async_bulk(ring.tile(), from, OperandTile<Scheme>::BYTES, ring.full());
  ring.advance();
}

/// The flags of a segment's operand tiles, word by word.
struct SegmentFlags {
  const unsigned* a;
  const unsigned* b0;
  const unsigned* b1;
  int first, end;  // k-tiles
  bool any;

  __device__ __forceinline__ SegmentFlags(const Memory& memory, const Tile& tile, const Segment& segment)
      : a(memory.flags(tile.a)),
        b0(memory.flags(memory.a_tiles + tile.b)),
        b1(memory.flags(memory.a_tiles + tile.b + tile.b_tiles - 1)),
        first(segment.first),
        end(segment.first + segment.count) {
    any = (__ldcg(memory.any(tile.a)) | __ldcg(memory.any(memory.a_tiles + tile.b)) |
           __ldcg(memory.any(memory.a_tiles + tile.b + tile.b_tiles - 1))) != 0;
  }
  __device__ __forceinline__ unsigned mask(int word) const {
    unsigned bits = ~0U;
    if (word * 32 < first) {
      bits &= ~0U << static_cast<unsigned>(first - word * 32);
    }
    if (word * 32 + 32 > end) {
      bits &= ~0U >> static_cast<unsigned>(word * 32 + 32 - end);
    }
    return bits;
  }
  __device__ __forceinline__ unsigned of_a(int word) const { return __ldcg(a + word) & mask(word); }
  __device__ __forceinline__ unsigned of_b0(int word) const { return __ldcg(b0 + word) & mask(word); }
  __device__ __forceinline__ unsigned of_b1(int word) const { return __ldcg(b1 + word) & mask(word); }
};

template <class Policy>
__device__ __forceinline__ void produce_lines(const Problem& p, const Schedule& schedule, const Memory& memory,
                                              LineRings rings) {
  Work work(schedule);
  ProgressWindow window(schedule, Policy::FEWEST_ROUNDS_IN_WINDOW, memory.progress());
  griddepcontrol_wait();
  while (!work.done(schedule)) {
    const Segment segment = work.next(schedule);
    const Tile tile = Policy::tile_at(p, segment.tile);
    const std::int64_t a_first = static_cast<std::int64_t>(tile.a) * memory.k_tiles;
    const std::int64_t b_first = static_cast<std::int64_t>(memory.a_tiles + tile.b) * memory.k_tiles;
    const SegmentFlags flags(memory, tile, segment);
    if (flags.any) {
#pragma unroll 1
      for (int phase = 0; phase < 3; ++phase) {  // residuals of both, of A, of B
#pragma unroll 1
        for (int word = flags.first / 32; word * 32 < flags.end; ++word) {
          const unsigned a = flags.of_a(word);
          const unsigned b[2] = {flags.of_b0(word), flags.of_b1(word)};
          unsigned bits = phase == 0 ? a & (b[0] | b[1]) : phase == 1 ? a : b[0] | b[1];
#pragma unroll 1
          for (; bits != 0; bits &= bits - 1) {
            const unsigned bit = __ffs(static_cast<int>(bits)) - 1;
            const int k_tile = word * 32 + static_cast<int>(bit);
            copy(rings.a, phase == 2 ? memory.terms(a_first + k_tile) : memory.extra(*memory.table(a_first + k_tile)));
            for (int b_tile = 0; b_tile < tile.b_tiles; ++b_tile) {
              const std::int64_t at = b_first + b_tile * memory.k_tiles + k_tile;
              copy(rings.b, phase == 1                     ? memory.terms(at)
                            : (b[b_tile] >> bit & 1U) != 0 ? memory.extra(*memory.table(at))
                                                           : memory.zeros());
            }
          }
        }
      }
    }
    const bool whole = segment.tile < schedule.whole;
    for (int i = 0; i < segment.count; ++i) {
      const int k_tile = segment.first + i;
      if (whole) {
        window.advance();
      }
      copy(rings.a, memory.terms(a_first + k_tile));
      for (int b_tile = 0; b_tile < tile.b_tiles; ++b_tile) {
        copy(rings.b, memory.terms(b_first + b_tile * memory.k_tiles + k_tile));
      }
    }
  }
}

__device__ __forceinline__ void start_products(float (&products)[64], unsigned a_tile, unsigned b_tile) {
  constexpr TermsOfProduct ORDER[Scheme::PRODUCTS] = {{1, 0}, {0, 1}, {0, 0}};
  const std::uint64_t a = wgmma_descriptor(a_tile);
  const std::uint64_t b = wgmma_descriptor(b_tile);
  wgmma_fence();
#pragma unroll
  for (int i = 0; i < Scheme::PRODUCTS; ++i) {
#pragma unroll
    for (int k = 0; k < BK / WGMMA_K; ++k) {
      wgmma_m64n128k16<Fp16>(
          products, wgmma_descriptor_at(a, ORDER[i].a * OperandTile<Scheme>::TERM_BYTES + k * K_BLOCK_BYTES),
          wgmma_descriptor_at(b, ORDER[i].b * OperandTile<Scheme>::TERM_BYTES + k * K_BLOCK_BYTES), i + k > 0);
    }
  }
  wgmma_commit_group();
}

/// values += products of `steps` pairs of operand tiles.
template <int B_TILES>
__device__ __forceinline__ void multiply_steps(int steps, int b_tiles, LineRings& rings, float (&values)[B_TILES][64]) {
  const unsigned rows_of_group = threadIdx.x / WARPGROUP * (WGMMA_M * WGMMA_ROW_BYTES);
#pragma unroll 1
  for (; steps > 0; --steps) {
    rings.a.wait_until_full();
#pragma unroll
    for (int b_tile = 0; b_tile < B_TILES; ++b_tile) {
      if (b_tile >= b_tiles) {
        break;
      }
      float products[64];
      rings.b.wait_until_full();
      start_products(products, rings.a.tile() + rows_of_group, rings.b.tile());
      wgmma_wait_group<0>(products);
      __syncwarp();
      if (threadIdx.x % WARP == 0) {
        mbarrier_arrive(rings.b.empty());
        if (b_tile + 1 == b_tiles) {
          mbarrier_arrive(rings.a.empty());
        }
      }
      rings.b.advance();
#pragma unroll
      for (int i = 0; i < 64; ++i) {
        values[b_tile][i] += products[i];
      }
    }
    rings.a.advance();
  }
}

__device__ __forceinline__ float undoing(int code) {
  return code == UNSCALABLE_CODE ? INFINITY : power_of_2(code - CODE_EXPONENT);
}

__device__ __forceinline__ void undo(const int8::LineCodes<64>& codes, float (&totals)[64]) {
  const float rows[2] = {undoing(codes.rows[0]), undoing(codes.rows[1])};
  float columns[32];
  float smallest = INFINITY;
#pragma unroll
  for (int i = 0; i < 32; ++i) {
    columns[i] = undoing(i % 2 == 0 ? codes.columns[i / 2].x : codes.columns[i / 2].y);
    smallest = fminf(smallest, columns[i]);
  }
  if (smallest * fminf(rows[0], rows[1]) >= 0x1p-126F) {
#pragma unroll
    for (int i = 0; i < 64; ++i) {
      totals[i] *= rows[i / 2 % 2] * columns[i / 4 * 2 + i % 2];
    }
    return;
  }
#pragma unroll
  for (int i = 0; i < 64; ++i) {
    const float factor = rows[i / 2 % 2] * columns[i / 4 * 2 + i % 2];
    totals[i] *= factor >= 0x1p-126F ? factor : NAN;
  }
}

template <class Policy>
__device__ __forceinline__ void consume_lines(const Problem& p, const Schedule& schedule, const Memory& memory,
                                              LineRings rings) {
  constexpr int B_TILES = Policy::Shape::B_TILES;
  Work work(schedule);
  griddepcontrol_wait();
#pragma unroll 1
  while (!work.done(schedule)) {
    const Segment segment = work.next(schedule);
    const Tile tile = Policy::tile_at(p, segment.tile);
    float values[B_TILES][64] = {};
    const SegmentFlags flags(memory, tile, segment);
    int steps[3] = {0, 0, segment.count};
    if (flags.any) {
#pragma unroll 1
      for (int word = flags.first / 32; word * 32 < flags.end; ++word) {
        const unsigned a = flags.of_a(word);
        const unsigned b = flags.of_b0(word) | flags.of_b1(word);
        steps[0] += __popc(a & b);
        steps[1] += __popc(a) + __popc(b);
      }
    }
#pragma unroll 1
    for (int level = flags.any ? 0 : 2; level < 3; ++level) {
      multiply_steps<B_TILES>(level == 0 ? steps[0] : level == 1 ? steps[1] : steps[2], tile.b_tiles, rings, values);
      if (level < 2) {
#pragma unroll
        for (float(&of_tile)[64] : values) {
#pragma unroll
          for (float& value : of_tile) {
            value *= 1.0F / (1LL << RESIDUAL);
          }
        }
      }
    }
    const unsigned char* const a_codes = memory.codes(tile.a) + first_row(threadIdx.x);
#pragma unroll
    for (int b_tile = 0; b_tile < B_TILES; ++b_tile) {
      if (b_tile < tile.b_tiles) {
        undo(int8::LineCodes<64>(a_codes, memory.codes(memory.a_tiles + tile.b + b_tile) + first_column(threadIdx.x)),
             values[b_tile]);
      }
    }
    finish<Policy>(p, schedule, segment, {tile.a, tile.b}, values);
  }
}

template <class Policy>
__device__ __forceinline__ void multiply_lines(const Problem& p, void* at, const Schedule& schedule) {
  using Shape = typename Policy::Shape;
  const Memory memory(p, at);
  const LineRings rings(shared_address(dynamic_smem()));
  if (threadIdx.x == 0) {
    rings.a.init(Shape::CONSUMER_WARPS);
    rings.b.init(Shape::CONSUMER_WARPS);
    fence_mbarrier_init();
  }
  __syncthreads();
  if (threadIdx.x >= Shape::CONSUMER_THREADS) {
    setmaxnreg_dec<Shape::PRODUCER_REGISTERS>();
    if (threadIdx.x == Shape::CONSUMER_THREADS) {
      produce_lines<Policy>(p, schedule, memory, rings);
    }
  } else {
    setmaxnreg_inc<Shape::CONSUMER_REGISTERS>();
    consume_lines<Policy>(p, schedule, memory, rings);
  }
}

}  // namespace lines
}  // namespace split_product
}  // namespace SGEMM_TARGET

namespace {

using namespace split_product;
using Wide = Tile128x256<Fp16x3>;
using Narrow = Tile128x128<Fp16x3>;

__global__ void lines_clear_kernel(uint4* at, std::int64_t count) {
  for (std::int64_t i = blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x; i < count;
       i += std::int64_t{gridDim.x} * blockDim.x) {
    at[i] = uint4{0, 0, 0, 0};
  }
}

template <Access ACCESS>
__global__ void __launch_bounds__(SPLIT_THREADS, 2)
    lines_split_kernel(Problem p, void* at, int8::LinesOfCluster share) {
  lines::split_lines<ACCESS>(p, at, share);
}

template <Access ACCESS>
__global__ void __launch_bounds__(SPLIT_THREADS) lines_residual_kernel(Problem p, void* at) {
  lines::split_residuals<ACCESS>(p, at);
}

template <class Shape, Access ACCESS>
__global__ void __launch_bounds__(Shape::THREADS, 1) lines_kernel(Problem p, void* at, Schedule schedule) {
  lines::multiply_lines<OneProduct<Shape, ACCESS>>(p, at, schedule);
}

template <class Shape>
Candidate lines_candidate(const Problem& p, int multiprocessors, bool streamed) {
  using Shares = SharesMemory<Shape::CONSUMER_WARPS, Shape::B_TILES, 64>;
  const auto plan_for = streamed ? plan_streamed<Shape> : plan_whole<Shape>;
  const PredictedPlan planned = plan_for(p, multiprocessors);
  const std::size_t at = streamed ? Shares::bytes(multiprocessors) : 0;
  const auto run = [=, p_k = p.k](const Problem& problem, void* workspace, cudaStream_t stream) {
    Plan work = problem.k == p_k ? planned : plan_for(problem, multiprocessors);
    Shares::place(work.schedule, workspace, multiprocessors);
    void* const operands = static_cast<char*>(workspace) + at;
    const lines::Memory memory(problem, operands);
    const int8::LinesOfCluster share = lines::share_of(memory.k_tiles);
    const auto to_clear = static_cast<std::int64_t>(memory.flags_bytes() / 16);
    launch(lines_clear_kernel, std::min<std::int64_t>(132, (to_clear + 255) / 256), dim3(256), 0, stream,
           static_cast<uint4*>(operands), to_clear);
    const bool vector_access = rows_split_into_float4(problem.a, problem.k, problem.lda);
    const std::int64_t blocks = std::int64_t{memory.panels} * (TILE_ROWS / share.lines) * share.blocks;
    const auto split = vector_access ? lines_split_kernel<Access::float4> : lines_split_kernel<Access::float1>;
    if (share.blocks == 1) {
      launch(split, blocks, dim3(SPLIT_THREADS), 32, stream, problem, operands, share);
    } else {
      ClusterLaunch(share.blocks, blocks, dim3(SPLIT_THREADS), 32, stream).enqueue(split, problem, operands, share);
    }
    launch_dependent(vector_access ? lines_residual_kernel<Access::float4> : lines_residual_kernel<Access::float1>,
                     std::min(2 * multiprocessors, memory.panels * memory.words), dim3(SPLIT_THREADS), 0, stream,
                     problem, operands);
    const bool pairs = rows_split_into_float2(problem.c, problem.n, problem.ldc);
    launch_dependent(pairs ? lines_kernel<Shape, Access::float2> : lines_kernel<Shape, Access::float1>, work.blocks,
                     dim3(Shape::THREADS), lines::LineRings::SMEM_BYTES, stream, problem, operands, work.schedule);
  };
  return {{tile_name(Shape::BM, Shape::BN, streamed), at + lines::Memory(p, nullptr).bytes(), run}, planned.cycles};
}

std::vector<Configuration> lines_configurations(const Problem& p) {
  const int multiprocessors = current_device().multiprocessors;
  std::vector<Candidate> candidates;
  for (const bool streamed : {false, true}) {
    candidates.push_back(lines_candidate<Narrow>(p, multiprocessors, streamed));
    candidates.push_back(lines_candidate<Wide>(p, multiprocessors, streamed));
  }
  return fastest_first(std::move(candidates), std::numeric_limits<double>::infinity());
}

const Registration registered =
    Chapter(18, "fp16x3_lines")
        .summary("prototype: three FP16 products, one scale per line, residual tiles")
        .source("prototype")
        .min_compute_capability(90)
        .max_compute_capability(90)
        .needs_code_for_sm_90a()
        .accuracy(AccuracyClass::bf16_split)
        .configurations([](const Problem& p) { return lines_configurations(p); })
        .blocks_per_sm(1)
        .resources([] {
          return resources_of(lines_kernel<Wide, Access::float2>, Wide::THREADS, lines::LineRings::SMEM_BYTES);
        })
        .registration();

}  // namespace
}  // namespace sgemm
