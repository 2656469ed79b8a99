#pragma once

#include "schedule/grid.hpp"

#include <optional>
#include <string_view>

namespace sgemm {

/// How pieces get from GPU to GPU.
enum class GpuExchange {
  peer,  ///< copy engines, among the GPUs of one process
  nccl,
};

constexpr std::string_view to_string(GpuExchange exchange) { return exchange == GpuExchange::peer ? "peer" : "nccl"; }

/// How a product is spread over GPUs, as far as the command line says so.
struct RankOptions {
  std::optional<int> gpus;   ///< at least 1; without it all GPUs of the machine, or HOST_RANKS ranks on the executor
  std::optional<Grid> grid;  ///< of as many ranks as `gpus`; without it best_grid()
  std::optional<GpuExchange> exchange = {};  ///< without it peer copies in one process, and NCCL among several
};

/// Ranks on the executor where the command line names no number.
constexpr int HOST_RANKS = 4;

}  // namespace sgemm
