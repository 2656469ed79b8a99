#pragma once

// Stands in for cuRAND's header, so that files compile that mention it. There is no cuRAND for the executor: calls
// throw.

#include <simt/thread.hpp>

#include <cuda_runtime.h>

enum curandStatus_t { CURAND_STATUS_SUCCESS = 0 };
enum curandRngType_t { CURAND_RNG_PSEUDO_DEFAULT = 100, CURAND_RNG_PSEUDO_XORWOW = 101 };
using curandGenerator_t = struct curandGenerator_st*;

#define SIMT_NO_CURAND(name)                                            \
  template <class... Arguments>                                         \
  curandStatus_t name(Arguments&&...) {                                 \
    simt::not_supported("cuRAND, of which the host calls " #name "()"); \
  }
SIMT_NO_CURAND(curandCreateGenerator)
SIMT_NO_CURAND(curandDestroyGenerator)
SIMT_NO_CURAND(curandSetPseudoRandomGeneratorSeed)
SIMT_NO_CURAND(curandGenerateUniform)
SIMT_NO_CURAND(curandGenerateNormal)
#undef SIMT_NO_CURAND
