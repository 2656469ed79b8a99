#pragma once

// Producer warps that copy and consumer warps that multiply, with a ring of stages in shared memory between them.
// Chapter 08 has the plain form and explains it. Here the consumers of a small tile share its k as well, and a block
// computes segments of tiles. Chapter 09 and the library's FP32 products are made of it.

#include "common/ceil_div.hpp"
#include "common/epilogue.cuh"
#include "common/keep_in_register.cuh"
#include "common/problem.hpp"
#include "common/vector_access.cuh"
#include "ptx/bar.cuh"
#include "ptx/cp_async.cuh"
#include "ptx/mbarrier.cuh"
#include "ptx/shared_memory.cuh"

#include <cstdint>

namespace sgemm::SGEMM_TARGET::warp_specialized {

constexpr int WARP = 32;
constexpr int PRODUCER_THREADS = 4 * WARP;  // a warpgroup, as setmaxnreg wants
constexpr int TM = 16;                      // rows of C per thread
constexpr int TN = 8;                       // and columns
constexpr int LANES_M = 4;
constexpr int LANES_N = WARP / LANES_M;
constexpr int WM = LANES_M * TM;
constexpr int WN = LANES_N * TN;
constexpr int UNROLL = 8;  // steps of k in an iteration of the main loop, whose code has to fit into a cache
constexpr int FLOAT_BYTES = sizeof(float);

/// What a tile of C has unless it says otherwise. It says its height and width in warp tiles of WM x WN, and the number
/// of stages in its ring. With SLICES above 1, SLICES warps compute each warp tile, each its own slice of a k-tile.
struct TileDefaults {
  static constexpr int SLICES = 1;
  static constexpr int BK = 32;
  /// Floats behind each column of A, so that a warp's copy of an operand along k spreads over all banks: it takes 4
  /// lines and 8 elements along k at a time.
  static constexpr int PADDING = 4;
};

/// The constants that follow from a tile's own: WARPS_M, WARPS_N, STAGES, SLICES and BK.
template <class Tile>
struct TileShape : Tile {
  static constexpr int SLICE_K = Tile::BK / Tile::SLICES;
  static_assert(Tile::BK % Tile::SLICES == 0 && SLICE_K % UNROLL == 0);
  static constexpr int BM = Tile::WARPS_M * WM;
  static constexpr int BN = Tile::WARPS_N * WN;
  static constexpr int SLICE_WARPS = Tile::WARPS_M * Tile::WARPS_N;
  static constexpr int CONSUMER_WARPS = SLICE_WARPS * Tile::SLICES;
  static constexpr int CONSUMER_THREADS = CONSUMER_WARPS * WARP;
  static constexpr int THREADS = CONSUMER_THREADS + PRODUCER_THREADS;
  // For one k, a stage holds the tile's column of A and then its row of B, in floats.
  static constexpr int B_OFFSET = BM + Tile::PADDING;
  static constexpr int K_BYTES = (B_OFFSET + BN) * FLOAT_BYTES;
  static_assert((B_OFFSET + BN) % WARP == Tile::PADDING);
  static constexpr int STAGE_BYTES = Tile::BK * K_BYTES;
  using Ring = StageRing<Tile::STAGES, STAGE_BYTES>;
  // The room in which the accumulators of slices meet, half of them at a time.
  static constexpr int EXCHANGE_BYTES = Tile::SLICES == 1 ? 0 : CONSUMER_THREADS * TM * TN * FLOAT_BYTES / 2;
  static constexpr int SMEM_BYTES = Ring::BYTES + EXCHANGE_BYTES;
  // 64 Ki registers make 168 for each of 384 threads. Producers leave some of theirs over for the consumers.
  static constexpr int PRODUCER_REGISTERS = 72;
  static constexpr int CONSUMER_REGISTERS = 168 + (168 - PRODUCER_REGISTERS) * PRODUCER_THREADS / CONSUMER_THREADS;
  static_assert(THREADS == 384);
};

/// The place of a thread's first row and column in the tile. The next groups of four follow at distances of 4 * LANES_M
/// rows and 4 * LANES_N columns.
template <class Shape>
__device__ __forceinline__ unsigned row_in_tile(unsigned thread) {
  return thread / WARP % Shape::SLICE_WARPS / Shape::WARPS_N * WM + thread % WARP / LANES_N * 4;
}
template <class Shape>
__device__ __forceinline__ unsigned column_in_tile(unsigned thread) {
  return thread / WARP % Shape::WARPS_N * WN + thread % LANES_N * 4;
}

/// The number of a thread's slice of each k-tile.
template <class Shape>
__device__ __forceinline__ unsigned slice_of(unsigned thread) {
  return thread / WARP / Shape::SLICE_WARPS;
}

// ---- The order of the FMAs: chapter 08 ----

/// The row that is multiplied as number `i` in one step of k.
__device__ constexpr int row_in_order(int i) {
  constexpr int BY_PARITY[TM] = {0, 2, 1, 3, 5, 7, 4, 6, 8, 10, 9, 11, 13, 15, 12, 14};
  return BY_PARITY[i];
}

/// The column that is number `j` in that row.
__device__ constexpr int column_in_order(int i, int j) {
  return (i % 2 == 0 ? j : TN - 1 - j) ^ ((i + row_in_order(i) + 1) % 2);
}

/// The place in the order behind the last row of group `g` (rows 4 g to 4 g + 3).
__device__ constexpr int end_of_group(int g) {
  int last = 0;
  for (int i = 0; i < TM; ++i) {
    last = row_in_order(i) / 4 == g ? i : last;
  }
  return last;
}

// ---- The two sides of the ring ----

/// The number of k-tiles of a product. It is 1 if K is 0: a k-tile of zeros.
template <class Shape>
SGEMM_HOST_DEVICE int k_tiles_of(const Problem& p) {
  return p.k == 0 ? 1 : static_cast<int>(ceil_div<std::int64_t>(p.k, Shape::BK));
}

/// The smaller of both.
template <int LIMIT>
__device__ __forceinline__ int at_most(std::int64_t x) {
  return x < LIMIT ? static_cast<int>(x) : LIMIT;
}

/// How producers read an operand. It is K-major where elements that follow one another in memory are those along k, as
/// in A, and MN-major where they are not, as in B. In shared memory it always is MN-major.
enum class Reading {
  k_major,           ///< float by float, transposed on the way
  mn_major,          ///< float by float
  mn_major_by_four,  ///< in groups of four, which have to be aligned
};

/// How producers copy one operand of a tile of C: LINES rows of A or columns of B. In a stage the elements of one k are
/// K_BYTES behind those of the last one, and the first of them is OFFSET floats behind the stage.
template <class Shape, Reading READING, int LINES, int K_BYTES>
class OperandCopy {
 public:
  /// The place of this thread's first element in the tile.
  __device__ static int k() { return K_MAJOR ? thread() % K_AT_ONCE : thread() / LANES; }
  __device__ static int line() { return K_MAJOR ? thread() / K_AT_ONCE : thread() % LANES * WIDTH; }

