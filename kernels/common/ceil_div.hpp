#pragma once

#ifdef __CUDACC__
#define SGEMM_HOST_DEVICE __host__ __device__
#else
#define SGEMM_HOST_DEVICE
#endif

namespace sgemm {

/// How many times `b` covers `a`; a >= 0, b > 0.
template <class Integer>
SGEMM_HOST_DEVICE constexpr Integer ceil_div(Integer a, Integer b) {
  return (a + b - 1) / b;
}

}  // namespace sgemm
