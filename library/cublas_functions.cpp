#include "cublas_functions.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <vector>

namespace sgemm {
namespace {

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
  const auto find = [&](auto& function, const char* symbol) {
    void* const found = dlsym(library, symbol);
    function = reinterpret_cast<std::decay_t<decltype(function)>>(found);
    if (found == nullptr) {
      functions.failure += "\n  " + name + " has no " + symbol;
    }
    return found != nullptr;
  };
  if (!find(functions.get_property, "cublasGetProperty") || !find(functions.create, "cublasCreate_v2") ||
      !find(functions.set_stream, "cublasSetStream_v2") || !find(functions.set_workspace, "cublasSetWorkspace_v2") ||
      !find(functions.set_sm_count_target, "cublasSetSmCountTarget") ||
      !find(functions.set_pointer_mode, "cublasSetPointerMode_v2") || !find(functions.sgemm, "cublasSgemm_v2_64") ||
      !find(functions.sgemm_strided_batched, "cublasSgemmStridedBatched_64") ||
      !find(functions.sgemm_batched, "cublasSgemmBatched_64")) {
    return false;
  }
  functions.path = file_of(dlsym(library, "cublasCreate_v2"));
  functions.failure.clear();
  return true;
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

}  // namespace

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

}  // namespace sgemm
