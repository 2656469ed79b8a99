#include "simt/gpu_models.hpp"

#include <algorithm>
#include <array>

namespace simt {
namespace {

constexpr std::size_t KB = 1024;
constexpr std::size_t MB = 1024 * KB;

/// Limits that a compute capability determines: CUDA C++ Programming Guide, "Technical Specifications per Compute
/// Capability", and its chapters on each one for the size of L1 and shared memory together. Since 8.0 the system keeps
/// 1 KB of shared memory per block (the tuning guides).
struct Capability {
  unsigned threads_per_sm;
  unsigned blocks_per_sm;
  std::size_t l1_bytes;
  std::size_t smem_per_sm;
  std::size_t smem_reserved;
};

constexpr Capability CC_75{1024, 16, 96 * KB, 64 * KB, 0};
constexpr Capability CC_80{2048, 32, 192 * KB, 164 * KB, KB};
constexpr Capability CC_86{1536, 16, 128 * KB, 100 * KB, KB};
constexpr Capability CC_89{1536, 24, 128 * KB, 100 * KB, KB};
constexpr Capability CC_90{2048, 32, 256 * KB, 228 * KB, KB};

constexpr GpuModel model(std::string_view id, std::string_view name, const Capability& cc, unsigned sms,
                         std::uint64_t l2_bytes, unsigned l2_partitions) {
  return {id,
          name,
          sms,
          l2_bytes,
          l2_partitions,
          cc.threads_per_sm,
          cc.blocks_per_sm,
          cc.l1_bytes,
          cc.smem_per_sm,
          cc.smem_reserved};
}

// Sources of SMs and L2: for the H200 the driver (cudaDeviceProp; the 50 MB of the data sheet are those of the H100),
// for the others NVIDIA's architecture white papers on GH100, GA100, AD102 ("NVIDIA Ada GPU Architecture", and the L40S
// data sheet), GA102 and Turing. The white papers on GA100 and GH100 describe two partitions. Partitions of the other
// chips are not known.
constexpr std::array MODELS{
    model("h200", "NVIDIA H200", CC_90, 132, 60 * MB, 2),
    model("h100", "NVIDIA H100 SXM", CC_90, 132, 50 * MB, 2),
    model("h100-pcie", "NVIDIA H100 PCIe", CC_90, 114, 50 * MB, 2),
    model("a100", "NVIDIA A100", CC_80, 108, 40 * MB, 2),
    model("l40s", "NVIDIA L40S", CC_89, 142, 96 * MB, 1),
    model("rtx4090", "NVIDIA GeForce RTX 4090", CC_89, 128, 72 * MB, 1),
    model("rtx3090", "NVIDIA GeForce RTX 3090", CC_86, 82, 6 * MB, 1),
    model("rtx3080", "NVIDIA GeForce RTX 3080", CC_86, 68, 5 * MB, 1),
    model("t4", "NVIDIA T4", CC_75, 40, 4 * MB, 1),
};

}  // namespace

std::span<const GpuModel> gpu_models() { return MODELS; }

const GpuModel* find_gpu_model(std::string_view id) {
  const auto* const found = std::ranges::find(MODELS, id, &GpuModel::id);
  return found == MODELS.end() ? nullptr : found;
}

}  // namespace simt
