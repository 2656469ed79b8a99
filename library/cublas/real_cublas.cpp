#include "real_cublas.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <string>

namespace drop_in {
namespace {

// Newest first. Programs that call a function with the ending _64 have 12 or newer.
constexpr const char* kVersions[] = {".13", ".12", ".11"};

void* loaded(const std::string& name) { return dlopen(name.c_str(), RTLD_LAZY | RTLD_NOLOAD); }

// The ending of the cuBLAS that the program loaded. It is found once, before libsgemm may load another. libcublas needs
// libcublasLt, so that every program has the latter.
const std::string& loaded_version() {
  static const auto* const version = [] {
    for (const char* candidate : kVersions) {
      if (loaded(std::string("libcublasLt.so") + candidate) != nullptr) {
        return new std::string(candidate);
      }
    }
    return new std::string;
  }();
  return *version;
}

// A framework that loads cuBLAS with RTLD_LOCAL hides it from RTLD_NEXT. It is found by its name, which loads nothing.
void* find(const char* library, const char* function) {
  void* const handle = loaded(library + loaded_version());
  void* const address = handle == nullptr ? nullptr : dlsym(handle, function);
  return address != nullptr ? address : dlsym(RTLD_NEXT, function);
}

}  // namespace

RealFunction::RealFunction(const char* library, const char* function) : address_(find(library, function)) {
  if (address_ == nullptr) {
    std::fprintf(stderr, "libsgemm_cublas: no %s is loaded that has %s; the call fails\n", library, function);
  }
}

}  // namespace drop_in
