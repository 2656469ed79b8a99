// The reproducible class for products whose C has few columns or few rows. It takes any product, by blocks of columns.

#include "algorithms.hpp"
#include "common/ceil_div.hpp"
#include "common/target.hpp"
#include "gemm_problem.hpp"
#include "host/launch.cuh"
#include "predicted_time.hpp"
#include "split_algorithms.cuh"
#include "thin_product.cuh"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace sgemm {
namespace SGEMM_TARGET::thin {
namespace {

constexpr int FEWEST_CHUNKS = 2;    // of a part
constexpr double MORE_CHUNKS = 6;   // which a block could multiply while it starts and ends
constexpr std::int64_t ROUNDS = 4;  // more parts than fill all multiprocessors so often are not tried

/// What blocks with so many blocks of columns take of a multiprocessor, measured on an H200.
struct Use {
  int blocks;           ///< at a time, by their registers
  double chunk_cycles;  ///< of all of them, for a chunk of each
};
constexpr Use use_of(int column_blocks) {
  return column_blocks == 1   ? Use{4, 1190}
         : column_blocks == 2 ? Use{4, 1780}
         : column_blocks == 4 ? Use{2, 1980}
                              : Use{2, 2870};
}

/// Of the busiest multiprocessor.
double cycles_of(const Division& division, std::int64_t products, int multiprocessors) {
  const Use use = use_of(division.column_blocks);
  const auto rounds = ceil_div<std::int64_t>(products * division.blocks(), multiprocessors * use.blocks);
  return static_cast<double>(rounds) * (division.part_chunks + MORE_CHUNKS) * use.chunk_cycles;
}

/// How so many products are divided, which is predicted to be the fastest way.
Division division_of(const GemmProblem& p, std::int64_t products, int multiprocessors) {
  Division fastest{
      1, 1, static_cast<int>(ceil_div<std::int64_t>(p.m, ROWS)), static_cast<int>(ceil_div<std::int64_t>(p.k, CHUNK_K)),
      0, 0};
  while (fastest.column_blocks < MOST_COLUMN_BLOCKS && fastest.group_columns() < p.n) {
    fastest.column_blocks *= 2;
  }
  fastest.column_groups = static_cast<int>(ceil_div<std::int64_t>(p.n, fastest.group_columns()));
  const std::int64_t pieces = products * fastest.row_groups * fastest.column_groups;
  const std::int64_t fewest = std::max(ceil_div(fastest.chunks, MOST_PART_CHUNKS), 1);
  const std::int64_t most = std::min<std::int64_t>(
      fastest.chunks / FEWEST_CHUNKS, ROUNDS * multiprocessors * use_of(fastest.column_blocks).blocks / pieces);
  for (std::int64_t parts = fewest; parts == fewest || parts <= most; ++parts) {
    Division tried = fastest;
    tried.part_chunks = static_cast<int>(ceil_div<std::int64_t>(tried.chunks, parts));
    tried.parts = std::max(ceil_div(tried.chunks, std::max(tried.part_chunks, 1)), 1);
    if (fastest.parts == 0 ||
        cycles_of(tried, products, multiprocessors) < cycles_of(fastest, products, multiprocessors)) {
      fastest = tried;
    }
  }
  return fastest;
}

template <bool K_MAJOR>
__global__ void __launch_bounds__(SCALE_THREADS) scales_kernel(ThinBatch thin) {
  find_scales<K_MAJOR>(thin);
}

template <int COLUMN_BLOCKS, bool K_MAJOR>
__global__ void __launch_bounds__(THREADS, use_of(COLUMN_BLOCKS).blocks) thin_kernel(ThinBatch thin) {
  multiply_thin<COLUMN_BLOCKS, K_MAJOR>(thin);
}

using Kernel = void (*)(ThinBatch);

template <bool K_MAJOR>
Kernel kernel_for(int column_blocks) {
  return column_blocks == 1   ? thin_kernel<1, K_MAJOR>
         : column_blocks == 2 ? thin_kernel<2, K_MAJOR>
         : column_blocks == 4 ? thin_kernel<4, K_MAJOR>
                              : thin_kernel<MOST_COLUMN_BLOCKS, K_MAJOR>;
}

/// The architecture that the code of a kernel for the current device was compiled for, as 10 * major + minor; 0 if this
/// build has none.
int architecture_of(Kernel kernel) {
  if (TARGET != Target::for_gpu) {
    return current_device().compute_capability;
  }
  cudaFuncAttributes attributes{};
  const bool has_code = cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(kernel)) == cudaSuccess;
  cudaGetLastError();  // which does not count
  return has_code ? attributes.ptxVersion : 0;
}

/// A launch of so many tall products like one.
struct ThinLaunch {
  bool k_major;
  Division division;
  std::int64_t scale_blocks;  ///< for a product, in the first kernel
  Kernel kernel;
  bool early;  ///< whether the kernel can start before the one before it has ended, because it waits for that itself

