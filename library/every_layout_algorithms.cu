// Chapter 09's kernel for operands of any layout, scalars on the host or on the GPU, and many products in one launch.

#include "algorithms.hpp"
#include "common/ceil_div.hpp"
#include "common/cuda_check.hpp"
#include "common/target.hpp"
#include "common/tiling.cuh"
#include "common/vector_access.cuh"
#include "engine/cost_model.cuh"
#include "every_layout_product.cuh"
#include "few_lines_product.cuh"
#include "gemm_problem.hpp"
#include "host/launch.cuh"
#include "predicted_time.hpp"
#include "sliced_product.cuh"
#include "split_algorithms.cuh"
#include "stacked_batch.cuh"

#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace sgemm {
namespace {

// CYCLES_PER_FMA: the cycles of an FMA, on each of a multiprocessor's 128 lanes.

struct Tile128x256 : TileDefaults {
  static constexpr int WARPS_M = 2, WARPS_N = 4, STAGES = 4;
  static constexpr double CYCLES_PER_FMA = 1.20;
};
struct Tile128x128 : TileDefaults {
  static constexpr int WARPS_M = 2, WARPS_N = 2, SLICES = 2, BK = 64, STAGES = 2;
  static constexpr double CYCLES_PER_FMA = 1.22;
};
/// Copies of single floats take longer, so the ring has more stages.
struct Tile128x128Scalar : Tile128x128 {
  static constexpr int BK = 48, STAGES = 3;
};
struct Tile64x128 : TileDefaults {
  static constexpr int WARPS_M = 1, WARPS_N = 2, SLICES = 4, BK = 64, STAGES = 3;
  static constexpr double CYCLES_PER_FMA = 1.26;
};
struct Tile64x64 : TileDefaults {
  static constexpr int WARPS_M = 1, WARPS_N = 1, SLICES = 8, BK = 64, STAGES = 4;
  static constexpr double CYCLES_PER_FMA = 1.31;
};

// The constants of the prediction, in cycles, were fitted to measurements on an H200 with a cold L2:
// docs/lab/09-every-shape.md.
constexpr double FMAS_PER_CYCLE = 128;
constexpr double LAUNCH = 17000;         // the kernel's start and end, its code and first operands
constexpr double LAUNCH_SLICED = 10000;  // the same for a smaller block, which has less of each
// Factors where rows do not split into groups of four: of all cycles of a tile with producer warps, of a sliced tile's
// FMAs, and of all else of it.
constexpr double STREAMED_BY_FLOAT = 1.08;
constexpr double SLICED_BY_FLOAT = 1.13;
constexpr double FIXED_BY_FLOAT = 1.95;
constexpr double BLOCK = 5500;       // from the end of a block to the first product of the next one
constexpr double AREA = 128 * 256;   // elements of C for which the next two hold
constexpr double STORE = 9800;       // accumulators to C or to the workspace
constexpr double ADD = 1600;         // partial sums from the workspace
constexpr double FLAG = 230;         // additional cycles of each share of a tile
constexpr double ADD_SLICES = 3700;  // of a block

/// Sums of more k than this are divided into at least two. They are then sqrt(2) times as accurate. Their error is
/// within 1.5 times that of cuBLAS, also where cuBLAS divides k. With whole sums in tiles of 128x256 it would be 1.8
/// times.
constexpr std::int64_t LONG_SUM = 2560;

/// Whether a tile fits into the device, and keeps the problem's sums short enough.
template <class Shape>
bool suits(const Problem& p, const Device& device) {
  return Shape::SMEM_BYTES <= device.smem_bytes && (Shape::SLICES > 1 || p.k <= LONG_SUM);
}

/// STREAMED: all blocks that the device holds at a time share the tiles that do not fill them evenly. Otherwise each
/// tile has one block.
Plan plan(int tiles, int k_tiles, int multiprocessors, bool streamed) {
  if (!streamed) {
    return {Schedule::of(tiles, k_tiles, tiles, tiles), tiles};
  }
  // If fewer tiles than blocks were streamed, each tile would be divided into more shares than necessary.
  const int rest = tiles % multiprocessors;
  const int shared = rest == 0 ? 0 : tiles < multiprocessors ? tiles : rest + multiprocessors;
  const int blocks = tiles < multiprocessors ? std::min(multiprocessors, tiles * k_tiles) : multiprocessors;
  return {Schedule::of(tiles, k_tiles, tiles - shared, blocks), blocks};
}

template <class Shape>
double predicted_cycles(const Plan& work, int multiprocessors, bool streamed, double cycles_per_fma) {
  const double area = Shape::BM * Shape::BN / AREA;
  TileCost tile{};
  tile.k_tile = Shape::BM * Shape::BN * Shape::BK / FMAS_PER_CYCLE * cycles_per_fma;
  tile.store = STORE * area + (Shape::SLICES > 1 ? ADD_SLICES : 0.0);
  tile.add = ADD * area + FLAG;
  return LAUNCH + (streamed
                       ? whole_tiles_cycles(work, tile) + share_cycles(work, tile)
                       : ceil_div(work.blocks, multiprocessors) * (whole_tiles_cycles(work, tile) + BLOCK) - BLOCK);
}

/// A tile, with its ring as copies of both operands want it.
template <class Tile, Reading READ_A, Reading READ_B>
struct Copied : Tile {
  static constexpr int PADDING = READ_A == Reading::k_major || READ_B == Reading::k_major ? Tile::PADDING : 0;
};

template <class Shape>
Plan plan_for(const GemmBatch& batch, int multiprocessors, bool streamed) {
  return plan(static_cast<int>(batch.count * tiles_of<Shape::BM, Shape::BN>(batch.first)),
              k_tiles_of<Shape>(batch.first), multiprocessors, streamed);
}

/// Whether tiles are divided among blocks, which takes flags.
bool has_shares(const Plan& plan) { return plan.schedule.share + plan.schedule.longer_shares > 0; }

/// How blocks of a tile compute a batch: persistent ones, or one for each tile.
struct Blocks {
  int multiprocessors;
  bool streamed;
};

template <class Tile, Reading READ_A, Reading READ_B>
void enqueue_batch(const GemmBatch& batch, const Blocks& blocks, void* workspace, cudaStream_t stream) {
  using Shape = TileShape<Copied<Tile, READ_A, READ_B>>;
  Plan work = plan_for<Shape>(batch, blocks.multiprocessors, blocks.streamed);
  if (blocks.streamed) {
    SharesMemoryOf<Shape>::place(work.schedule, workspace, blocks.multiprocessors);
    if (has_shares(work)) {
      CUDA_CHECK(cudaMemsetAsync(workspace, 0, SharesMemoryOf<Shape>::sums_at(blocks.multiprocessors), stream));
    }
  }
  launch(every_layout_kernel<Shape, READ_A, READ_B>, work.blocks, dim3(Shape::THREADS), Shape::SMEM_BYTES, stream,
         TiledBatch{batch, static_cast<int>(tiles_of<Shape::BM, Shape::BN>(batch.first))}, work.schedule);
}

/// With the kernel for the layouts of the operands. Where none is copied in groups of four, the tile may have another
/// ring, that of Scalar.
template <class Tile, class Scalar>
void enqueue_for_layout(const GemmBatch& batch, const Blocks& blocks, void* workspace, cudaStream_t stream) {
  constexpr Reading K_MAJOR = Reading::k_major;
  constexpr Reading MN_MAJOR = Reading::mn_major;
  constexpr Reading BY_FOUR = Reading::mn_major_by_four;
  const GemmProblem& p = batch.first;
  const bool by_four =
      (!p.a_transposed || batch.a_splits_into_fours()) && (p.b_transposed || batch.b_splits_into_fours());
  const auto run = p.a_transposed   ? p.b_transposed ? by_four ? enqueue_batch<Tile, BY_FOUR, K_MAJOR>
                                                               : enqueue_batch<Scalar, MN_MAJOR, K_MAJOR>
                                      : by_four ? enqueue_batch<Tile, BY_FOUR, BY_FOUR>
                                                     : enqueue_batch<Scalar, MN_MAJOR, MN_MAJOR>
                     : p.b_transposed ? enqueue_batch<Scalar, K_MAJOR, K_MAJOR>
                   : by_four        ? enqueue_batch<Tile, K_MAJOR, BY_FOUR>
                                    : enqueue_batch<Scalar, K_MAJOR, MN_MAJOR>;
  run(batch, blocks, workspace, stream);
}

/// Factors of a tile's cycles for each FMA, by the number of operands that are copied float by float. The chapter's own
/// kernel copies A so.
using Factors = std::array<double, 3>;

int copied_float_by_float(const GemmBatch& batch) {
  const auto copied = [&](bool k_major) { return k_major || batch.addresses_on_device() ? 1 : 0; };
  return copied(!batch.first.a_transposed) + copied(batch.first.b_transposed);
}

/// A tile with persistent blocks (`streamed`), or with one for each tile. Nothing where it does not suit.
template <class Tile, class Scalar = Tile>
std::optional<Algorithm> algorithm(const GemmBatch& batch, const Device& device, const Blocks& blocks,
                                   const Factors& factors) {
  using Shape = TileShape<Tile>;
  const auto& [multiprocessors, streamed] = blocks;
  const double k_tiles = static_cast<double>(batch.count) *
                         static_cast<double>(tiles_of<Shape::BM, Shape::BN>(batch.first)) *
                         static_cast<double>(k_tiles_of<TileShape<Scalar>>(batch.first));
  if (!suits<Shape>(batch.first, device) || k_tiles > std::numeric_limits<int>::max()) {
    return std::nullopt;
  }
  const double cycles_per_fma =
      Shape::CYCLES_PER_FMA * factors.at(static_cast<std::size_t>(copied_float_by_float(batch)));
  const Plan planned = plan_for<Shape>(batch, multiprocessors, streamed);
  const bool by_float = !batch.addresses_on_device() && !batch.operands_split_into_fours();
  const double cycles = predicted_cycles<Shape>(planned, multiprocessors, streamed, cycles_per_fma) *
                        (by_float ? STREAMED_BY_FLOAT : 1.0);
  Algorithm algorithm{"09_every_shape", tile_name(Shape::BM, Shape::BN, streamed),
                      streamed ? SharesMemoryOf<Shape>::bytes(multiprocessors) : 0,
                      every_shape_cost(cycles, has_shares(planned))};
  algorithm.launch = [=](const GemmBatch& of, void* workspace, cudaStream_t stream) {
    enqueue_for_layout<Tile, Scalar>(of, blocks, workspace, stream);
  };
  return algorithm;
}

/// The factors were fitted to measurements on an H100: docs/lab/libsgemm.md.
constexpr Factors FACTORS_OF_128X128{0.987, 1.00, 1.03};

/// Adds a tile in both ways. One block for each tile alone would not keep to fewer multiprocessors than the device has.
template <class Tile, class Scalar = Tile>
void add(std::vector<Algorithm>& algorithms, const GemmBatch& batch, const Device& device, int multiprocessors,
         const Factors& factors) {
  for (const bool streamed : {true, false}) {
    if (!streamed && multiprocessors < device.multiprocessors) {
      continue;
    }
    if (std::optional<Algorithm> one = algorithm<Tile, Scalar>(batch, device, {multiprocessors, streamed}, factors)) {
      algorithms.push_back(*std::move(one));
    }
  }
}

/// Has CUDA load the code of kernels.
template <class Tile, Reading READ_A, Reading... READ_B>
void load_code() {
  cudaFuncAttributes attributes{};
  (cudaFuncGetAttributes(&attributes, every_layout_kernel<TileShape<Copied<Tile, READ_A, READ_B>>, READ_A, READ_B>),
   ...);
}

// More cycles of the sliced kernel where B lies along k, in a launch and in each round of tiles: docs/lab/libsgemm.md.
constexpr double LAUNCH_B_K_MAJOR = 1200;
constexpr double SLICED_B_K_MAJOR = 300;
// And of each FMA, where A is read across k or along k.
constexpr double SLICED_B_ALONE_K_MAJOR = 0.045;
constexpr double SLICED_BOTH_K_MAJOR = 0.09;
/// Longer sums take longer than predicted, but for one product of matrices that are not transposed: most have few
/// tiles, and a block alone on its multiprocessor waits.
constexpr std::int64_t LONGEST_SLICED = 1024;

template <Access ACCESS>
auto sliced_kernel_of(const GemmProblem& p) {
  return split_product::kernel_for_layout(
      p, [](auto a, auto b) { return every_layout_sliced_kernel<Sliced32x32, a, b, ACCESS>; });
}

/// Adds the tile whose warps all copy and multiply, with a block for each.
void add_sliced(std::vector<Algorithm>& algorithms, const GemmBatch& batch, const Device& device, int multiprocessors) {
  using Shape = Sliced32x32;
  const GemmProblem& p = batch.first;
  const std::int64_t tiles = batch.count * tiles_of<Shape::BM, Shape::BN>(p);
  const bool is_plain = batch.count == 1 && !p.a_transposed && !p.b_transposed;
  if (multiprocessors < device.multiprocessors || (p.k > LONGEST_SLICED && !is_plain) ||
      tiles > std::numeric_limits<int>::max()) {
    return;
  }
  const bool by_float = !batch.operands_split_into_fours();
  const double b_k_major = p.b_transposed ? 1.0 : 0.0;
  const double fmas = Shape::BM * Shape::BN * static_cast<double>(p.k) / FMAS_PER_CYCLE;
  const double more =
      b_k_major * (SLICED_B_K_MAJOR + fmas * (p.a_transposed ? SLICED_B_ALONE_K_MAJOR : SLICED_BOTH_K_MAJOR));
  const double tile = fmas * Shape::CYCLES_PER_FMA * (by_float ? SLICED_BY_FLOAT : 1.0) +
                      Shape::FIXED * (by_float ? FIXED_BY_FLOAT : 1.0) + more;
  const std::int64_t rounds = ceil_div<std::int64_t>(tiles, multiprocessors);
  const double cycles = LAUNCH_SLICED + static_cast<double>(rounds) * tile + (rounds == 1 ? fmas * Shape::ALONE : 0.0) +
                        b_k_major * LAUNCH_B_K_MAJOR;
  Algorithm algorithm{"09_every_shape", tile_name(Shape::BM, Shape::BN) + " sliced", 0,
                      every_shape_cost(cycles, false)};
  algorithm.launch = [tiles](const GemmBatch& of, void*, cudaStream_t stream) {
    const auto kernel = of.operands_split_into_fours() ? sliced_kernel_of<Access::float4>(of.first)
                                                       : sliced_kernel_of<Access::float1>(of.first);
    launch(kernel, tiles, dim3(Shape::THREADS), SLICED_SMEM_BYTES<Shape>, stream, of);
  };
  algorithms.push_back(algorithm);
}

/// What the kernel for few lines takes, fitted to an H200: docs/lab/libsgemm.md.
struct FewLinesTimes {
  double cycles;  ///< of a block that is alone on its multiprocessor, for each k of each of its long lines
  double round;   ///< microseconds of each round of blocks besides
};
constexpr FewLinesTimes OF_1_LINE{0.222, 0.2};
constexpr FewLinesTimes OF_4_LINES{0.238, 0.4};
constexpr FewLinesTimes OF_8_LINES{0.267, 0.6};
constexpr FewLinesTimes OF_16_LINES{0.39, 1.4};
constexpr double FEW_LINES_CALL = 6.3;      // microseconds besides
constexpr double FEW_LINES_START = 2400;    // cycles before the first numbers are there
constexpr double FEW_LINES_PAIR = 1.45;     // times as long as one block take two beside each other
constexpr double FEW_LINES_READING = 0.94;  // of the time in which as much is read and written
constexpr double FEW_LINES_BLOCKS = 1.1;    // of a multiprocessor that are enough for all of the memory's bandwidth
constexpr std::int64_t LONGEST_OF_FEW_LINES = std::int64_t{1} << 30;

/// Adds the kernel for a C of at most FEW rows or columns, both of whose operands lie along k.
template <int FEW>
void add_few_lines(std::vector<Algorithm>& algorithms, const GemmBatch& batch, int multiprocessors,
                   const FewLinesTimes& times) {
  const GemmProblem& p = batch.first;
  const bool rows_are_few = p.m <= p.n;
  const auto count = static_cast<double>(batch.count);
  const std::int64_t blocks = batch.count * ceil_div<std::int64_t>(std::max(p.m, p.n), few_lines::LINES);
  if (blocks > std::numeric_limits<int>::max()) {
    return;
  }
  const std::int64_t of_one = ceil_div<std::int64_t>(blocks, multiprocessors);
  const auto rounds = static_cast<double>(ceil_div<std::int64_t>(of_one, few_lines::BLOCKS_PER_SM));
  const double lines_at_once = few_lines::LINES * (of_one == 1 ? 1.0 : FEW_LINES_PAIR);
  const auto k_of_chunks = static_cast<double>(ceil_div<std::int64_t>(p.k, few_lines::CHUNK_K) * few_lines::CHUNK_K);
  const double bandwidth = std::min(1.0, static_cast<double>(blocks) / (FEW_LINES_BLOCKS * multiprocessors));
  const auto k = static_cast<double>(p.k);
  Algorithm algorithm{"09_every_shape",
                      tile_name(rows_are_few ? FEW : few_lines::LINES, rows_are_few ? few_lines::LINES : FEW) + " few",
                      0,
                      every_shape_cost(FEW_LINES_START + rounds * lines_at_once * k_of_chunks * times.cycles, false)};
  algorithm.cost.other = FEW_LINES_CALL + rounds * times.round;
  algorithm.cost.streamed = FEW_LINES_READING / bandwidth * 4 * count *
                            (static_cast<double>(p.m + p.n) * k + static_cast<double>(p.m) * static_cast<double>(p.n));
  algorithm.launch = [=](const GemmBatch& of, void*, cudaStream_t stream) {
    launch(rows_are_few ? few_lines::kernel<FEW, true> : few_lines::kernel<FEW, false>, blocks,
           dim3(few_lines::THREADS), few_lines::SMEM_BYTES<FEW>, stream, of);
  };
  algorithms.push_back(algorithm);
}

}  // namespace

