// framework_program [FUNCTION [COUNT]]: loads the framework, lets its FUNCTION multiply (framework_products), and
// prints
// "<products of libsgemm> <its accuracy>", or "cublas". The first COUNT products of libsgemm find no memory.

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

#include "fake_sgemm.hpp"

namespace {

// The library if it is loaded already, or with other flags than RTLD_NOLOAD in any case. Null: there is none, or
// another.
FakeSgemm* fake_of_library(int flags) {
  const char* const path = std::getenv("SGEMM_LIBRARY");
  void* const library = path == nullptr || *path == '\0' ? nullptr : dlopen(path, RTLD_NOW | flags);
  const auto fake =
      reinterpret_cast<decltype(&fake_sgemm)>(library == nullptr ? nullptr : dlsym(library, "fake_sgemm"));
  return fake == nullptr ? nullptr : fake();
}

}  // namespace

int main(int argc, char** argv) {
  void* const framework = dlopen(FRAMEWORK, RTLD_NOW | RTLD_LOCAL);
  if (framework == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  if (argc > 2) {
    fake_of_library(0)->products_without_memory = std::atoi(argv[2]);
  }
  const auto function = reinterpret_cast<bool (*)()>(dlsym(framework, argc > 1 ? argv[1] : "framework_products"));
  if (!function()) {
    return 1;
  }
  if (const FakeSgemm* const fake = fake_of_library(RTLD_NOLOAD)) {
    std::printf("%d %d\n", fake->products, static_cast<int>(fake->accuracy));
  } else {
    std::puts("cublas");
  }
}
