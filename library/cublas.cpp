#include "blas.hpp"
#include "status_error.hpp"

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace sgemm {
namespace {

/// The functions of cuBLAS that the library calls, by their names here and there. They are looked up and not linked, so
/// that one library serves the cuBLAS of CUDA 12 and that of CUDA 13.
#define CUBLAS_FUNCTIONS(F)                              \
  F(get_property, cublasGetProperty)                     \
  F(create, cublasCreate_v2)                             \
  F(set_stream, cublasSetStream_v2)                      \
  F(set_workspace, cublasSetWorkspace_v2)                \
  F(set_sm_count_target, cublasSetSmCountTarget)         \
  F(set_pointer_mode, cublasSetPointerMode_v2)           \
  F(sgemm, cublasSgemm_v2_64)                            \
  F(sgemm_strided_batched, cublasSgemmStridedBatched_64) \
  F(sgemm_batched, cublasSgemmBatched_64)

struct CublasFunctions {
#define DECLARE(function, symbol) decltype(&symbol) function = nullptr;
  CUBLAS_FUNCTIONS(DECLARE)

  std::string path;     ///< the file that they are in
  std::string failure;  ///< why there are none; empty if there are
};

constexpr const char* SONAMES[] = {"libcublas.so.13", "libcublas.so.12"};
constexpr const char* TOOLKIT_FOLDERS[] = {"/lib64/", "/targets/x86_64-linux/lib/", "/targets/sbsa-linux/lib/"};

std::string file_of(const void* address) {
  Dl_info info{};
  return dladdr(address, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : "";
}

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// Where cuBLAS may be that is not loaded: what the loader finds, and the toolkit.
std::vector<std::string> candidates() {
  std::vector<std::string> files(std::begin(SONAMES), std::end(SONAMES));
  for (const std::string& toolkit : {variable("CUDA_HOME"), variable("CUDA_PATH"), std::string("/usr/local/cuda")}) {
    for (const char* folder : TOOLKIT_FOLDERS) {
      for (const char* soname : SONAMES) {
        if (!toolkit.empty()) {
          files.push_back(toolkit + folder + soname);
        }
      }
    }
  }
  return files;
}

/// Whether the library has all functions. If not, `failure` says what is missing.
bool take(void* library, const std::string& name, CublasFunctions& functions) {
  bool has_all = true;
  const auto find = [&](auto& function, const char* symbol) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, symbol));
    if (function == nullptr) {
      functions.failure += "\n  " + name + " has no " + symbol;
      has_all = false;
    }
  };
#define FIND(function, symbol) find(functions.function, #symbol);
  CUBLAS_FUNCTIONS(FIND)
  if (has_all) {
    functions.path = file_of(reinterpret_cast<const void*>(functions.create));
    functions.failure.clear();
  }
  return has_all;
}

CublasFunctions load() {
  CublasFunctions functions;
  const auto try_file = [&](const std::string& file, int mode) {
    void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | mode);
    if (library == nullptr && mode == 0) {
      functions.failure += std::string("\n  ") + dlerror();
    }
    return library != nullptr && take(library, file, functions);
  };
  if (const std::string named = variable("SGEMM_CUBLAS"); !named.empty()) {
    try_file(named, 0);
    return functions;
  }
  for (const char* soname : SONAMES) {
    if (try_file(soname, RTLD_NOLOAD)) {
      return functions;
    }
  }
  for (const std::string& file : candidates()) {
    if (try_file(file, 0)) {
      return functions;
    }
  }
  return functions;
}

/// Those of the first of these that has them all: the file that SGEMM_CUBLAS names; else a cuBLAS that the process has
/// loaded; the one that the loader finds; that of the toolkit in CUDA_HOME, CUDA_PATH or /usr/local/cuda. The newest
/// version goes first. It is looked for once, and stays loaded.
const CublasFunctions& cublas_functions() {
  static const auto* const functions = [] {
    auto* const found = new CublasFunctions(load());  // for threads that go on until the process ends
    if (!found->failure.empty()) {
      std::fprintf(stderr, "libsgemm: no cuBLAS 12 or 13 was found, so that calls for it fail:%s\n",
                   found->failure.c_str());
    }
    return found;
  }();
  return *functions;
}

/// The library's statuses have cuBLAS's numbers.
void check(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      return;
    case CUBLAS_STATUS_NOT_INITIALIZED:
    case CUBLAS_STATUS_ALLOC_FAILED:
    case CUBLAS_STATUS_EXECUTION_FAILED:
    case CUBLAS_STATUS_NOT_SUPPORTED:
      throw StatusError(static_cast<sgemm_status_t>(status));
    default:
      throw StatusError(SGEMM_STATUS_INTERNAL_ERROR);
  }
}

cublasOperation_t operation(bool transposed) { return transposed ? CUBLAS_OP_T : CUBLAS_OP_N; }

}  // namespace

