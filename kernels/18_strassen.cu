// Chapter 18: Strassen's seven products
//
// Against 09: two matrices of 2 x 2 blocks have a product that takes seven products of blocks instead of eight
// (Strassen, 1969), and each of the seven can be taken apart in the same way. Three levels take 343 products instead of
// 512, so that C is there sooner than the FP32 units could multiply all of its k.
//
//     M1 = (A11 + A22) (B11 + B22)      M5 = (A11 + A12) B22              C11 = M1 + M4 - M5 + M7
//     M2 = (A21 + A22) B11              M6 = (A21 - A11) (B11 + B12)      C12 = M3 + M5
//     M3 = A11 (B12 - B22)              M7 = (A12 - A22) (B21 + B22)      C21 = M2 + M4
//     M4 = A22 (B21 - B11)                                                C22 = M1 - M2 + M3 + M6
//
//   add        One pass over A takes two levels at once: a thread reads the same element of all 16 blocks, and writes
//              that of all 49 sums. Those of A are transposed on the way, so that producers copy 16 bytes at a time.
//
//   multiply   49 products of blocks, one after the other through the same persistent blocks of threads: their tiles
//              lie in a row, and no round of tiles ends before the last product does.
//
//   join       One pass: a thread reads its element of all 49 products and stores that of 16 blocks of C.
//
//   a third    The level above takes its seven products one after the other, so that they share a workspace. Its sums
//   level      cost no pass: what adds reads two blocks instead of one, and what joins writes to two.
//
// Sums of blocks round before they are multiplied, and products that cancel are larger than what is left of them. So
// the error grows by a factor with each level, and it is small beside the largest numbers of A and B alone, not beside
// those of a row. One Inf or NaN reaches all of C.
//
// Traffic: for two levels the passes read or write some four elements for each of A, of B and of C.
// Limit: issue slots, as in 08.

