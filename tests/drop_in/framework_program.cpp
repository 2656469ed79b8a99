// Loads the framework, lets it multiply, and prints "<products of libsgemm> <its accuracy>", or "cublas".

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

#include "fake_sgemm.hpp"

int main() {
  void* const framework = dlopen(FRAMEWORK, RTLD_NOW | RTLD_LOCAL);
  if (framework == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  const auto products = reinterpret_cast<bool (*)()>(dlsym(framework, "framework_products"));
  if (!products()) {
    return 1;
  }
  const char* const path = std::getenv("SGEMM_LIBRARY");
  void* const library = path == nullptr || *path == '\0' ? nullptr : dlopen(path, RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) {
    std::puts("cublas");
    return 0;
  }
  const FakeSgemm& fake = *reinterpret_cast<decltype(&fake_sgemm)>(dlsym(library, "fake_sgemm"))();
  std::printf("%d %d\n", fake.products, static_cast<int>(fake.accuracy));
}