  /// The address of the same element in the matrix, where the tile begins with line number `first`.
  __device__ __forceinline__ static const float* source_in(const float* matrix, std::int64_t ld, std::int64_t first) {
    if constexpr (K_MAJOR) {
      return matrix + (first + line()) * ld + k();
    } else {
      return matrix + k() * ld + first + line();
    }
  }

  /// Copies a k-tile to `place`: k below `depth` alone unless it is WHOLE, and `left` of the lines from the thread's
  /// first one on. All others become zeros. `source` is at a place from which advance() goes on then.
  template <bool WHOLE>
  __device__ __forceinline__ static void copy(unsigned place, const float*& source, std::int64_t ld, int left,
                                              int depth) {
    if constexpr (K_MAJOR) {
      const float* from = source;
#pragma unroll
      for (int i = 0; i < LINES; i += LINES_AT_ONCE) {
#pragma unroll
        for (int kk = 0; kk < BK; kk += K_AT_ONCE) {
          cp_async_zfill<FLOAT_BYTES>(place + kk * K_BYTES + i * FLOAT_BYTES, from + kk,
                                      i < left && (WHOLE || k() + kk < depth));
        }
        from += LINES_AT_ONCE * ld;
        from = keep_in_register(from);
      }
    } else {
#pragma unroll
      for (int kk = 0; kk < BK; kk += K_AT_ONCE) {
#pragma unroll
        for (int i = 0; i < LINES; i += LINES_AT_ONCE) {
          if (i + LINES_AT_ONCE <= LINES || i + line() < LINES) {
            cp_async_zfill<FLOAT_BYTES * WIDTH>(place + kk * K_BYTES + i * FLOAT_BYTES, source + i,
                                                i < left && (WHOLE || k() + kk < depth));
          }
        }
        source = keep_in_register(source + K_AT_ONCE * ld);  // so that not all rows' addresses stay in registers
      }
    }
  }

