#include "real_cublas.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <string>

namespace drop_in {
namespace {

// Newest first. Programs that call a function with the ending _64 have 12 or newer.
constexpr const char* kVersions[] = {".13", ".12", ".11"};

// A function of a library that the program loaded. A framework that loads cuBLAS with RTLD_LOCAL hides it from
// RTLD_NEXT. It is found by its name, which loads nothing.
void* loaded(const std::string& soname, const char* function) {
  void* const handle = dlopen(soname.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  return handle == nullptr ? nullptr : dlsym(handle, function);
}

void* find(const std::string& soname, const char* function) {
  void* address = loaded(soname, function);
  if (address == nullptr) {
    address = dlvsym(RTLD_NEXT, function, soname.c_str());
  }
  // A caller that named no version has the newest one of those that the program loaded.
  const std::string library = soname.substr(0, soname.rfind('.'));
  for (const char* version : kVersions) {
    if (address == nullptr) {
      address = loaded(library + version, function);
    }
  }
  return address != nullptr ? address : dlsym(RTLD_NEXT, function);
}

}  // namespace

RealFunction::RealFunction(const char* soname, const char* function) : address_(find(soname, function)) {
  if (address_ == nullptr) {
    std::fprintf(stderr, "libsgemm_cublas: no %s is loaded that has %s; the call fails\n", soname, function);
  }
}

}  // namespace drop_in
