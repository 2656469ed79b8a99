#pragma once

#include <nccl.h>

#include <stdexcept>
#include <string>

namespace sgemm {

/// Throws std::runtime_error with the function called, unless it succeeded or is still at work.
inline void nccl_check(ncclResult_t status, const char* what) {
  if (status != ncclSuccess && status != ncclInProgress) {
    throw std::runtime_error(std::string(what) + ": " + ncclGetErrorString(status));
  }
}

}  // namespace sgemm
