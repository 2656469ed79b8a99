#pragma once

#include "sgemm/sgemm.h"

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

}  // namespace sgemm