std::vector<Algorithm> every_layout_algorithms(const GemmBatch& batch, int multiprocessors) {
  const Device device = current_device();
  std::vector<Algorithm> all;
  if (device.compute_capability >= 90) {
    add<Tile128x256>(all, batch, device, multiprocessors, {1.00, 1.015, 1.045});
    add<Tile128x128, Tile128x128Scalar>(all, batch, device, multiprocessors, FACTORS_OF_128X128);
    add<Tile64x128>(all, batch, device, multiprocessors, {0.983, 0.99, 1.08});
    add<Tile64x64>(all, batch, device, multiprocessors, {0.975, 0.995, 1.14});
    add_sliced(all, batch, device, multiprocessors);
    const GemmProblem& p = batch.first;
    const std::int64_t few = std::min(p.m, p.n);
    if (few <= 16 && !p.a_transposed && p.b_transposed && p.k <= LONGEST_OF_FEW_LINES &&
        multiprocessors >= device.multiprocessors && batch.operands_split_into_fours()) {
      few <= 1   ? add_few_lines<1>(all, batch, multiprocessors, OF_1_LINE)
      : few <= 4 ? add_few_lines<4>(all, batch, multiprocessors, OF_4_LINES)
      : few <= 8 ? add_few_lines<8>(all, batch, multiprocessors, OF_8_LINES)
                 : add_few_lines<16>(all, batch, multiprocessors, OF_16_LINES);
    }
  }
  return all;
}

std::optional<Algorithm> algorithm_without_memory(const GemmBatch& batch) {
  const GemmProblem& p = batch.first;
  const Device device = current_device();
  if (device.compute_capability < 90 || std::max({p.m, p.n, p.k}) > std::numeric_limits<int>::max()) {
    return std::nullopt;
  }
  return algorithm<Tile128x128, Tile128x128Scalar>(batch, device, {device.multiprocessors, false}, FACTORS_OF_128X128);
}

void load_algorithm_without_memory() {
  constexpr Reading K_MAJOR = Reading::k_major;
  constexpr Reading MN_MAJOR = Reading::mn_major;
  constexpr Reading BY_FOUR = Reading::mn_major_by_four;
  load_code<Tile128x128, BY_FOUR, K_MAJOR, BY_FOUR>();
  load_code<Tile128x128, K_MAJOR, BY_FOUR>();
  load_code<Tile128x128Scalar, MN_MAJOR, K_MAJOR, MN_MAJOR>();
  load_code<Tile128x128Scalar, K_MAJOR, K_MAJOR, MN_MAJOR>();
}

}  // namespace sgemm
