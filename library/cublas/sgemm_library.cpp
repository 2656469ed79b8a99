#include "sgemm_library.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "device.hpp"

namespace drop_in {
namespace {

// The folder of the file that holds this function.
std::string own_folder() {
  static const char here = 0;
  Dl_info info{};
  if (dladdr(&here, &info) == 0 || info.dli_fname == nullptr) {
    return "";
  }
  const std::string path = info.dli_fname;
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash + 1);
}

std::string dotted(int version) {
  return std::to_string(version / 10000) + '.' + std::to_string(version / 100 % 100) + '.' +
         std::to_string(version % 100);
}

// Where libsgemm may be.
std::vector<std::string> candidates() {
  const char* const named = std::getenv("SGEMM_LIBRARY");
  if (named != nullptr && *named != '\0') {
    return {named};
  }
  return {own_folder() + SGEMM_SONAME, SGEMM_SONAME};
}

}  // namespace

const SgemmLibrary& sgemm_library() {
  static const auto* const library = new SgemmLibrary;
  return *library;
}

SgemmLibrary::SgemmLibrary() {
  void* library = nullptr;
  std::string failures;
  for (const std::string& path : candidates()) {
    library = dlopen(path.c_str(), RTLD_NOW);
    if (library != nullptr) {
      break;
    }
    failures += std::string(failures.empty() ? "" : "; ") + dlerror();
  }
  if (library != nullptr) {
    find_functions(library);
  } else {
    error_ = "libsgemm was not loaded: " + failures;
  }
  if (!error_.empty()) {
    std::fprintf(stderr, "libsgemm_cublas: %s; cuBLAS gets all calls\n", error_.c_str());
  }
}

void SgemmLibrary::find_functions(void* library) {
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, name));
    if (function == nullptr) {
      error_ = std::string("libsgemm has no ") + name;
    }
  };
  decltype(&sgemm_version) version_of_library = nullptr;
  find(version_of_library, "sgemm_version");
  if (!error_.empty()) {
    return;
  }
  if (const int version = version_of_library(); version / 100 != SGEMM_VERSION / 100) {  // patches fit
    error_ = "libsgemm is of version " + dotted(version) + ", and the drop-in of " + dotted(SGEMM_VERSION);
    return;
  }
#define FIND(name) find(name, "sgemm_" #name);
  SGEMM_FUNCTIONS(FIND)
}

Handles::Lease Handles::lease(int device, const Call& call, std::string& why) {
  const SgemmLibrary& library = sgemm_library();
  const GiveBack give_back{this, device};
  sgemm_status_t status = SGEMM_STATUS_NOT_INITIALIZED;
  const auto succeeds = [&](sgemm_status_t of_call) { return (status = of_call) == SGEMM_STATUS_SUCCESS; };
  const auto fail = [&](const char* what) {
    why = std::string(what) + library.status_string(status);
    return Lease(nullptr, give_back);
  };
  const auto takes_stream = [&](sgemm_handle_t one) {
    return library.set_stream(one, call.stream) == SGEMM_STATUS_SUCCESS;
  };
  sgemm_handle_t handle = idle_.take(device, takes_stream).value_or(nullptr);
  if (handle == nullptr) {
    if (is_capturing(call.stream)) {
      why = "a graph is captured before libsgemm has a handle";
      return Lease(nullptr, give_back);
    }
    int repeatable = 0;
    if (!succeeds(library.create(&handle)) || !succeeds(library.set_fallback(handle, SGEMM_FALLBACK_NONE)) ||
        !succeeds(library.set_stream(handle, call.stream)) || !succeeds(library.get_repeatable(handle, &repeatable))) {
      return fail("libsgemm made no handle: ");
    }
    repeatable_at_first_ = repeatable;
  }
  Lease lease(handle, give_back);
  const int repeatable = repeatable_;
  int multiprocessors = 0;
  if (!succeeds(library.set_accuracy(handle, call.accuracy)) ||
      (repeatable != kNeverSet &&
       !succeeds(library.set_repeatable(handle, repeatable < 0 ? repeatable_at_first_.load() : repeatable))) ||
      !succeeds(library.set_pointer_mode(handle, call.pointer_mode)) ||
      !succeeds(library.get_multiprocessors(handle, &multiprocessors)) ||
      (multiprocessors != call.multiprocessors &&  // or it would forget choices
       !succeeds(library.set_multiprocessors(handle, call.multiprocessors)))) {
    return fail("libsgemm refused a setting: ");
  }
  return lease;
}

}  // namespace drop_in
