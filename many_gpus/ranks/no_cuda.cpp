// The answers of a build without the CUDA toolkit: there are no GPUs.

#include "ranks/team.hpp"
#include "ranks/thread_team.hpp"

#include <stdexcept>

namespace sgemm {

std::unique_ptr<Team> make_gpu_team(const RankOptions&, StopToken) {
  throw std::logic_error("there are no GPUs to be ranks");
}

RankParts nccl_parts(const NcclId&, int, const std::function<int(int)>&) {
  throw std::logic_error("there are no GPUs to be ranks");
}

}  // namespace sgemm
