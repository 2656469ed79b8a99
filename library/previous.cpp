// The functions of version 0.3 that sgemm_run() and sgemm_plan() have taken the place of. They stay for one version.

#include "gemm_call.hpp"
#include "sgemm/sgemm.h"

#include <cstdint>

namespace {

using namespace sgemm;

sgemm_operand_t by_address(sgemm_op_t op, const float* const* addresses, std::int64_t ld) {
  return {nullptr, op, nullptr, ld, 0, addresses};
}

/// These functions do not take a null C that they would read. sgemm_run() takes D in its place.
bool lacks_c(sgemm_handle_t handle, const float* c, const float* beta) {
  sgemm_pointer_mode_t mode = SGEMM_POINTER_MODE_HOST;
  return c == nullptr && beta != nullptr && sgemm_get_pointer_mode(handle, &mode) == SGEMM_STATUS_SUCCESS &&
         (mode == SGEMM_POINTER_MODE_DEVICE || *beta != 0.0F);
}

/// Those members alone that the structure had.
sgemm_operand_t operand(const sgemm_operand_t& of) { return {of.packed, of.op, of.x, of.ld, 0, nullptr}; }

}  // namespace

sgemm_status_t sgemm_gemm_strided_batched(sgemm_handle_t handle, sgemm_order_t order, sgemm_op_t transa,
                                          sgemm_op_t transb, int64_t m, int64_t n, int64_t k, const float* alpha,
                                          const float* a, int64_t lda, int64_t stride_a, const float* b, int64_t ldb,
                                          int64_t stride_b, const float* beta, float* c, int64_t ldc, int64_t stride_c,
                                          int64_t batch_count) {
  const sgemm_product_t product = product_of(order, m, n, k, alpha, matrix_of(transa, a, lda, stride_a),
                                             matrix_of(transb, b, ldb, stride_b), beta, c, ldc, stride_c, batch_count);
  return sgemm_run(handle, &product);
}

sgemm_status_t sgemm_gemm_batched(sgemm_handle_t handle, sgemm_order_t order, sgemm_op_t transa, sgemm_op_t transb,
                                  int64_t m, int64_t n, int64_t k, const float* alpha, const float* const* a,
                                  int64_t lda, const float* const* b, int64_t ldb, const float* beta, float* const* c,
                                  int64_t ldc, int64_t batch_count) {
  sgemm_product_t product = product_of(order, m, n, k, alpha, by_address(transa, a, lda), by_address(transb, b, ldb),
                                       beta, nullptr, ldc, 0, batch_count);
  product.addresses_of_d = c;
  return sgemm_run(handle, &product);
}

sgemm_status_t sgemm_gemm_with_epilogue(sgemm_handle_t handle, sgemm_order_t order, sgemm_op_t transa,
                                        sgemm_op_t transb, int64_t m, int64_t n, int64_t k, const float* alpha,
                                        const float* a, int64_t lda, const float* b, int64_t ldb, const float* beta,
                                        const float* c, int64_t ldc, float* d, int64_t ldd,
                                        const sgemm_epilogue_t* epilogue) {
  const sgemm_operand_t of_a = matrix_of(transa, a, lda);
  const sgemm_operand_t of_b = matrix_of(transb, b, ldb);
  return epilogue == nullptr
             ? SGEMM_STATUS_INVALID_VALUE
             : sgemm_gemm_packed(handle, order, m, n, k, alpha, &of_a, &of_b, beta, c, ldc, d, ldd, epilogue);
}

sgemm_status_t sgemm_gemm_packed(sgemm_handle_t handle, sgemm_order_t order, int64_t m, int64_t n, int64_t k,
                                 const float* alpha, const sgemm_operand_t* a, const sgemm_operand_t* b,
                                 const float* beta, const float* c, int64_t ldc, float* d, int64_t ldd,
                                 const sgemm_epilogue_t* epilogue) {
  if (a == nullptr || b == nullptr || lacks_c(handle, c, beta)) {
    return SGEMM_STATUS_INVALID_VALUE;
  }
  sgemm_product_t product = product_of(order, m, n, k, alpha, operand(*a), operand(*b), beta, d, ldd);
  product.c = c;
  product.ldc = ldc;
  product.epilogue = epilogue;
  return sgemm_run(handle, &product);
}

sgemm_status_t sgemm_gemm_plan(sgemm_handle_t handle, sgemm_order_t order, sgemm_op_t transa, sgemm_op_t transb,
                               int64_t m, int64_t n, int64_t k, int64_t lda, int64_t ldb, int64_t ldc,
                               int64_t batch_count, sgemm_plan_t* plan) {
  const std::int64_t smallest_stride = order == SGEMM_ORDER_ROW_MAJOR ? n : m;  // it does not matter here
  const sgemm_product_t product =
      product_of(order, m, n, k, nullptr, matrix_of(transa, nullptr, lda), matrix_of(transb, nullptr, ldb), nullptr,
                 nullptr, ldc, smallest_stride, batch_count);
  return sgemm_plan(handle, &product, plan);
}

sgemm_status_t sgemm_gemm_batched_plan(sgemm_handle_t handle, sgemm_order_t order, sgemm_op_t transa, sgemm_op_t transb,
                                       int64_t m, int64_t n, int64_t k, int64_t lda, int64_t ldb, int64_t ldc,
                                       int64_t batch_count, sgemm_plan_t* plan) {
  const float* const nowhere = nullptr;  // no address is read here
  float* const nowhere_of_d = nullptr;
  sgemm_product_t product = product_of(order, m, n, k, nullptr, by_address(transa, &nowhere, lda),
                                       by_address(transb, &nowhere, ldb), nullptr, nullptr, ldc, 0, batch_count);
  product.addresses_of_d = &nowhere_of_d;
  return sgemm_plan(handle, &product, plan);
}

sgemm_status_t sgemm_gemm_with_epilogue_plan(sgemm_handle_t handle, sgemm_order_t order, sgemm_op_t transa,
                                             sgemm_op_t transb, int64_t m, int64_t n, int64_t k, int64_t lda,
                                             int64_t ldb, int64_t ldd, const sgemm_epilogue_t* epilogue,
                                             sgemm_plan_t* plan) {
  const sgemm_operand_t of_a = matrix_of(transa, nullptr, lda);
  const sgemm_operand_t of_b = matrix_of(transb, nullptr, ldb);
  return epilogue == nullptr ? SGEMM_STATUS_INVALID_VALUE
                             : sgemm_gemm_packed_plan(handle, order, m, n, k, &of_a, &of_b, ldd, epilogue, plan);
}

sgemm_status_t sgemm_gemm_packed_plan(sgemm_handle_t handle, sgemm_order_t order, int64_t m, int64_t n, int64_t k,
                                      const sgemm_operand_t* a, const sgemm_operand_t* b, int64_t ldd,
                                      const sgemm_epilogue_t* epilogue, sgemm_plan_t* plan) {
  if (a == nullptr || b == nullptr) {
    return SGEMM_STATUS_INVALID_VALUE;
  }
  sgemm_product_t product = product_of(order, m, n, k, nullptr, operand(*a), operand(*b), nullptr, nullptr, ldd);
  product.epilogue = epilogue;
  return sgemm_plan(handle, &product, plan);
}