  /// Takes `source` to the next k-tile, from behind one of `depth`.
  __device__ __forceinline__ static void advance(const float*& source, std::int64_t ld, int depth) {
    if constexpr (K_MAJOR) {
      source += depth;
    } else {
      source -= (BK - depth) * ld;
    }
  }
  /// Takes it so far along k.
  __device__ __forceinline__ static void skip(const float*& source, std::int64_t ld, int depth) {
    source += depth * (K_MAJOR ? 1 : ld);
  }

 private:
  static constexpr int BK = Shape::BK;
  static constexpr bool K_MAJOR = READING == Reading::k_major;
  static constexpr int WIDTH = READING == Reading::mn_major_by_four ? 4 : 1;  // floats per copy
  // Along k: a warp copies 4 lines by 8 elements at a time. Across k: one row at a time, or several short ones.
  static constexpr int LANES = LINES < WARP * WIDTH ? LINES / WIDTH : WARP;
  static constexpr int K_AT_ONCE = K_MAJOR ? 8 : PRODUCER_THREADS / LANES;
  static constexpr int LINES_AT_ONCE = K_MAJOR ? PRODUCER_THREADS / K_AT_ONCE : LANES * WIDTH;

  __device__ static int thread() { return static_cast<int>(threadIdx.x) - Shape::CONSUMER_THREADS; }
};

/// The producer warps' side of the ring.
template <class Shape, Reading READ_A, Reading READ_B>
class Producer {
 public:
  __device__ __forceinline__ explicit Producer(unsigned smem) : smem_(smem), stage_(smem), ring_(smem) {}

  /// Fills the next `count` stages with the k-tiles of a product, from number `first` on. The rows of A and the columns
  /// of B belong to the tile of C that begins at `tile`. Elements outside the matrices become zeros. If K is no
  /// multiple of BK, the first k-tile is the short one.
  __device__ __forceinline__ void produce(const Problem& p, TileOrigin tile, int first, int count) {
    const float* a_source = CopyA::source_in(p.a, p.lda, tile.row);
    const float* b_source = CopyB::source_in(p.b, p.ldb, tile.col);
    const int rows_left = at_most<Shape::BM>(p.m - tile.row) - CopyA::line();
    const int cols_left = at_most<Shape::BN>(p.n - tile.col) - CopyB::line();
    const int first_depth = static_cast<int>(p.k) - (k_tiles_of<Shape>(p) - 1) * BK;
    if (first == 0) {
      copy_k_tile<false>(p, a_source, b_source, rows_left, cols_left, first_depth);
      CopyA::advance(a_source, p.lda, first_depth);
      CopyB::advance(b_source, p.ldb, first_depth);
      --count;
    } else {
      const int k = first_depth + (first - 1) * BK;
      CopyA::skip(a_source, p.lda, k);
      CopyB::skip(b_source, p.ldb, k);
    }
    for (; count > 0; --count) {
      copy_k_tile<true>(p, a_source, b_source, rows_left, cols_left, BK);
      CopyA::advance(a_source, p.lda, BK);
      CopyB::advance(b_source, p.ldb, BK);
    }
  }

 private:
  static constexpr int BK = Shape::BK;
  using CopyA = OperandCopy<Shape, READ_A, Shape::BM, Shape::K_BYTES>;
  using CopyB = OperandCopy<Shape, READ_B, Shape::BN, Shape::K_BYTES>;

  template <bool WHOLE>
  __device__ __forceinline__ void copy_k_tile(const Problem& p, const float*& a_source, const float*& b_source,
                                              int rows_left, int cols_left, int depth) {
    ring_.wait_until_empty();
    const unsigned place_of_a = stage_ + CopyA::k() * Shape::K_BYTES + CopyA::line() * FLOAT_BYTES;
    const unsigned place_of_b = stage_ + CopyB::k() * Shape::K_BYTES + (Shape::B_OFFSET + CopyB::line()) * FLOAT_BYTES;
    CopyA::template copy<WHOLE>(place_of_a, a_source, p.lda, rows_left, depth);
    CopyB::template copy<WHOLE>(place_of_b, b_source, p.ldb, cols_left, depth);
    cp_async_mbarrier_arrive_noinc(ring_.full());
    stage_ = ring_.advance() ? smem_ : stage_ + Shape::STAGE_BYTES;
  }

