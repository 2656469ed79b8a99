#include "ranks/gpu_parts.hpp"

#include "base/outcome.hpp"
#include "common/cuda_check.hpp"
#include "device/device.hpp"
#include "ranks/gpu_rank_device.hpp"
#include "ranks/peer_exchange.hpp"
#include "ranks/team.hpp"

#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace sgemm {

RankParts gpu_parts(int gpus) {
  const auto device_of = [gpus](int rank) { return rank % gpus; };
  return {"peer copies", [=](int rank) { return make_gpu_rank_device(device_of(rank)); },
          [=](int rank, PanelsOf panels_of_rank) {
            return make_peer_exchange(device_of(rank), device_of, std::move(panels_of_rank));
          }};
}

std::unique_ptr<Team> make_gpu_team(std::optional<int> gpus) {
  int present = 0;
  CUDA_CHECK(cudaGetDeviceCount(&present));
  const int wanted = gpus.value_or(present);
  if (wanted > present) {
    throw CaseStopped(Outcome::not_supported, fmt::format("needs {} GPUs, this machine has {}", wanted, present));
  }
  std::string model;
  for (int i = 0; i < wanted; ++i) {
    const DeviceQuery query = query_device(i);
    if (!query.device) {
      throw CaseStopped(Outcome::not_supported, fmt::format("GPU {} can not be used: {}", i, query.error));
    }
    if (i > 0 && query.device->name != model) {
      throw CaseStopped(Outcome::not_supported, fmt::format("GPU 0 is a {} and GPU {} a {}: a product is spread over "
                                                            "GPUs of one model",
                                                            model, i, query.device->name));
    }
    model = query.device->name;
  }
  CUDA_CHECK(cudaSetDevice(0));
  return std::make_unique<ThreadTeam>(wanted, gpu_parts(wanted));
}

}  // namespace sgemm