struct Blas::Handle {
  cublasHandle_t cublas = nullptr;
  int device = 0;
  std::uint64_t context = 0;
  // What it was told last.
  cudaStream_t stream = nullptr;
  void* workspace = nullptr;
  std::size_t workspace_bytes = 0;
};

Idle<std::unique_ptr<Blas::Handle>>& Blas::idle() {
  static auto* const handles = new Idle<std::unique_ptr<Handle>>;  // threads may end after static objects have
  return *handles;
}

int Blas::version() {
  const auto property = [](libraryPropertyType which) {
    int value = 0;
    const bool known =
        cublas_functions().failure.empty() && cublas_functions().get_property(which, &value) == CUBLAS_STATUS_SUCCESS;
    return known ? value : 0;
  };
  return 10000 * property(MAJOR_VERSION) + 100 * property(MINOR_VERSION) + property(PATCH_LEVEL);
}

const char* Blas::path() { return cublas_functions().path.c_str(); }

Blas::Blas(std::uint64_t context) : context_(context) {}

bool Blas::make_ready(cudaStream_t stream) {
  if (handle_ != nullptr) {
    return true;
  }
  const int device = current_device_number();
  std::unique_ptr<Handle> handle =
      idle().take(device, [&](const auto& one) { return one->context == context_; }).value_or(nullptr);
  if (handle == nullptr) {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    const bool is_captured =
        cudaStreamIsCapturing(stream, &status) != cudaSuccess || status != cudaStreamCaptureStatusNone;
    if (is_captured || !cublas_functions().failure.empty()) {
      return false;
    }
    handle = std::make_unique<Handle>();
    handle->device = device;
    handle->context = context_;
    check(cublas_functions().create(&handle->cublas));
  }
  handle_ = std::move(handle);
  set_multiprocessors(multiprocessors_);
  return true;
}

Blas::~Blas() {
  // As cublasCreate() makes a handle: the next user's stream and workspace may have the addresses of this one's.
  if (handle_ != nullptr && cublas_functions().set_stream(handle_->cublas, nullptr) == CUBLAS_STATUS_SUCCESS &&
      cublas_functions().set_sm_count_target(handle_->cublas, 0) == CUBLAS_STATUS_SUCCESS) {
    handle_->stream = nullptr;
    handle_->workspace = nullptr;
    handle_->workspace_bytes = 0;
    const int device = handle_->device;
    idle().put(device, std::move(handle_));
  }
}

void Blas::set_stream(cudaStream_t stream, void* workspace, std::size_t workspace_bytes) {
  Handle& handle = *handle_;
  if (stream == handle.stream && workspace == handle.workspace && workspace_bytes == handle.workspace_bytes) {
    return;
  }
  check(cublas_functions().set_stream(handle.cublas, stream));  // which also takes cuBLAS's own workspace again
  if (workspace != nullptr) {
    check(cublas_functions().set_workspace(handle.cublas, workspace, workspace_bytes));
  }
  handle.stream = stream;
  handle.workspace = workspace;
  handle.workspace_bytes = workspace_bytes;
}

void Blas::set_multiprocessors(int count) {
  multiprocessors_ = count;
  if (handle_ != nullptr) {
    check(cublas_functions().set_sm_count_target(handle_->cublas, count));
  }
}

// cuBLAS is column-major. It computes a row-major C = op(A) op(B) as C^T = op(B)^T op(A)^T.
void Blas::gemm(const GemmBatch& batch) {
  const CublasFunctions& cublas = cublas_functions();
  const cublasHandle_t handle = handle_->cublas;
  const GemmProblem& p = batch.first;
  const cublasOperation_t op_b = operation(p.b_transposed);
  const cublasOperation_t op_a = operation(p.a_transposed);
  const bool on_device = p.scalars_on_device();
  check(cublas.set_pointer_mode(handle, on_device ? CUBLAS_POINTER_MODE_DEVICE : CUBLAS_POINTER_MODE_HOST));
  const float* const alpha = on_device ? p.alpha_at : &p.alpha;
  const float* const beta = on_device ? p.beta_at : &p.beta;
  if (batch.addresses_on_device()) {
    check(cublas.sgemm_batched(handle, op_b, op_a, p.n, p.m, p.k, alpha, batch.each_b, p.ldb, batch.each_a, p.lda, beta,
                               batch.each_c, p.ldc, batch.count));
  } else if (batch.count == 1) {
    check(cublas.sgemm(handle, op_b, op_a, p.n, p.m, p.k, alpha, p.b, p.ldb, p.a, p.lda, beta, p.c, p.ldc));
  } else {
    check(cublas.sgemm_strided_batched(handle, op_b, op_a, p.n, p.m, p.k, alpha, p.b, p.ldb, batch.stride_b, p.a, p.lda,
                                       batch.stride_a, beta, p.c, p.ldc, batch.stride_c, batch.count));
  }
}

}  // namespace sgemm