  unsigned smem_;
  unsigned stage_;  ///< shared address
  typename Shape::Ring ring_;
};

/// The consumer warps' side of the ring.
template <class Shape>
class Consumer {
 public:
  __device__ __forceinline__ explicit Consumer(unsigned smem) : smem_(smem), ring_(smem) {}

  /// accumulators += A * B over the next `k_tiles` stages, at least one.
  __device__ __forceinline__ void consume(int k_tiles, float (&accumulators)[TM][TN]) {
    // The addresses of this thread's fragments in the first stage.
    const unsigned slice = smem_ + slice_of<Shape>(threadIdx.x) * (Shape::SLICE_K * Shape::K_BYTES);
    const unsigned a_first = keep_in_register(slice + row_in_tile<Shape>(threadIdx.x) * FLOAT_BYTES);
    const unsigned b_first =
        keep_in_register(slice + (Shape::B_OFFSET + column_in_tile<Shape>(threadIdx.x)) * FLOAT_BYTES);
    unsigned b_here = b_first + ring_.stage() * Shape::STAGE_BYTES;
    unsigned a_here = a_first + ring_.stage() * Shape::STAGE_BYTES;
    float a[TM];
    float b[TN];
    ring_.wait_until_full();
#pragma unroll
    for (int group = 0; group < TM / 4; ++group) {
      load_group<LANES_M>(a, group, a_here);
    }
    load_b(b, b_here);

    constexpr unsigned ITERATIONS = Shape::SLICE_K / UNROLL;  // per k-tile
#pragma unroll 1
    for (unsigned left = k_tiles * ITERATIONS; left > 0; --left) {
      unsigned a_next = a_here + UNROLL * Shape::K_BYTES;
      unsigned b_next = b_here + UNROLL * Shape::K_BYTES;
#pragma unroll
      for (int k = 0; k < UNROLL; ++k) {
        if (k == UNROLL - 1 &&
            (ITERATIONS == 1 || left % ITERATIONS == 1)) {  // the last fragments of the k-tile are in registers
          if (left > 1) {
            const unsigned read = ring_.empty();
            ring_.advance();
            a_next = a_first + ring_.stage() * Shape::STAGE_BYTES;
            b_next = b_first + ring_.stage() * Shape::STAGE_BYTES;
            mbarrier_arrive_as_warp(read);
            ring_.wait_until_full();
          } else {  // the last load is not used, but its address has to be valid
            a_next = a_here;
            b_next = b_here;
          }
        }
        const unsigned a_from = k == UNROLL - 1 ? a_next : a_here + (k + 1) * Shape::K_BYTES;
        const unsigned b_from = k == UNROLL - 1 ? b_next : b_here + (k + 1) * Shape::K_BYTES;
#pragma unroll
        for (int i = 0; i < TM; ++i) {
          const int row = row_in_order(i);
#pragma unroll
          for (int j = 0; j < TN; ++j) {
            const int col = column_in_order(i, j);
            accumulators[row][col] += a[row] * b[col];
          }
          // Registers are loaded for the next k as soon as this k does not need them any more.
          if (i == end_of_group(row / 4)) {
            load_group<LANES_M>(a, row / 4, a_from);
          }
        }
        load_b(b, b_from);
      }
      a_here = a_next;
      b_here = b_next;
    }
    const unsigned read = ring_.empty();
    ring_.advance();
    mbarrier_arrive_as_warp(read);
  }

 private:
  /// Four of a fragment's elements, for one k; groups lie 4 * LANES floats apart.
  template <int LANES, int COUNT>
  __device__ __forceinline__ static void load_group(float (&fragment)[COUNT], int group, unsigned from) {
    unpack(ld_shared_v4_f32(from + group * 4 * LANES * FLOAT_BYTES), fragment + 4 * group);
  }

  __device__ __forceinline__ static void load_b(float (&b)[TN], unsigned from) {
#pragma unroll
    for (int group = 0; group < TN / 4; ++group) {
      load_group<LANES_N>(b, group, from);
    }
  }

