#include "base/build_info.hpp"

#include "build_flags_CUDA.hpp"
#include "build_flags_CXX.hpp"
#include "git_info.hpp"

namespace sgemm {

const BuildInfo& build_info() {
  static constexpr BuildInfo INFO{SGEMM_VERSION,      SGEMM_GIT_COMMIT,    SGEMM_GIT_DIRTY,
                                  SGEMM_COMPILER_CXX, SGEMM_FLAGS_CXX,     SGEMM_COMPILER_CUDA,
                                  SGEMM_FLAGS_CUDA,   SGEMM_ARCHITECTURES, SGEMM_BUILD_TYPE};
  return INFO;
}

}  // namespace sgemm
