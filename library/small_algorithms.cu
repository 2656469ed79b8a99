// Chapter 11's arithmetic for small products, in one launch: the blocks that multiply split their operands themselves.

#include "algorithms.hpp"
#include "common/ceil_div.hpp"
#include "common/cuda_check.hpp"
#include "common/target.hpp"
#include "engine/cost_model.cuh"
#include "engine/split_configurations.cuh"
#include "engine/split_operands.cuh"
#include "engine/split_product.cuh"
#include "gemm_problem.hpp"
#include "small_product.cuh"
#include "split_algorithms.cuh"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sgemm {
namespace SGEMM_TARGET::split_product {
namespace {

// The constants of the prediction, in cycles of the full clock, were fitted to measurements on an H200, among other
// kernels: docs/lab/libsgemm.md.
constexpr double SMALL_K_TILE = 5400;   // of two operands that are read along k
constexpr double SMALL_MN_MAJOR = 630;  // more for each operand that is read across k
constexpr double SMALL_TILE = 12500;    // besides its k-tiles: the first operands, and C
constexpr double SMALL_NEXT = 3000;     // the same for further tiles of a block: C
constexpr double SMALL_STORE = 11000;   // a further tile takes at least: all blocks store C at once
constexpr double SMALL_CLUSTER = 3800;  // to meet in a cluster, and to add up its sums
constexpr double SMALL_CALL = 4.0;      // microseconds of a launch besides its work, among other kernels

constexpr int MOST_PARTS = 8;  // of k: blocks of a cluster

/// A small product is one whose blocks have at most so many tiles. Batches of them have any number.
constexpr std::int64_t MOST_ROUNDS = 4;

template <bool A_K_MAJOR, bool B_K_MAJOR>
__global__ void __launch_bounds__(SmallShape::THREADS, 1) small_kernel(SmallProblem p) {
  multiply_small<A_K_MAJOR, B_K_MAJOR>(p);
}

auto kernel_of(const GemmProblem& p) {
  return kernel_for_layout(p, [](auto a, auto b) { return small_kernel<a, b>; });
}

ClusterLaunch launch_of(const SmallProblem& p, std::int64_t blocks, cudaStream_t stream) {
  return {p.parts, blocks, dim3(SmallShape::THREADS), SmallRings::SMEM_BYTES, stream};
}

/// Nothing where the device has no room for a cluster.
std::optional<Algorithm> algorithm(const GemmBatch& batch, int parts, int multiprocessors) {
  const SmallProblem p(batch, parts, nullptr);
  const int at_once =
      parts == 1 ? multiprocessors : launch_of(p, p.tasks, nullptr).clusters_at_once(kernel_of(batch.first));
  if (at_once == 0) {
    return std::nullopt;
  }
  const std::int64_t blocks = parts > 1 ? p.tasks : std::min<std::int64_t>(p.tasks, multiprocessors);
  const auto rounds = static_cast<double>(ceil_div<std::int64_t>(p.tasks / parts, at_once));
  const int mn_major = (batch.first.a_transposed ? 1 : 0) + (batch.first.b_transposed ? 0 : 1);
  const double of_k_tiles = ceil_div(p.k_tiles, parts) * (SMALL_K_TILE + mn_major * SMALL_MN_MAJOR);
  const double cycles = parts > 1
                            ? rounds * (of_k_tiles + SMALL_TILE + SMALL_CLUSTER)
                            : of_k_tiles + SMALL_TILE + (rounds - 1) * std::max(of_k_tiles + SMALL_NEXT, SMALL_STORE);
  Algorithm algorithm{
      "11_bf16x6",
      tile_name(TILE_ROWS, TILE_ROWS) + " one launch" + (parts > 1 ? " k/" + std::to_string(parts) : std::string()),
      Deferred::bytes(p.tasks), Cost{Method::bf16x6, 0, cycles, 0, SMALL_CALL}};
  algorithm.fills_gap = batch.count == 1;  // among other kernels, most products take less time in two launches
  algorithm.launch = [parts, blocks](const GemmBatch& of, void* workspace, cudaStream_t stream) {
    if (!of.operands_split_into_fours()) {  // the kernel would end the program's work on the device
      throw CudaError(cudaErrorInvalidValue, "a product in one launch of unaligned operands", __FILE__, __LINE__);
    }
    const SmallProblem problem(of, parts, workspace);
    launch_of(problem, blocks, stream).enqueue(kernel_of(of.first), problem);
  };
  return algorithm;
}

}  // namespace
}  // namespace SGEMM_TARGET::split_product

std::vector<Algorithm> small_bf16x6_algorithms(const GemmBatch& batch, int multiprocessors) {
  using namespace split_product;
  std::vector<Algorithm> all;
  const GemmProblem& p = batch.first;
  const std::int64_t tiles = batch.count * tiles_along(p.m) * tiles_along(p.n);
  const std::int64_t most_tiles =
      batch.count == 1 ? MOST_ROUNDS * multiprocessors : std::int64_t{std::numeric_limits<int>::max()};
  if (!can_run<Bf16x6>(p) || !batch.operands_split_into_fours() || tiles > most_tiles) {
    return all;
  }
  const std::int64_t most = tiles < multiprocessors ? std::min<std::int64_t>(k_tiles_of<Bf16x6>(p), MOST_PARTS) : 1;
  for (int parts = 1; parts <= static_cast<int>(most); ++parts) {
    if (std::optional<Algorithm> one = algorithm(batch, parts, multiprocessors)) {
      all.push_back(*std::move(one));
    }
  }
  return all;
}

}  // namespace sgemm
