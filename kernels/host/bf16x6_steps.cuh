#pragma once

// Registration and launching of the steps of chapter 11.

#include "common/problem.hpp"
#include "common/target.hpp"
#include "engine/bf16x6_steps.cuh"
#include "host/chapter.cuh"

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace sgemm {
inline namespace SGEMM_TARGET {
namespace bf16x6_steps {

/// A variant of chapter 11 that launches two kernels: `split`, then `multiply` with `blocks(p)` blocks.
inline Chapter step(const std::string& name, void (*split)(Problem, SplitOperands),
                    void (*multiply)(Problem, SplitOperands), int threads, std::size_t smem,
                    std::int64_t (*blocks)(const Problem&)) {
  const auto run = [=](const Problem& p, void* workspace, cudaStream_t stream) {
    const SplitOperands operands = SplitOperands::of(p, workspace);
    launch(split, operands.tiles(), dim3(SPLIT_THREADS), 0, stream, p, operands);
    launch(multiply, blocks(p), dim3(threads), smem, stream, p, operands);
  };
  return Chapter(11, "bf16x6")
      .variant(name)
      .source("Henry et al.; Ootomo and Yokota")
      .min_compute_capability(90)
      .max_compute_capability(90)  // wgmma is gone from later ones
      .needs_code_for_sm_90a()
      .configuration([run](const Problem& p) {
        return Configuration{"", SplitOperands::of(p, nullptr).bytes(), run};
      })
      .blocks_per_sm(1)
      .resources([=] { return resources_of(multiply, threads, smem); });
}

}  // namespace bf16x6_steps
}  // namespace SGEMM_TARGET
}  // namespace sgemm
