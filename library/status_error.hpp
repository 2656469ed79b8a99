#pragma once

#include "sgemm/sgemm.h"

#include <cuda_runtime_api.h>

#include <exception>

namespace sgemm {

/// What ends a call with a status other than success.
class StatusError : public std::exception {
 public:
  explicit StatusError(sgemm_status_t status) : status_(status) {}
  const char* what() const noexcept override { return sgemm_status_name(status_); }
  sgemm_status_t status() const { return status_; }

 private:
  sgemm_status_t status_;
};

/// The number of the current device. Throws where there is none.
inline int current_device_number() {
  int device = 0;
  if (cudaGetDevice(&device) != cudaSuccess) {
    throw StatusError(SGEMM_STATUS_NOT_INITIALIZED);
  }
  return device;
}

}  // namespace sgemm