  unsigned smem_;
  typename Shape::Ring ring_;
};

/// The number of rows that a thread keeps after the accumulators of slices have been added. Each slice finishes its own
/// rows.
template <class Shape>
constexpr int FINISHED_ROWS = TM / Shape::SLICES;

/// The row that is number `r` among the rows that a thread finishes. Half of them come from its first TM / 2 rows.
template <class Shape>
__device__ __forceinline__ int finished_row(int slice, int r) {
  if constexpr (Shape::SLICES == 1) {
    return r;
  }
  constexpr int HALF = FINISHED_ROWS<Shape> / 2;
  return r / HALF * (TM / 2) + slice * HALF + r % HALF;
}

/// Adds the accumulators of all slices, for the rows that this slice finishes.
template <class Shape>
__device__ __forceinline__ void add_slices(const float (&accumulators)[TM][TN],
                                           float (&finished)[FINISHED_ROWS<Shape>][TN]) {
  constexpr int HALF = TM / 2;          // rows that fit into the exchange memory
  constexpr int QUADS = HALF * TN / 4;  // of a thread, in the exchange memory
  constexpr int CONSUMER_BARRIER = 1;   // the number of their bar.sync
  const int slice = static_cast<int>(slice_of<Shape>(threadIdx.x));
  const int warp_of_tile = static_cast<int>(threadIdx.x) / WARP % Shape::SLICE_WARPS;
  float* const exchange = dynamic_smem() + Shape::Ring::BYTES / FLOAT_BYTES +
                          (warp_of_tile * (Shape::SLICES * QUADS) * WARP + static_cast<int>(threadIdx.x) % WARP) * 4;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    bar_sync(CONSUMER_BARRIER, Shape::CONSUMER_THREADS);  // the last content has been read
#pragma unroll
    for (int i = 0; i < HALF; ++i) {
#pragma unroll
      for (int j = 0; j < TN; j += 4) {
        const float(&row)[TN] = accumulators[half * HALF + i];
        store_float4(exchange + (slice * QUADS + (i * TN + j) / 4) * (4 * WARP),
                     float4{row[j], row[j + 1], row[j + 2], row[j + 3]});
      }
    }
    bar_sync(CONSUMER_BARRIER, Shape::CONSUMER_THREADS);
#pragma unroll
    for (int r = half * (FINISHED_ROWS<Shape> / 2); r < (half + 1) * (FINISHED_ROWS<Shape> / 2); ++r) {
#pragma unroll
      for (int j = 0; j < TN; j += 4) {
        const int quad = ((finished_row<Shape>(slice, r) - half * HALF) * TN + j) / 4;
        float4 total{};
#pragma unroll
        for (int s = 0; s < Shape::SLICES; ++s) {
          const float4 value = load_float4(exchange + (s * QUADS + quad) * (4 * WARP));
          total = {total.x + value.x, total.y + value.y, total.z + value.z, total.w + value.w};
        }
        unpack(total, &finished[r][j]);
      }
    }
  }
}

/// Stores the rows that a slice finishes. `row` and `col` are the place of the thread's first element in C.
template <class Shape, Access ACCESS, Epilogue EPILOGUE>
__device__ __forceinline__ void store(const Problem& p, std::int64_t row, std::int64_t col, int slice,
                                      const float (&accumulators)[FINISHED_ROWS<Shape>][TN]) {
#pragma unroll
  for (int r = 0; r < FINISHED_ROWS<Shape>; ++r) {
    const int i = finished_row<Shape>(slice, r);
    const std::int64_t c_row = row + i / 4 * (4 * LANES_M) + i % 4;
    if (c_row < p.m) {
#pragma unroll
      for (int j = 0; j < TN; j += 4) {
        const std::int64_t c_col = col + j / 4 * (4 * LANES_N);
        float* const c = p.c + c_row * p.ldc + c_col;
        if constexpr (ACCESS == Access::float4) {
          if (c_col < p.n) {
            update4<EPILOGUE>(c, &accumulators[r][j], p.alpha, p.beta);
          }
        } else {
#pragma unroll
          for (int jj = 0; jj < 4; ++jj) {
            if (c_col + jj < p.n) {
              update(c[jj], accumulators[r][j + jj], p.alpha, p.beta);
            }
          }
        }
      }
    }
  }
}

}  // namespace sgemm::SGEMM_TARGET::warp_specialized
