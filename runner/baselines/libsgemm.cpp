// libsgemm, the library made of the chapters, through the same interface as any program. Each accuracy is a variant.

#include "base/kernel.hpp"
#include "device/cublas_handle.hpp"
#include "problem/batch.hpp"
#include "sgemm/sgemm.h"

#include <fmt/format.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace sgemm {
namespace {

void check(sgemm_status_t status, const char* call) {
  if (status != SGEMM_STATUS_SUCCESS) {
    throw std::runtime_error(
        fmt::format("{} ({}) from {}", sgemm_status_name(status), sgemm_status_string(status), call));
  }
}

sgemm_op_t op(bool transposed) { return transposed ? SGEMM_OP_T : SGEMM_OP_N; }

sgemm_product_t product_of(const Problem& p) {
  const sgemm_operand_t a{nullptr, op(p.transposed_a), p.a, leading(p.lda), stride_a(p), nullptr};
  const sgemm_operand_t b{nullptr, op(p.transposed_b), p.b, leading(p.ldb), stride_b(p), nullptr};
  return {sizeof(sgemm_product_t),
          SGEMM_ORDER_ROW_MAJOR,
          p.m,
          p.n,
          p.k,
          &p.alpha,
          a,
          b,
          &p.beta,
          nullptr,
          0,
          p.c,
          leading(p.ldc),
          stride_c(p),
          nullptr,
          p.batch,
          nullptr};
}

class LibraryHandle {
 public:
  LibraryHandle() { check(sgemm_create(&handle_), "sgemm_create"); }
  ~LibraryHandle() { sgemm_destroy(handle_); }
  LibraryHandle(const LibraryHandle&) = delete;
  LibraryHandle& operator=(const LibraryHandle&) = delete;

  void multiply(sgemm_accuracy_t accuracy, const Problem& p, cudaStream_t stream) {
    check(sgemm_set_accuracy(handle_, accuracy), "sgemm_set_accuracy");
    check(sgemm_set_stream(handle_, stream), "sgemm_set_stream");
    const sgemm_product_t product = product_of(p);
    check(sgemm_run(handle_, &product), "sgemm_run");
  }

  std::string describe(sgemm_accuracy_t accuracy, const Problem& p) {
    sgemm_plan_t plan{};
    check(sgemm_set_accuracy(handle_, accuracy), "sgemm_set_accuracy");
    const sgemm_product_t product = product_of(p);
    check(sgemm_plan(handle_, &product, &plan), "sgemm_plan");
    return fmt::format("{}{}{}: {}", plan.kernel, *plan.configuration == '\0' ? "" : " ", plan.configuration,
                       plan.reason);
  }

 private:
  sgemm_handle_t handle_ = nullptr;
};

Kernel libsgemm(std::string variant, sgemm_accuracy_t accuracy, AccuracyClass promised, std::string summary) {
  Kernel kernel;
  kernel.name = "libsgemm";
  kernel.variant = std::move(variant);
  kernel.summary = std::move(summary);
  kernel.accuracy = promised;
  kernel.takes_every_layout = true;
  kernel.min_compute_capability = 75;
  kernel.build(Target::for_gpu).configurations = [accuracy](const Problem& problem) -> std::vector<Configuration> {
    const std::shared_ptr<LibraryHandle> handle = shared_handle<LibraryHandle>();
    return {{handle->describe(accuracy, problem), 0,
             [=](const Problem& p, void*, cudaStream_t stream) { handle->multiply(accuracy, p, stream); }}};
  };
  return kernel;
}

const KernelRegistration fp32(libsgemm("fp32", SGEMM_ACCURACY_FP32, AccuracyClass::fp32,
                                       "the library, with products and sums in FP32: chapter 09 or cuBLAS"));
const KernelRegistration componentwise(
    libsgemm("componentwise", SGEMM_ACCURACY_COMPONENTWISE, AccuracyClass::bf16_split,
             "the library, at least as accurate as cuBLAS: 12 with residuals, 11, 09 or cuBLAS"));
const KernelRegistration normwise(libsgemm("normwise", SGEMM_ACCURACY_NORMWISE, AccuracyClass::fp16_split,
                                           "the library, errors relative to rows and columns: 12, 11, 09 or cuBLAS"));
const KernelRegistration rowwise(libsgemm("rowwise", SGEMM_ACCURACY_ROWWISE, AccuracyClass::int8_split,
                                          "the library, one scale for each row and column: 15, 12, 11, 09 or cuBLAS"));
const KernelRegistration reproducible(libsgemm("reproducible", SGEMM_ACCURACY_REPRODUCIBLE, AccuracyClass::int8_split,
                                               "the library, the same bits on every GPU: 15 in its two kernels"));

}  // namespace
}  // namespace sgemm
