// libsgemm for the tests.

#include "fake_sgemm.hpp"

#include <cstdio>
#include <cstdlib>

#include "fake_cublas.hpp"
#include "fake_handle.hpp"

extern "C" FakeSgemm* fake_sgemm() {
  static FakeSgemm fake;
  return &fake;
}

struct sgemm_context {
  sgemm_stream_t stream;
  sgemm_accuracy_t accuracy;
  sgemm_pointer_mode_t pointer_mode;
  sgemm_fallback_t fallback;
  int multiprocessors;
  void* workspace;
  size_t workspace_bytes;
};

sgemm_status_t sgemm_create(sgemm_handle_t* handle) {
  ++fake_sgemm()->handles;
  *handle = new sgemm_context{};
  fake_sgemm()->was_reset = false;
  return SGEMM_STATUS_SUCCESS;
}

sgemm_status_t sgemm_set_stream(sgemm_handle_t handle, sgemm_stream_t stream) {
  handle->stream = stream;
  return fake_sgemm()->was_reset ? SGEMM_STATUS_NOT_INITIALIZED : SGEMM_STATUS_SUCCESS;
}

sgemm_status_t sgemm_set_repeatable(sgemm_handle_t, int repeatable) {
  fake_sgemm()->repeatable = repeatable;
  return SGEMM_STATUS_SUCCESS;
}
sgemm_status_t sgemm_get_repeatable(sgemm_handle_t, int* value) {
  *value = fake_sgemm()->repeatable;
  return SGEMM_STATUS_SUCCESS;
}

sgemm_status_t sgemm_set_accuracy(sgemm_handle_t handle, sgemm_accuracy_t accuracy) {
  handle->accuracy = accuracy;
  return SGEMM_STATUS_SUCCESS;
}

sgemm_status_t sgemm_set_pointer_mode(sgemm_handle_t handle, sgemm_pointer_mode_t mode) {
  handle->pointer_mode = mode;
  return SGEMM_STATUS_SUCCESS;
}

sgemm_status_t sgemm_set_fallback(sgemm_handle_t handle, sgemm_fallback_t fallback) {
  handle->fallback = fallback;
  return SGEMM_STATUS_SUCCESS;
}

sgemm_status_t sgemm_get_multiprocessors(sgemm_handle_t handle, int* value) {
  *value = handle->multiprocessors;
  return SGEMM_STATUS_SUCCESS;
}

sgemm_status_t sgemm_set_multiprocessors(sgemm_handle_t handle, int multiprocessors) {
  handle->multiprocessors = multiprocessors;
  return SGEMM_STATUS_SUCCESS;
}

sgemm_status_t sgemm_set_workspace(sgemm_handle_t handle, void* workspace, size_t bytes) {
  handle->workspace = workspace;
  handle->workspace_bytes = bytes;
  return SGEMM_STATUS_SUCCESS;
}

int sgemm_version() {
  const char* const version = std::getenv("FAKE_SGEMM_VERSION");
  return version == nullptr ? SGEMM_VERSION : std::atoi(version);
}

const char* sgemm_status_string(sgemm_status_t) { return "the fake refuses"; }

sgemm_status_t sgemm_gemm_plan(sgemm_handle_t, sgemm_order_t, sgemm_op_t, sgemm_op_t, int64_t, int64_t, int64_t,
                               int64_t, int64_t, int64_t, int64_t, sgemm_plan_t* plan) {
  FakeSgemm& fake = *fake_sgemm();
  ++fake.plans;
  std::snprintf(plan->kernel, sizeof plan->kernel, "%s", fake.kernel.c_str());
  std::snprintf(plan->reason, sizeof plan->reason, "%s", fake.reason.c_str());
  plan->predicted_us = fake.predicted_us;
  plan->cublas_us = fake.cublas_us;
  plan->workspace_bytes = fake.workspace_bytes;
  return SGEMM_STATUS_SUCCESS;
}

