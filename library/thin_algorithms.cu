// The reproducible class for products whose C has few columns or few rows. It takes any product, by blocks of columns.

#include "algorithms.hpp"
#include "common/ceil_div.hpp"
#include "common/target.hpp"
#include "engine/cost_model.cuh"
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
inline namespace SGEMM_TARGET {
namespace thin {
namespace {

__global__ void __launch_bounds__(SPLIT_THREADS) narrow_digits_kernel(ThinBatch thin) { split_narrow(thin); }

template <class Shape>
__global__ void __launch_bounds__(MOST_THREADS, 1) thin_kernel(ThinBatch thin) {
  multiply_thin<Shape>(thin);
}

/// How rows of A are divided: 16 or 32 of them among the warps of a block.
struct Division {
  int tiles;  ///< of 16 rows
  int warps;
};

/// 32 rows at a time where a block holds them; otherwise 16. Up to COLUMNS columns two blocks fit into a
/// multiprocessor of Hopper, and one of them computes while the other one waits. More columns take blocks of all warps,
/// because the digits of B then stay in the L1.
Division division_of(std::int64_t k, std::int64_t n) {
  constexpr int MOST_WARPS = MOST_THREADS / WARP_SIZE;
  const auto chunks = static_cast<int>(std::min<std::int64_t>(ceil_div<std::int64_t>(k, CHUNK_K), 1 << 20));
  if (chunks <= MOST_WARPS / 2) {
    return {2, std::max(chunks, 1)};
  }
  const int spans = ceil_div(chunks, ThinShape<1, true>::WARP_CHUNKS);
  const int warps = n <= COLUMNS && spans <= MOST_WARPS / 2 ? MOST_WARPS / 2 : MOST_WARPS;
  return {1, std::min(warps, spans)};
}

/// The architecture that the code of a kernel for the current device was compiled for, as 10 * major + minor; 0 if this
/// build has none.
template <class... Parameters>
int architecture_of(void (*kernel)(Parameters...)) {
  if (TARGET != Target::for_gpu) {
    return current_device().compute_capability;
  }
  cudaFuncAttributes attributes{};
  const bool has_code = cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(kernel)) == cudaSuccess;
  cudaGetLastError();  // which does not count
  return has_code ? attributes.ptxVersion : 0;
}

/// A launch of so many tall products like `p`.
template <class Shape>
struct ThinLaunch {
  Division division;
  int columns_once;
  int blocks;
  int smem_bytes;
  bool early;  ///< whether the kernel can start before the one before it has ended, because it waits for that itself

  /// For blocks of at most so much shared memory. Older GPUs have less, and so fewer warps.
  ThinLaunch(const GemmProblem& p, const Division& how, const Device& device)
      : division(how),
        columns_once(std::clamp(static_cast<int>(ceil_div<std::int64_t>(p.n, COLUMNS)), 1, MOST_COLUMN_BLOCKS)),
        early(architecture_of(thin_kernel<Shape>) >= 90) {
    const int chunks = NarrowDigits(p, 1, nullptr).chunks;
    const auto measure = [&] {
      const int threads = division.warps * WARP_SIZE;
      smem_bytes = Shape::smem_bytes(threads, columns_once, Shape::segments(chunks, threads));
    };
    for (measure(); smem_bytes > device.smem_bytes; measure()) {
      division.warps /= 2;
    }
    const bool two_fit = 2 * division.warps * WARP_SIZE <= MOST_THREADS && 2 * smem_bytes <= device.smem_bytes;
    blocks = device.multiprocessors * (two_fit ? 2 : 1);
  }

  void enqueue(const GemmBatch& tall, bool c_transposed, void* workspace, cudaStream_t stream) const {
    const ThinBatch thin{tall, NarrowDigits(tall.first, tall.count, workspace), c_transposed, columns_once};
    launch(narrow_digits_kernel, tall.count * thin.digits.column_blocks * COLUMNS, dim3(SPLIT_THREADS), 0, stream,
           thin);
    const std::int64_t most =
        std::min<std::int64_t>(Work::count(tall.first, columns_once, Shape::ROWS) * tall.count, blocks);
    const dim3 threads(static_cast<unsigned>(division.warps * WARP_SIZE));
    const auto bytes = static_cast<std::size_t>(smem_bytes);
    if (early) {
      launch_dependent(thin_kernel<Shape>, most, threads, bytes, stream, thin);
    } else {
      launch(thin_kernel<Shape>, most, threads, bytes, stream, thin);
    }
  }
};

template <class Shape>
std::vector<Algorithm> algorithms(const GemmBatch& tall, bool c_transposed, const Division& division,
                                  const Device& device) {
  if (architecture_of(thin_kernel<Shape>) == 0) {
    return {};
  }
  const ThinLaunch<Shape> launch_of(tall.first, division, device);
  const auto by_bytes = static_cast<std::int64_t>(split_product::Parts::LARGEST / NarrowDigits::bytes(tall.first, 1));
  const std::int64_t by_count =  // half of an int's numbers, because blocks count beyond the last one
      std::numeric_limits<int>::max() / 2 / Work::count(tall.first, launch_of.columns_once, Shape::ROWS);
  const split_product::Parts parts(tall.count, std::min(by_bytes, by_count));
  const GemmProblem& p = tall.first;
  Algorithm algorithm{"15_reproducible",
                      std::string(c_transposed ? "flat" : "tall") + ", " + std::to_string(Shape::ROWS) + " rows",
                      NarrowDigits::bytes(p, parts.products),
                      thin_cost({p.m, p.n, p.k, device.multiprocessors}, tall.count, parts.launches, Shape::ROWS),
                      parts.launches,
                      2};
  algorithm.launch = [=](const GemmBatch& of, void* workspace, cudaStream_t stream) {
    parts.for_each(c_transposed ? transposed(of) : of,
                   [&](const GemmBatch& part, bool) { launch_of.enqueue(part, c_transposed, workspace, stream); });
  };
  return {algorithm};
}

template <int TILES>
std::vector<Algorithm> algorithms(const GemmBatch& tall, bool c_transposed, const Division& division,
                                  const Device& device) {
  return tall.first.a_transposed ? algorithms<ThinShape<TILES, false>>(tall, c_transposed, division, device)
                                 : algorithms<ThinShape<TILES, true>>(tall, c_transposed, division, device);
}

}  // namespace
}  // namespace thin
}  // namespace SGEMM_TARGET

std::vector<Algorithm> thin_reproducible_algorithms(const GemmBatch& batch, int multiprocessors, int most_smem_bytes) {
  using namespace thin;
  Device device = current_device();
  device.multiprocessors = multiprocessors;
  device.smem_bytes = std::min(device.smem_bytes, most_smem_bytes);
  const bool flat = batch.first.m < batch.first.n;
  const GemmBatch tall = flat ? transposed(batch) : batch;
  const Division division = division_of(tall.first.k, tall.first.n);
  return division.tiles == 2 ? algorithms<2>(tall, flat, division, device)
                             : algorithms<1>(tall, flat, division, device);
}

}  // namespace sgemm