  void enqueue(const GemmBatch& tall, bool c_transposed, void* workspace, cudaStream_t stream) const {
    const ThinBatch thin{tall, division, Workspace(division, tall.count, workspace), c_transposed};
    launch(k_major ? scales_kernel<true> : scales_kernel<false>, tall.count * scale_blocks, dim3(SCALE_THREADS), 0,
           stream, thin);
    const int bytes_of_sums = ROWS * division.group_columns() * static_cast<int>(sizeof(Sum));
    const auto bytes =
        static_cast<std::size_t>(std::max(bytes_of_sums, division.column_blocks * ColumnDigits<1>::SMEM_BYTES));
    if (early) {
      launch_dependent(kernel, tall.count * division.blocks(), dim3(THREADS), bytes, stream, thin);
    } else {
      launch(kernel, tall.count * division.blocks(), dim3(THREADS), bytes, stream, thin);
    }
  }
};

}  // namespace
}  // namespace SGEMM_TARGET::thin

std::vector<Algorithm> thin_reproducible_algorithms(const GemmBatch& batch, int multiprocessors) {
  using namespace thin;
  const bool flat = batch.first.m < batch.first.n;
  const GemmBatch tall = flat ? transposed(batch) : batch;
  const bool k_major = !tall.first.a_transposed;
  const Division of_one = division_of(tall.first, 1, multiprocessors);
  const Kernel kernel = k_major ? kernel_for<true>(of_one.column_blocks) : kernel_for<false>(of_one.column_blocks);
  const int architecture = architecture_of(kernel);
  if (architecture == 0) {
    return {};
  }
  const std::int64_t scale_blocks = of_one.columns() + of_one.rows() / scaled_rows(k_major, tall.first);
  const auto by_bytes = static_cast<std::int64_t>(split_product::Parts::LARGEST / Workspace::bytes(of_one, 1));
  const std::int64_t by_count = std::numeric_limits<int>::max() / std::max(of_one.blocks(), scale_blocks);
  if (by_count == 0) {
    return {};
  }
  const split_product::Parts launches(tall.count, std::min(by_bytes, by_count));
  const Division division = division_of(tall.first, launches.products, multiprocessors);
  const ThinLaunch launch_of{k_major, division, scale_blocks, kernel, architecture >= 90};
  const auto count = static_cast<double>(tall.count);
  const double cycles =
      static_cast<double>(launches.launches) * cycles_of(division, launches.products, multiprocessors);
  Algorithm algorithm{
      "15_reproducible",
      flat ? "flat" : "tall",
      Workspace::bytes(division, launches.products),
      thin_cost(sizeof(float) * count * static_cast<double>(tall.first.m) * static_cast<double>(tall.first.k),
                count * static_cast<double>(scale_blocks), cycles, launches.launches),
      launches.launches,
      2};
  if (division.parts > 1) {
    algorithm.configuration += ", k/" + std::to_string(division.parts);
  }
  algorithm.launch = [=](const GemmBatch& of, void* workspace, cudaStream_t stream) {
    launches.for_each(flat ? transposed(of) : of,
                      [&](const GemmBatch& part, bool) { launch_of.enqueue(part, flat, workspace, stream); });
  };
  return {algorithm};
}

}  // namespace sgemm