#include "common/ceil_div.hpp"
#include "common/epilogue.cuh"
#include "common/hilbert.hpp"
#include "common/keep_in_register.cuh"
#include "common/problem.hpp"
#include "common/warp_specialized.cuh"
#include "host/launch.cuh"
#include "ptx/setmaxnreg.cuh"
#include "ptx/shared_memory.cuh"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace sgemm {
namespace {

using namespace warp_specialized;

struct Tile128x128 : TileDefaults {
  static constexpr int WARPS_M = 2, WARPS_N = 2, SLICES = 2, BK = 64, STAGES = 2;
};
using Tile = TileShape<Tile128x128>;

// ---- Which blocks are added: of A and B for each product, and each product to which of C ----

constexpr int PRODUCTS = 7;
constexpr int QUARTERS = 4;  // 11, 12, 21, 22
enum class Operand { a, b, c };

/// 1 or -1 where the quarter of A or B belongs to the product, or the product to the quarter of C; 0 otherwise.
SGEMM_HOST_DEVICE constexpr int sign_of(Operand operand, int product, int quarter) {
  constexpr int OF_A[PRODUCTS][QUARTERS] = {{1, 0, 0, 1}, {0, 0, 1, 1},  {1, 0, 0, 0}, {0, 0, 0, 1},
                                            {1, 1, 0, 0}, {-1, 0, 1, 0}, {0, 1, 0, -1}};
  constexpr int OF_B[PRODUCTS][QUARTERS] = {{1, 0, 0, 1}, {1, 0, 0, 0}, {0, 1, 0, -1}, {-1, 0, 1, 0},
                                            {0, 0, 0, 1}, {1, 1, 0, 0}, {0, 0, 1, 1}};
  constexpr int OF_C[PRODUCTS][QUARTERS] = {{1, 0, 0, 1},  {0, 0, 1, -1}, {0, 1, 0, 1}, {1, 0, 1, 0},
                                            {-1, 1, 0, 0}, {0, 0, 0, 1},  {1, 0, 0, 0}};
  return operand == Operand::a   ? OF_A[product][quarter]
         : operand == Operand::b ? OF_B[product][quarter]
                                 : OF_C[product][quarter];
}

SGEMM_HOST_DEVICE constexpr int power(int base, int exponent) {
  return exponent == 0 ? 1 : base * power(base, exponent - 1);
}

/// Calls `emit` with the number of each product of LEVELS levels, and what the elements of all blocks add up to for it.
template <Operand OPERAND, int LEVELS, class Emit>
__device__ __forceinline__ void for_each_sum(const float (&blocks)[power(QUARTERS, LEVELS)], int product,
                                             const Emit& emit) {
  if constexpr (LEVELS == 0) {
    emit(product, blocks[0]);
  } else {
    constexpr int SMALLER = power(QUARTERS, LEVELS - 1);
#pragma unroll
    for (int i = 0; i < PRODUCTS; ++i) {
      float sums[SMALLER] = {};
#pragma unroll
      for (int quarter = 0; quarter < QUARTERS; ++quarter) {
        if (const int sign = sign_of(OPERAND, i, quarter); sign != 0) {
#pragma unroll
          for (int block = 0; block < SMALLER; ++block) {
            sums[block] += sign * blocks[quarter * SMALLER + block];
          }
        }
      }
      for_each_sum<OPERAND, LEVELS - 1>(sums, product * PRODUCTS + i, emit);
    }
  }
}

/// Adds the elements of all products, from number `product` on, to those of the blocks of C that they belong to.
template <int LEVELS, class Load>
__device__ __forceinline__ void join(const Load& load, int product, float (&blocks)[power(QUARTERS, LEVELS)]) {
  if constexpr (LEVELS == 0) {
    blocks[0] += load(product);
  } else {
    constexpr int SMALLER = power(QUARTERS, LEVELS - 1);
#pragma unroll
    for (int i = 0; i < PRODUCTS; ++i) {
      float sums[SMALLER] = {};
      join<LEVELS - 1>(load, product * PRODUCTS + i, sums);
#pragma unroll
      for (int quarter = 0; quarter < QUARTERS; ++quarter) {
        if (const int sign = sign_of(Operand::c, i, quarter); sign != 0) {
#pragma unroll
          for (int block = 0; block < SMALLER; ++block) {
            blocks[quarter * SMALLER + block] += sign * sums[block];
          }
        }
      }
    }
  }
}

// ---- The passes before and behind the products ----

constexpr int PASS_TILE = 32;
constexpr int PASS_ROWS = 8;  // at once
constexpr int PASS_THREADS = PASS_TILE * PASS_ROWS;

/// Where this thread block's tile begins in a block of a matrix, whose rows have `columns` elements.
__device__ __forceinline__ TileOrigin tile_in_block(std::int64_t columns) {
  const std::int64_t tiles_across = columns / PASS_TILE;
  return {blockIdx.x / tiles_across * PASS_TILE, blockIdx.x % tiles_across * PASS_TILE};
}

/// Where the block with this number begins within a matrix of 2^LEVELS x 2^LEVELS blocks. The digits to the base 4 of
/// the number are quarters, the largest first.
template <int LEVELS>
__device__ __forceinline__ TileOrigin origin_of(int block, std::int64_t rows, std::int64_t columns) {
  TileOrigin origin{0, 0};
#pragma unroll
  for (int level = 0; level < LEVELS; ++level) {
    const int quarter = block >> 2 * level & 3;
    origin.row += (quarter >> 1) * (rows << level);
    origin.col += (quarter & 1) * (columns << level);
  }
  return origin;
}

/// Some rows and columns of row-major memory.
template <class T>
struct Matrix {
  T* data;
  std::int64_t ld, rows, columns;

