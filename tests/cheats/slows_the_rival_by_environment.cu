// Sets variables of the environment when it is loaded, before the rival's library looks at them: no workspace for
// cuBLAS, launches that wait.
// family: clock
// source: own
// verdict: refused
// caught with: cpu
// launch: multiply(M, N, K, alpha, A, B, beta, C, stream)
#include "product.cuh"

#include <stdlib.h>

__attribute__((constructor)) static void set_variables() {
  setenv("CUBLAS_WORKSPACE_CONFIG", ":16:1", 1);
  setenv("CUDA_LAUNCH_BLOCKING", "1", 1);
  setenv("NVIDIA_TF32_OVERRIDE", "0", 1);
}
