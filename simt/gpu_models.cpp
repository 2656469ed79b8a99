#include "gpu_models.hpp"

#include <algorithm>
#include <array>

namespace simt {
namespace {

constexpr std::size_t KB = 1024;
constexpr std::size_t MB = 1024 * KB;

constexpr std::array MODELS{
    GpuModel{"h200", "NVIDIA H200", 132, 60 * MB, 2, 2048, 32, 256 * KB, 228 * KB, KB},
};

}  // namespace

std::span<const GpuModel> gpu_models() { return MODELS; }

const GpuModel* find_gpu_model(std::string_view id) {
  const auto* const found = std::ranges::find(MODELS, id, &GpuModel::id);
  return found == MODELS.end() ? nullptr : found;
}

}  // namespace simt