  __device__ bool has(std::int64_t row, std::int64_t col) const { return row < rows && col < columns; }
  __device__ T* at(std::int64_t row, std::int64_t col) const { return data + row * ld + col; }
};

/// What a launch reads or writes of a matrix: all of it, or the quarters that belong to a product of the level above.
/// There are two at most. One that there is not has no rows.
template <class T>
struct Quarters {
  Matrix<T> quarter[2];
  float sign[2];
  bool is_first[2];  ///< of C: whether no product has been added to it before
};

/// Writes what the blocks of A or B add up to for each product of LEVELS levels. A block is `rows` x `columns`. Sums of
/// A are transposed.
template <Operand OPERAND, int LEVELS>
__global__ void __launch_bounds__(PASS_THREADS)
    strassen_add_kernel(Quarters<const float> from, std::int64_t rows, std::int64_t columns, float* sums) {
  constexpr int BLOCKS = power(QUARTERS, LEVELS);
  constexpr bool TRANSPOSED = OPERAND == Operand::a;
  float* const smem = dynamic_smem();  // of A alone: a tile of each block, with one float of padding behind each row
  const int x = static_cast<int>(threadIdx.x) % PASS_TILE;
  const int y = static_cast<int>(threadIdx.x) / PASS_TILE;
  const TileOrigin tile = tile_in_block(columns);
  const auto load = [&](int block, int i, int j) {
    const TileOrigin origin = origin_of<LEVELS>(block, rows, columns);
    const auto of = [&](int quarter) {
      const Matrix<const float>& matrix = from.quarter[quarter];
      const std::int64_t row = origin.row + tile.row + i;
      const std::int64_t col = origin.col + tile.col + j;
      return matrix.has(row, col) ? from.sign[quarter] * *matrix.at(row, col) : 0.0F;  // zeros add nothing
    };
    return of(0) + of(1);
  };
  if constexpr (TRANSPOSED) {
#pragma unroll 1
    for (int i = y; i < PASS_TILE; i += PASS_ROWS) {
#pragma unroll
      for (int block = 0; block < BLOCKS; ++block) {
        smem[(block * PASS_TILE + i) * (PASS_TILE + 1) + x] = load(block, i, x);
      }
    }
    __syncthreads();
  }
#pragma unroll 1
  for (int i = y; i < PASS_TILE; i += PASS_ROWS) {
    float blocks[BLOCKS];
#pragma unroll
    for (int block = 0; block < BLOCKS; ++block) {
      blocks[block] = TRANSPOSED ? smem[(block * PASS_TILE + x) * (PASS_TILE + 1) + i] : load(block, i, x);
    }
    float* const to =
        sums + (TRANSPOSED ? (tile.col + i) * rows + tile.row + x : (tile.row + i) * columns + tile.col + x);
    for_each_sum<OPERAND, LEVELS>(blocks, 0, [&](int product, float sum) { to[product * rows * columns] = sum; });
  }
}

/// C = beta C + alpha times what the products of LEVELS levels add up to, in the quarters that they belong to.
template <int LEVELS>
__global__ void __launch_bounds__(PASS_THREADS)
    strassen_join_kernel(Quarters<float> to, float alpha, float beta, std::int64_t rows, std::int64_t columns,
                         const float* products) {
  const TileOrigin tile = tile_in_block(columns);
  const std::int64_t col = tile.col + threadIdx.x % PASS_TILE;
#pragma unroll 1
  for (int i = static_cast<int>(threadIdx.x) / PASS_TILE; i < PASS_TILE; i += PASS_ROWS) {
    const std::int64_t row = tile.row + i;
    const float* const from = products + row * columns + col;
    float blocks[power(QUARTERS, LEVELS)] = {};
    join<LEVELS>([&](int product) { return from[product * rows * columns]; }, 0, blocks);
#pragma unroll
    for (int block = 0; block < power(QUARTERS, LEVELS); ++block) {
      const TileOrigin origin = origin_of<LEVELS>(block, rows, columns);
#pragma unroll
      for (int quarter = 0; quarter < 2; ++quarter) {
        const Matrix<float>& c = to.quarter[quarter];
        if (c.has(origin.row + row, origin.col + col)) {
          update(*c.at(origin.row + row, origin.col + col), to.sign[quarter] * blocks[block], alpha,
                 to.is_first[quarter] ? beta : 1.0F);
        }
      }
    }
  }
}

// ---- The products ----

/// Products of whole tiles, one behind the other in memory. Each A lies there as its transpose.
__global__ void __launch_bounds__(Tile::THREADS, 1) strassen_multiply_kernel(Problem first, int tiles_of_all) {
  const unsigned smem = shared_address(dynamic_smem());
  Tile::Ring::init(smem, Tile::CONSUMER_WARPS, PRODUCER_THREADS);
  __syncthreads();
  const int tiles = static_cast<int>(first.m / Tile::BM * (first.n / Tile::BN));
  const int k_tiles = k_tiles_of<Tile>(first);
  const auto product_of = [&](int i) {
    Problem p = first;
    p.a += i / tiles * p.m * p.k;
    p.b += i / tiles * p.k * p.n;
    p.c += i / tiles * p.m * p.n;
    return p;
  };
  if (threadIdx.x >= Tile::CONSUMER_THREADS) {
    setmaxnreg_dec<Tile::PRODUCER_REGISTERS>();
    Producer<Tile, Reading::mn_major_by_four, Reading::mn_major_by_four> producer(smem);
#pragma unroll 1
    for (int i = blockIdx.x; i < tiles_of_all; i += gridDim.x) {
      producer.produce(product_of(i), tile_on_curve<Tile::BM, Tile::BN>(first, i % tiles), 0, k_tiles);
    }
    return;  // consumers wait for every k-tile, and the block lasts as long as they do
  }
  setmaxnreg_inc<Tile::CONSUMER_REGISTERS>();
  Consumer<Tile> consumer(smem);
#pragma unroll 1
  for (int i = blockIdx.x; i < tiles_of_all; i += gridDim.x) {
    float accumulators[TM][TN] = {};
    consumer.consume(k_tiles, accumulators);
    float sums[FINISHED_ROWS<Tile>][TN];
    add_slices<Tile>(accumulators, sums);
    const TileOrigin tile = tile_on_curve<Tile::BM, Tile::BN>(first, i % tiles);
    const unsigned thread = keep_in_register(threadIdx.x);  // computed again, not kept through the loop
    store<Tile, Access::float4, Epilogue::sums>(product_of(i), tile.row + row_in_tile<Tile>(thread),
                                                tile.col + column_in_tile<Tile>(thread),
                                                static_cast<int>(slice_of<Tile>(thread)), sums);
  }
}

// ---- The launch ----

constexpr int MOST_LEVELS = 3;
constexpr int MOST_AT_ONCE = 2;

/// How a product is taken apart.
struct Plan {
  int at_once;           ///< levels whose products are made by one launch
  bool one_by_one;       ///< whether there is one more level, with a launch for each product
  std::int64_t m, n, k;  ///< of a block at the last level: whole tiles

