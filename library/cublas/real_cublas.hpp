#pragma once

#include <cublas_v2.h>

// A program may have loaded several versions of cuBLAS, as that of a framework beside that of another library. Its
// calls name the version that they were linked to, and a handle of one version is nothing to the functions of another.
// So the drop-in has each function once for each version: the files with these functions are compiled as often, with
// DROP_IN_CUBLAS_VERSION set.

#define DROP_IN_TEXT_OF(x) #x
#define DROP_IN_TEXT(x) DROP_IN_TEXT_OF(x)
#define DROP_IN_JOINED_OF(a, b, c) a##b##_##c
#define DROP_IN_JOINED(a, b, c) DROP_IN_JOINED_OF(a, b, c)

/// "libcublas.so.13", which is the name of a library and of the version of its symbols.
#define DROP_IN_SONAME(library) library ".so." DROP_IN_TEXT(DROP_IN_CUBLAS_VERSION)

/// The name of a function in the drop-in. The version script hides it.
#define DROP_IN_NAME(function) DROP_IN_JOINED(of_, DROP_IN_CUBLAS_VERSION, function)

// Calls that name no version, as dlsym() may, get the newest.
#if DROP_IN_CUBLAS_VERSION == 13
#define DROP_IN_AT "@@"
#else
#define DROP_IN_AT "@"
#endif

/// The head of a function that programs find in place of that of cuBLAS, up to its parameters. All other symbols of the
/// drop-in are hidden.
#define DROP_IN_EXPORTED(library, function)                                                                  \
  __asm__(".symver " DROP_IN_TEXT(DROP_IN_NAME(function)) "," #function DROP_IN_AT DROP_IN_SONAME(library)); \
  extern "C" __attribute__((visibility("default"))) cublasStatus_t DROP_IN_NAME(function)

/// Fails to compile unless the function has the parameters of that of cuBLAS, which C++ may have overloaded.
#define DROP_IN_IS_LIKE_CUBLAS(function) template struct drop_in::Constant<decltype(&DROP_IN_NAME(function)), &function>

namespace drop_in {

/// A function of the cuBLAS that the program loaded, behind the function of the same name that the drop-in exports.
class RealFunction {
 public:
  /// `soname` is "libcublas.so.13", for instance. A function that can not be found is named on standard error.
  RealFunction(const char* soname, const char* function);

  /// Calls it. The arguments have to have exactly the types of its parameters.
  template <class... Arguments>
  cublasStatus_t operator()(Arguments... arguments) const {
    if (address_ == nullptr) {
      return CUBLAS_STATUS_NOT_SUPPORTED;
    }
    return reinterpret_cast<cublasStatus_t (*)(Arguments...)>(address_)(arguments...);
  }

 private:
  void* address_;
};

template <class Type, Type>
struct Constant {};

}  // namespace drop_in
