#pragma once

#include <cublas_v2.h>

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

}  // namespace drop_in
