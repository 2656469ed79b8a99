#pragma once

// Figures of real GPUs, for predictions.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace simt {

struct GpuModel {
  std::string_view id;    ///< for the command line
  std::string_view name;  ///< as the driver gives it
  unsigned sms = 0;
  std::uint64_t l2_bytes = 0;  ///< as the driver gives it, all partitions together
  unsigned l2_partitions = 1;  ///< each serves its share of the SMs and keeps copies of the others' lines
  unsigned threads_per_sm = 0;
  unsigned blocks_per_sm = 0;     ///< at most
  std::size_t l1_bytes = 0;       ///< of an SM, shared memory included
  std::size_t smem_per_sm = 0;    ///< at most
  std::size_t smem_reserved = 0;  ///< of every block, by the system
};

std::span<const GpuModel> gpu_models();

/// The model with this id, or null.
const GpuModel* find_gpu_model(std::string_view id);

}  // namespace simt
