// What a framework is to the tests: a library that multiplies with cuBLAS.

#include <cublas_v2.h>
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "fake_cublas.hpp"
#include "fake_cuda.hpp"

namespace {

/// The state of the CUDA that the drop-in calls.
FakeCuda& cuda() { return *reinterpret_cast<decltype(&fake_cuda)>(dlsym(RTLD_DEFAULT, "fake_cuda"))(); }

/// Computes a product of n columns. Returns whether it succeeded.
bool multiply(decltype(&cublasSgemm) sgemm, int n) {
  cublasContext handle;
  const float one = 1;
  const float a[4] = {1, 2, 3, 4};
  float c[4] = {};
  return sgemm(&handle, CUBLAS_OP_N, CUBLAS_OP_T, 2, n, 2, &one, a, 2, a, 2, &one, c, 2) == CUBLAS_STATUS_SUCCESS;
}

/// Whether what a forked child does succeeds.
template <class Function>
bool succeeds_in_a_child(const Function& function) {
  const pid_t child = fork();
  if (child == 0) {
    std::exit(function() ? 0 : 1);
  }
  int status = 0;
  return waitpid(child, &status, 0) == child && status == 0;
}

bool nothing() { return true; }

/// A function whose address lies in memory that the loader makes read-only.
const struct { decltype(&cublasSgemm) sgemm; } table = {cublasSgemm};

}  // namespace

/// Computes three products of one shape and one of another. Returns whether all succeeded.
extern "C" __attribute__((visibility("default"))) bool framework_products() {
  bool succeeded = true;
  for (const int n : {2, 2, 2, 1}) {
    succeeded &= multiply(cublasSgemm, n);
  }
  return succeeded;
}

/// Computes a product by an address of cublasSgemm that was stored before. Returns whether it succeeded.
extern "C" __attribute__((visibility("default"))) bool framework_product_by_pointer() {
  return multiply(*const_cast<decltype(&cublasSgemm) const volatile*>(&table.sgemm), 2);
}

/// The same, before a child is forked that ends at once. Returns whether all succeeded.
extern "C" __attribute__((visibility("default"))) bool framework_products_and_fork() {
  return framework_products() && succeeds_in_a_child(nothing);
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

/// The same products four times: as they are, while another stream is captured, while their own stream is captured, and
/// as they are. Returns whether all succeeded, and no capture was broken.
extern "C" __attribute__((visibility("default"))) bool framework_products_beside_captures() {
  bool succeeded = framework_products();
  for (const cudaStream_t captured : {reinterpret_cast<cudaStream_t>(64), cudaStream_t{}}) {
    cuda().captured = {captured};
    succeeded &= framework_products();
  }
  cuda().captured = {};
  return succeeded && framework_products() && cuda().broken_captures == 0;
}

/// The same products on one device and on another. Returns whether all succeeded.
extern "C" __attribute__((visibility("default"))) bool framework_products_on_two_devices() {
  const bool succeeded = framework_products();
  cuda().device = 1;
  return framework_products() && succeeded;
}

/// The same after a mistake that the program has not noticed yet, and that the drop-in's own failures must not hide.
/// Returns whether all succeeded, and the program finds an error; and none where it made none.
extern "C" __attribute__((visibility("default"))) bool framework_products_after_a_mistake() {
  cuda().captured = {reinterpret_cast<cudaStream_t>(64)};  // so that CUDA refuses to tell of the default stream
  bool succeeded = framework_products() && cuda().error == cudaSuccess;
  cuda().error = cudaErrorInvalidConfiguration;
  succeeded &= framework_products();
  return succeeded && cuda().error != cudaSuccess;
}

/// The same in a child that was forked after products of the parent. Returns whether all succeeded, without a call of
/// CUDA, which does not work there.
extern "C" __attribute__((visibility("default"))) bool framework_products_in_a_forked_child() {
  return framework_products() && succeeds_in_a_child([] {
           const int calls = cuda().calls;
           return framework_products() && cuda().calls == calls;
         });
}

/// The same in a child alone, where CUDA works if the parent has not used it.
extern "C" __attribute__((visibility("default"))) bool framework_products_in_a_child_alone() {
  const auto set_log = reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "sgemm_drop_in_set_log"));
  set_log(1);  // the parent knows the drop-in
  const pid_t child = fork();
  if (child == 0) {
    return framework_products();
  }
  int status = 0;
  if (waitpid(child, &status, 0) == child) {
    std::_Exit(status == 0 ? 0 : 1);
  }
  return false;
}

/// Computes a product by the drop-in that the variable DROP_IN names, and closes it before a child is forked that ends.
/// Returns whether all succeeded.
extern "C" __attribute__((visibility("default"))) bool framework_closes_the_drop_in() {
  void* const drop_in = dlopen(std::getenv("DROP_IN"), RTLD_NOW | RTLD_LOCAL);
  if (drop_in == nullptr) {
    return false;
  }
  const bool succeeded = multiply(reinterpret_cast<decltype(&cublasSgemm)>(dlsym(drop_in, "cublasSgemm_v2")), 2);
  dlclose(drop_in);
  return succeeded && succeeds_in_a_child(nothing) && framework_products();
}

/// The same products by this framework and by another one, which has another version of cuBLAS and which the variable
/// OTHER_FRAMEWORK names. Returns whether all succeeded.
extern "C" __attribute__((visibility("default"))) bool framework_products_beside_another_cublas() {
  void* const other = dlopen(std::getenv("OTHER_FRAMEWORK"), RTLD_NOW | RTLD_LOCAL);
  if (other == nullptr) {
    return false;
  }
  const auto products = reinterpret_cast<bool (*)()>(dlsym(other, "framework_products"));
  return products() && framework_products() && products();
}
