#include "ranks/thread_team.hpp"

#include "base/outcome.hpp"
#include "common/cuda_check.hpp"
#include "device/device.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace sgemm {

RankParts peer_parts(int gpus) {
  const auto device_of = [gpus](int rank) { return rank % gpus; };
  return {"peer copies",
          [=](int rank, const Patience& patience) { return make_gpu_rank_device(device_of(rank), patience); },
          [=](int rank, const Patience&, PanelsOf panels_of_rank) {
            return make_peer_exchange(device_of(rank), device_of, std::move(panels_of_rank));
          },
          {}};
}

RankParts nccl_parts(const NcclId& id, int ranks, const std::function<int(int rank)>& device_of) {
  return {"NCCL",
          [device_of](int rank, const Patience& patience) { return make_gpu_rank_device(device_of(rank), patience); },
          [=](int rank, const Patience& patience, const PanelsOf&) {
            return make_nccl_exchange(id, ranks, rank, device_of(rank), patience);
          },
          {}};
}

std::unique_ptr<Team> make_gpu_team(const RankOptions& options, StopToken stop) {
  int present = 0;
  CUDA_CHECK(cudaGetDeviceCount(&present));
  const int wanted = options.gpus.value_or(present);
  if (wanted > present) {
    throw CaseStopped(Outcome::not_supported, fmt::format("needs {} GPUs, this machine has {}", wanted, present));
  }
  std::string model;
  std::vector<std::string> addresses;
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
    addresses.push_back(query.device->pci_bus_id);
  }
  CUDA_CHECK(cudaSetDevice(0));
  RankParts parts = options.exchange == GpuExchange::nccl
                        ? nccl_parts(make_nccl_id(), wanted, [](int rank) { return rank; })
                        : peer_parts(wanted);
  parts.gpu_addresses = std::move(addresses);
  return std::make_unique<ThreadTeam>(wanted, parts, stop);
}

}  // namespace sgemm