  Plan(const Problem& p, int levels) : at_once(std::min(levels, MOST_AT_ONCE)), one_by_one(levels > MOST_AT_ONCE) {
    const auto whole_tiles = [&](std::int64_t extent, int tile) {
      return std::max<std::int64_t>(1, ceil_div(extent, std::int64_t{tile} << levels)) * tile;
    };
    m = whole_tiles(p.m, Tile::BM);
    n = whole_tiles(p.n, Tile::BN);
    k = whole_tiles(p.k, Tile::BK);
  }
  int products() const { return power(PRODUCTS, at_once); }
  int rounds() const { return one_by_one ? PRODUCTS : 1; }
  int tiles() const { return static_cast<int>(m / Tile::BM * (n / Tile::BN)) * products(); }
  /// Floats of a block of A, of B and of C.
  double elements() const {
    return static_cast<double>(m) * k + static_cast<double>(n) * k + static_cast<double>(m) * n;
  }
  std::size_t bytes() const { return sizeof(float) * products() * static_cast<std::size_t>(elements()); }
  /// In cycles of an SM. The constants were fitted to times on an H100: docs/lab/18-strassen.md.
  double predicted_cycles(int sms) const {
    constexpr double CYCLES_PER_FMA = 1.23;  // on each of an SM's 128 lanes
    constexpr double BYTES_PER_CYCLE = 6.5;  // of an SM
    constexpr double LAUNCHES = 20000;       // of one round
    const double fmas = products() * static_cast<double>(m) * n * k / 128 * CYCLES_PER_FMA;
    const double reads_of_blocks = power(QUARTERS, at_once) * (one_by_one ? 12.0 / PRODUCTS : 1.0);
    const double bytes = sizeof(float) * elements() * (products() + reads_of_blocks);
    return rounds() * (LAUNCHES + (fmas + bytes / BYTES_PER_CYCLE) / sms);
  }
};

/// The quarters of rows x columns that product number `i` of the level above takes or gives.
template <class T>
Quarters<T> quarters_of(const Matrix<T>& matrix, Operand operand, int i, std::int64_t rows, std::int64_t columns) {
  Quarters<T> found{};
  int count = 0;
  for (int quarter = 0; quarter < QUARTERS; ++quarter) {
    if (const int sign = sign_of(operand, i, quarter); sign != 0) {
      const std::int64_t row = quarter / 2 * rows;
      const std::int64_t col = quarter % 2 * columns;
      found.quarter[count] = {matrix.data + row * matrix.ld + col, matrix.ld, matrix.rows - row, matrix.columns - col};
      found.sign[count] = static_cast<float>(sign);
      found.is_first[count] = true;
      for (int earlier = 0; earlier < i; ++earlier) {
        found.is_first[count] = found.is_first[count] && sign_of(operand, earlier, quarter) == 0;
      }
      ++count;
    }
  }
  return found;
}

template <int LEVELS>
void launch_levels(const Problem& p, const Plan& plan, void* memory, cudaStream_t stream) {
  constexpr std::size_t SMEM = power(QUARTERS, LEVELS) * PASS_TILE * (PASS_TILE + 1) * sizeof(float);
  constexpr int AREA = PASS_TILE * PASS_TILE;
  const dim3 threads(PASS_THREADS);
  float* const sums_of_a = static_cast<float*>(memory);
  float* const sums_of_b = sums_of_a + plan.products() * plan.m * plan.k;
  float* const products = sums_of_b + plan.products() * plan.k * plan.n;
  const Problem block{{plan.m, plan.n, plan.k}, sums_of_a, plan.m, sums_of_b, plan.n, products, plan.n};
  for (int i = 0; i < plan.rounds(); ++i) {
    const auto part_of = [&](const auto& matrix, Operand operand, std::int64_t rows, std::int64_t columns) {
      return plan.one_by_one ? quarters_of(matrix, operand, i, rows << LEVELS, columns << LEVELS)
                             : decltype(quarters_of(matrix, operand, i, 0, 0)){{matrix}, {1.0F}, {true}};
    };
    const auto a = part_of(Matrix<const float>{p.a, p.lda, p.m, p.k}, Operand::a, plan.m, plan.k);
    const auto b = part_of(Matrix<const float>{p.b, p.ldb, p.k, p.n}, Operand::b, plan.k, plan.n);
    const auto c = part_of(Matrix<float>{p.c, p.ldc, p.m, p.n}, Operand::c, plan.m, plan.n);
    launch(strassen_add_kernel<Operand::a, LEVELS>, plan.m * plan.k / AREA, threads, SMEM, stream, a, plan.m, plan.k,
           sums_of_a);
    launch(strassen_add_kernel<Operand::b, LEVELS>, plan.k * plan.n / AREA, threads, 0, stream, b, plan.k, plan.n,
           sums_of_b);
    launch(strassen_multiply_kernel, persistent_blocks(plan.tiles()), dim3(Tile::THREADS), Tile::SMEM_BYTES, stream,
           block, plan.tiles());
    launch(strassen_join_kernel<LEVELS>, plan.m * plan.n / AREA, threads, 0, stream, c, p.alpha, p.beta, plan.m, plan.n,
           products);
  }
}

/// The number of levels that is predicted to be the fastest comes first.
std::vector<Configuration> configurations(const Problem& problem) {
  constexpr void (*LAUNCH[])(const Problem&, const Plan&, void*, cudaStream_t) = {launch_levels<0>, launch_levels<1>,
                                                                                  launch_levels<2>};
  std::vector<Configuration> all;
  for (int levels = 0; levels <= MOST_LEVELS; ++levels) {
    const Plan plan(problem, levels);
    const auto run = [=](const Problem& p, void* memory, cudaStream_t stream) {
      LAUNCH[plan.at_once](p, plan, memory, stream);
    };
    all.push_back({std::to_string(levels) + " levels", plan.bytes(), run,
                   plan.predicted_cycles(current_device().multiprocessors)});
  }
  std::sort(all.begin(), all.end(),
            [](const Configuration& x, const Configuration& y) { return x.predicted_cycles < y.predicted_cycles; });
  return all;
}

const Registration registered =
    Chapter(18, "strassen", "Strassen")
        .summary("seven products of sums of blocks instead of eight, up to three levels deep")
        .min_capability(90)
        .accuracy(AccuracyClass::fp32_strassen)
        .block(strassen_multiply_kernel, Tile::THREADS, Tile::SMEM_BYTES, 1)
        .configurations(configurations);

}  // namespace
}  // namespace sgemm
