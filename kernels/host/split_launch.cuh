#pragma once

// FP32 products on 16-bit tensor cores (sm_90a): how a problem is dealt out to blocks, and the launch of the two
// kernels. Chapters 11 and 12 differ by their scheme: how many parts of which format, and which products of these
// count. Chapter 11 explains what is here.

#include "common/ceil_div.hpp"
#include "common/cuda_check.hpp"
#include "common/problem.hpp"
#include "common/vector_access.cuh"
#include "engine/split_pieces.cuh"
#include "engine/split_product.cuh"
#include "engine/stream_k.cuh"
#include "host/chapter.cuh"
#include "host/launch.cuh"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sgemm {
inline namespace SGEMM_TARGET {
namespace split_product {

/// The kernels of a chapter, which carry its name.
template <class Scheme>
struct Kernels {
  void (*split)(Problem, void*);
  void (*split_scalar)(Problem, void*);           ///< where rows of A do not split into aligned groups of four
  void (*wide)(Problem, void*, Schedule);         ///< TileShape<Scheme, 2>
  void (*wide_scalar)(Problem, void*, Schedule);  ///< where rows of C do not split into aligned pairs
  void (*narrow)(Problem, void*, Schedule);       ///< TileShape<Scheme, 1>
  void (*narrow_scalar)(Problem, void*, Schedule);
};

/// How the tiles of a problem are dealt out, and how many cycles of a multiprocessor's clock that is predicted to take.
struct Plan {
  Schedule schedule;
  int blocks;
  double cycles;
};

// The prediction: measured on an H200 and fitted, docs/lab/11-split-products.md. Cycles.
constexpr double MULTIPLIED_PER_CYCLE = 2048 * 0.93;  // numbers of 16 bits
constexpr double NARROW = 1.05;  // times what a product takes in tiles of half the width: a third more is copied
// Blocks that are at different k share less in the L2. Times what a product takes,
constexpr double STRAYING_NARROW = 1.10;  // in tiles of half the width,
constexpr double STRAYING_LARGE = 1.20;   // or where C has more tiles than there are multiprocessors.
// SMs without a tile in the last round leave their power to the others. Times what whole tiles take.
constexpr double IDLE = 0.98;
constexpr double STORE = 6500;  // sums of a panel, to C or to the workspace
constexpr double ADD = 1200;    // sums of a panel, from the workspace
constexpr double FLAG = 1800;   // what each part of a tile takes besides

/// For `blocks` blocks, with tiles from number `whole` on divided along k.
template <class Shape>
Plan plan(const Problem& p, int tiles, int whole, int blocks) {
  using Scheme = typename Shape::Scheme;
  const Schedule schedule = Schedule::of(tiles, static_cast<int>(pieces_along_k(p)), whole, blocks);
  const auto panels = static_cast<double>(std::min<std::int64_t>(Shape::PANELS, panels_of(p.n)));
  const bool narrow = Shape::PANELS == 1 && panels_of(p.n) > 1;
  const double stage =
      panels * PANEL * PANEL * PIECE_K * Scheme::PRODUCTS / MULTIPLIED_PER_CYCLE * (narrow ? NARROW : 1.0);
  double cycles = ceil_div(whole, blocks) * (schedule.stages * stage + STORE * panels);
  if (whole == tiles) {
    cycles *= IDLE;
  } else {
    const double share = schedule.share + (schedule.longer_shares > 0 ? 1.0 : 0.0);
    const double parts = std::max(1.0, schedule.stages / share);  // of a tile
    const double straying = share > schedule.stages ? STRAYING_LARGE : narrow ? STRAYING_NARROW : 1.0;
    cycles +=
        share * stage * straying + (1.0 + share / schedule.stages) * STORE * panels + parts * (ADD * panels + FLAG);
  }
  return {schedule, blocks, cycles};
}

/// Each tile by one block, and no more blocks than finish in the same time: the others' power is better spent on these.
template <class Shape>
Plan plan_whole(const Problem& p, int multiprocessors) {
  const auto tiles = static_cast<int>(tile_count<Shape>(p));
  const int rounds = ceil_div(tiles, multiprocessors);
  return plan<Shape>(p, tiles, tiles, ceil_div(tiles, rounds));
}

/// What does not fill all multiprocessors evenly is divided along k. Of less than one tile for each, every block has a
/// part, or fewer blocks do where sums would take longer to collect than to compute.
template <class Shape>
Plan plan_streamed(const Problem& p, int multiprocessors) {
  const auto tiles = static_cast<int>(tile_count<Shape>(p));
  const int rest = tiles % multiprocessors;
  if (tiles > multiprocessors) {
    const int streamed = rest == 0 ? 0 : 2 * rest > multiprocessors ? rest + multiprocessors : rest;
    return plan<Shape>(p, tiles, tiles - streamed, multiprocessors);
  }
  Plan best = plan<Shape>(p, tiles, 0, tiles);
  const auto most = static_cast<int>(std::min<std::int64_t>(multiprocessors, tiles * pieces_along_k(p)));
  for (int blocks = tiles + 1; blocks <= most; ++blocks) {
    const Plan other = plan<Shape>(p, tiles, 0, blocks);
    best = other.cycles < best.cycles ? other : best;
  }
  return best;
}

/// A configuration and its prediction.
struct Candidate {
  Configuration configuration;
  double cycles;
};

template <class Shape>
Candidate candidate(const Problem& p, const Kernels<typename Shape::Scheme>& kernels, int multiprocessors,
                    bool streamed) {
  using Scheme = typename Shape::Scheme;
  using Memory = SharesMemory<Shape::MATH_WARPS, Shape::PANELS, 64>;
  constexpr bool WIDE = Shape::PANELS == 2;
  const auto plan_for = streamed ? plan_streamed<Shape> : plan_whole<Shape>;
  const Plan planned = plan_for(p, multiprocessors);
  const std::size_t pieces_at = streamed ? Memory::bytes(multiprocessors) : 0;
  const auto run = [=, p_k = p.k](const Problem& problem, void* workspace, cudaStream_t stream) {
    Plan work = problem.k == p_k ? planned : plan_for(problem, multiprocessors);  // k may have become 0
    Memory::place(work.schedule, workspace, multiprocessors);
    void* const pieces = static_cast<char*>(workspace) + pieces_at;
    const bool vector_access = rows_split_into_float4(problem.a, problem.k, problem.lda);
    launch(vector_access ? kernels.split : kernels.split_scalar, Workspace<Scheme>(problem, nullptr).count(),
           dim3(SPLIT_THREADS), 0, stream, problem, pieces);
    const bool pairs = rows_split_into_float2(problem.c, problem.n, problem.ldc);
    launch_dependent(pairs  ? WIDE ? kernels.wide : kernels.narrow
                     : WIDE ? kernels.wide_scalar
                            : kernels.narrow_scalar,
                     work.blocks, dim3(Shape::THREADS), Rings<Scheme>::SMEM_BYTES, stream, problem, pieces,
                     work.schedule);
  };
  return {{std::to_string(Shape::BM) + "x" + std::to_string(Shape::BN) + (streamed ? " stream-k" : ""),
           pieces_at + Workspace<Scheme>(p, nullptr).bytes(), run},
          planned.cycles};
}

/// Tiles of 128x256 and of 128x128, whole and divided along k, the one that is predicted to be the fastest first.
template <class Scheme>
std::vector<Configuration> configurations(const Problem& p, const Kernels<Scheme>& kernels) {
  using Wide = TileShape<Scheme, 2>;
  using Narrow = TileShape<Scheme, 1>;
  int device = 0;
  int multiprocessors = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
  std::vector<Candidate> candidates;
  for (const bool streamed : {false, true}) {
    candidates.push_back(candidate<Narrow>(p, kernels, multiprocessors, streamed));
    candidates.push_back(candidate<Wide>(p, kernels, multiprocessors, streamed));
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& x, const Candidate& y) { return x.cycles < y.cycles; });
  std::vector<Configuration> all;
  for (const Candidate& candidate : candidates) {
    all.push_back(candidate.configuration);
  }
  return all;
}

}  // namespace split_product
}  // namespace SGEMM_TARGET
}  // namespace sgemm
