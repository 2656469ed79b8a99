// The answer of a build without NCCL.

#include "base/outcome.hpp"
#include "exchange/exchanges.hpp"

#include <stdexcept>

namespace sgemm {

NcclId make_nccl_id() {
  throw CaseStopped(Outcome::not_supported,
                    "this build has no NCCL: install libnccl-dev from NVIDIA's repository, and build again");
}

std::unique_ptr<Exchange> make_nccl_exchange(const NcclId&, int, int, int, const Patience&) {
  throw std::logic_error("there is no NCCL to exchange with");
}

}  // namespace sgemm
