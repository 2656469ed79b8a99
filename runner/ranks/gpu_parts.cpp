#include "ranks/gpu_parts.hpp"

#include "ranks/gpu_rank_device.hpp"
#include "ranks/peer_exchange.hpp"

#include <utility>

namespace sgemm {

RankParts gpu_parts(int gpus) {
  const auto device_of = [gpus](int rank) { return rank % gpus; };
  return {[=](int rank) { return make_gpu_rank_device(device_of(rank)); },
          [=](int rank, PanelsOf panels_of_rank) {
            return make_peer_exchange(device_of(rank), device_of, std::move(panels_of_rank));
          }};
}

}  // namespace sgemm
