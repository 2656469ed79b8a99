// What a framework is to the tests: a library that multiplies with cuBLAS.

#include <cublas_v2.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "fake_handle.hpp"

/// Computes three products of one shape and one of another. Returns whether all succeeded.
extern "C" __attribute__((visibility("default"))) bool framework_products() {
  cublasContext handle;
  const float one = 1;
  const float a[4] = {1, 2, 3, 4};
  float c[4] = {};
  bool succeeded = true;
  for (const int n : {2, 2, 2, 1}) {
    succeeded &=
        cublasSgemm(&handle, CUBLAS_OP_N, CUBLAS_OP_T, 2, n, 2, &one, a, 2, a, 2, &one, c, 2) == CUBLAS_STATUS_SUCCESS;
  }
  return succeeded;
}

/// The same, before a child is forked that ends at once. Returns whether all succeeded.
extern "C" __attribute__((visibility("default"))) bool framework_products_and_fork() {
  const bool succeeded = framework_products();
  const pid_t child = fork();
  if (child == 0) {
    std::exit(0);
  }
  int status = 0;
  return succeeded && waitpid(child, &status, 0) == child && status == 0;
}

/// Computes a batch of one product by its addresses. Returns whether it succeeded.
extern "C" __attribute__((visibility("default"))) bool framework_batch_by_address() {
  cublasContext handle;
  const float one = 1;
  const float a[4] = {1, 2, 3, 4};
  float c[4] = {};
  const float* const as[] = {a};
  float* const cs[] = {c};
  return cublasSgemmBatched(&handle, CUBLAS_OP_N, CUBLAS_OP_T, 2, 2, 2, &one, as, 2, as, 2, &one, cs, 2, 1) ==
         CUBLAS_STATUS_SUCCESS;
}
