#pragma once

#include <cuda_runtime_api.h>
#include <dlfcn.h>

/// Launches of the libsgemm of tests/, which finds the program's function before that of CUDA's runtime. The installed
/// one has a runtime of its own. One of the launches may fail. A program has this header in one source.
struct Launches {
  bool seen = false;       ///< any
  int until_failure = -1;  ///< so many succeed, the next one fails, and all others succeed; -1: none fails
};
inline Launches& launches() {
  static Launches state;
  return state;
}

extern "C" __attribute__((visibility("default"))) cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config,
                                                                                  const void* kernel,
                                                                                  void** arguments) {
  static const auto real = reinterpret_cast<decltype(&cudaLaunchKernelExC)>(dlsym(RTLD_NEXT, "cudaLaunchKernelExC"));
  launches().seen = true;
  int& left = launches().until_failure;
  if (left >= 0 && left-- == 0) {
    cudaLaunchConfig_t no_blocks = *config;
    no_blocks.gridDim = {0, 0, 0};
    return real(&no_blocks, kernel, arguments);  // as CUDA fails: the error stays until somebody asks for it
  }
  return real(config, kernel, arguments);
}
