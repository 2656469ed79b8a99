#pragma once

#include <string_view>

namespace sgemm {

/// How this binary was built, for the context of every results file.
struct BuildInfo {
  std::string_view version;
  std::string_view git_commit;  ///< 40 hex digits, or "unknown"
  bool git_dirty;               ///< sources differed from that commit
  std::string_view cxx_compiler;
  std::string_view cxx_flags;
  std::string_view nvcc;
  std::string_view nvcc_flags;
  std::string_view cuda_architectures;
  std::string_view build_type;
};

const BuildInfo& build_info();

}  // namespace sgemm
