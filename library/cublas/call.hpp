#pragma once

#include <cublas_v2.h>
#include <sgemm/sgemm.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>

namespace drop_in {

/// A call of cuBLAS, and the column-major product that the library may do in its place.
struct Call {
  const char* function = "";
  /// Why the library can not do it. Empty: it can, and all members are set.
  const char* refusal = "";
  /// It is refused for its form alone: it asks for FP32 all the same.
  bool is_fp32 = false;
  sgemm_accuracy_t accuracy = SGEMM_ACCURACY_COMPONENTWISE;
  cudaStream_t stream = nullptr;
  sgemm_pointer_mode_t pointer_mode = SGEMM_POINTER_MODE_HOST;
  int multiprocessors = 0;  // to plan for; 0: all
  sgemm_product_t product{};
  sgemm_epilogue_t epilogue{};  // that of the product, where it points to this
  /// Memory on the GPU that the call may work in. Null: the caller gave none.
  void* workspace = nullptr;
  size_t workspace_bytes = 0;

  Call() {
    product.size = sizeof product;
    product.order = SGEMM_ORDER_COLUMN_MAJOR;
    product.batch_count = 1;
  }

  /// What a plan for it depends on, besides the device.
  auto question() const {
    const sgemm_product_t& p = product;
    const auto aligned = [](const sgemm_operand_t& of) {
      return of.stride % 4 == 0 && reinterpret_cast<uintptr_t>(of.x) % (4 * sizeof(float)) == 0;
    };
    return std::tuple(multiprocessors, pointer_mode, accuracy, p.a.op, p.b.op, p.m, p.n, p.k, p.a.ld, p.b.ld, p.ldd,
                      aligned(p.a), aligned(p.b), p.batch_count, p.addresses_of_d != nullptr, p.c != nullptr,
                      p.epilogue != nullptr, epilogue.activation, epilogue.bias != nullptr, epilogue.aux != nullptr);
  }
  bool refused() const { return *refusal != '\0'; }
  /// As programs write it: cuBLAS's header has the second version of some functions under the name of the first.
  std::string name() const {
    std::string name = function;
    const size_t version = name.find("_v2");
    return version == std::string::npos ? name : name.erase(version, 3);
  }
};

}  // namespace drop_in