sgemm_status_t sgemm_gemm_strided_batched(sgemm_handle_t handle, sgemm_order_t order, sgemm_op_t transa,
                                          sgemm_op_t transb, int64_t m, int64_t n, int64_t k, const float* alpha,
                                          const float* a, int64_t lda, int64_t stride_a, const float* b, int64_t ldb,
                                          int64_t stride_b, const float* beta, float* c, int64_t ldc, int64_t stride_c,
                                          int64_t batch_count) {
  FakeSgemm& fake = *fake_sgemm();
  ++fake.products;
  fake.order = order;
  fake.transa = transa;
  fake.transb = transb;
  fake.m = m;
  fake.n = n;
  fake.k = k;
  fake.lda = lda;
  fake.ldb = ldb;
  fake.ldc = ldc;
  fake.stride_a = stride_a;
  fake.stride_b = stride_b;
  fake.stride_c = stride_c;
  fake.batch_count = batch_count;
  fake.alpha = alpha;
  fake.beta = beta;
  fake.stream = handle->stream;
  fake.accuracy = handle->accuracy;
  fake.pointer_mode = handle->pointer_mode;
  fake.multiprocessors = handle->multiprocessors;
  fake.workspace = handle->workspace;
  fake.workspace_bytes_of_call = handle->workspace_bytes;
  if (fake.status != SGEMM_STATUS_SUCCESS) {
    return fake.status;
  }
  if (fake.products_without_memory > 0) {
    --fake.products_without_memory;
    if (handle->fallback == SGEMM_FALLBACK_NONE) {
      return SGEMM_STATUS_NOT_SUPPORTED;
    }
    cublasContext context;
    return static_cast<sgemm_status_t>(
        cublasSgemm_v2(&context, static_cast<cublasOperation_t>(transa), static_cast<cublasOperation_t>(transb),
                       static_cast<int>(m), static_cast<int>(n), static_cast<int>(k), alpha, a, static_cast<int>(lda),
                       b, static_cast<int>(ldb), beta, c, static_cast<int>(ldc)));
  }
  for (int64_t i = 0; i < batch_count && handle->pointer_mode == SGEMM_POINTER_MODE_HOST; ++i) {
    host_gemm(transa != SGEMM_OP_N, transb != SGEMM_OP_N, m, n, k, *alpha, a + i * stride_a, lda, b + i * stride_b, ldb,
              *beta, c + i * stride_c, ldc);
    if (fake.fails_in_batches && batch_count > 1) {
      return SGEMM_STATUS_EXECUTION_FAILED;
    }
  }
  return SGEMM_STATUS_SUCCESS;
}

sgemm_status_t sgemm_gemm_batched_plan(sgemm_handle_t handle, sgemm_order_t order, sgemm_op_t transa, sgemm_op_t transb,
                                       int64_t m, int64_t n, int64_t k, int64_t lda, int64_t ldb, int64_t ldc,
                                       int64_t batch_count, sgemm_plan_t* plan) {
  ++fake_sgemm()->plans_by_address;
  return sgemm_gemm_plan(handle, order, transa, transb, m, n, k, lda, ldb, ldc, batch_count, plan);
}

sgemm_status_t sgemm_gemm_batched(sgemm_handle_t handle, sgemm_order_t order, sgemm_op_t transa, sgemm_op_t transb,
                                  int64_t m, int64_t n, int64_t k, const float* alpha, const float* const* a,
                                  int64_t lda, const float* const* b, int64_t ldb, const float* beta, float* const* c,
                                  int64_t ldc, int64_t batch_count) {
  sgemm_status_t status = SGEMM_STATUS_SUCCESS;
  for (int64_t i = 0; i < batch_count && status == SGEMM_STATUS_SUCCESS; ++i) {
    status = sgemm_gemm(handle, order, transa, transb, m, n, k, alpha, a[i], lda, b[i], ldb, beta, c[i], ldc);
  }
  fake_sgemm()->batch_count = batch_count;
  return status;
}

sgemm_status_t sgemm_gemm(sgemm_handle_t handle, sgemm_order_t order, sgemm_op_t transa, sgemm_op_t transb, int64_t m,
                          int64_t n, int64_t k, const float* alpha, const float* a, int64_t lda, const float* b,
                          int64_t ldb, const float* beta, float* c, int64_t ldc) {
  return sgemm_gemm_strided_batched(handle, order, transa, transb, m, n, k, alpha, a, lda, 0, b, ldb, 0, beta, c, ldc,
                                    0, 1);
}

sgemm_status_t sgemm_gemm_with_epilogue_plan(sgemm_handle_t handle, sgemm_order_t order, sgemm_op_t transa,
                                             sgemm_op_t transb, int64_t m, int64_t n, int64_t k, int64_t lda,
                                             int64_t ldb, int64_t ldd, const sgemm_epilogue_t* epilogue,
                                             sgemm_plan_t* plan) {
  const sgemm_status_t status = sgemm_gemm_plan(handle, order, transa, transb, m, n, k, lda, ldb, ldd, 1, plan);
  fake_sgemm()->epilogue = *epilogue;
  return status;
}

/// Computes the product and adds its bias.
sgemm_status_t sgemm_gemm_with_epilogue(sgemm_handle_t handle, sgemm_order_t order, sgemm_op_t transa,
                                        sgemm_op_t transb, int64_t m, int64_t n, int64_t k, const float* alpha,
                                        const float* a, int64_t lda, const float* b, int64_t ldb, const float* beta,
                                        const float* c, int64_t ldc, float* d, int64_t ldd,
                                        const sgemm_epilogue_t* epilogue) {
  for (int64_t column = 0; column < n; ++column) {
    for (int64_t row = 0; row < m && c != d; ++row) {
      d[row + column * ldd] = c[row + column * ldc];
    }
  }
  const sgemm_status_t status = sgemm_gemm(handle, order, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, d, ldd);
  for (int64_t column = 0; column < n; ++column) {
    for (int64_t row = 0; row < m && epilogue->bias != nullptr; ++row) {
      d[row + column * ldd] += epilogue->bias[row];
    }
  }
  ++fake_sgemm()->products_with_epilogue;
  fake_sgemm()->epilogue = *epilogue;
  fake_sgemm()->c = c;
  return status;
}
