// The answer of a build without cuBLASMp.

#include "base/outcome.hpp"
#include "ranks/cublasmp.hpp"

#include <stdexcept>

namespace sgemm {

std::string cublasmp_version() {
  throw CaseStopped(
      Outcome::not_supported,
      "this build has no cuBLASMp: install nvidia-cublasmp-cu13 and nvidia-nccl-cu13 from PyPI, and build "
      "again as docs/running.md says");
}

Prepared make_cublasmp_product(const NcclId&, const BlockCyclic&, int, RankDevice&) {
  throw std::logic_error("there is no cuBLASMp to compute a product");
}

}  // namespace sgemm
