/* libsgemm for the tests of the Python package: it computes on the host, and remembers its last call. */

#include <sgemm/sgemm.h>
#include <stdlib.h>
#include <string.h>

struct sgemm_context {
  sgemm_stream_t stream;
  sgemm_accuracy_t accuracy;
  int repeatable;
  int64_t context;
};

/* What the tests set and read. */
struct {
  int64_t status, device, handles, calls, order, transa, transb, lda, ldb, ldc, stride_a, stride_b, stride_c,
      batch_count, stream, accuracy, plans, m, n, k, packed, repeatable, context;
} fake;

int sgemm_version(void) {
  const char* const version = getenv("FAKE_SGEMM_VERSION");
  return version == NULL ? SGEMM_VERSION : atoi(version);
}
int sgemm_cublas_version(void) { return 120804; }
const char* sgemm_cublas_path(void) { return "/cuda/libcublas.so.12"; }
const char* sgemm_calibration(void) { return "/cache/fake.txt: not used, the fake has none"; }
sgemm_status_t sgemm_calibrate(const char* file, const char** text) {
  *text = fake.status ? "the fake can not write" : file ? file : "/cache/fake.txt";
  return (sgemm_status_t)fake.status;
}
const char* sgemm_status_name(sgemm_status_t status) { return status == 0 ? "SGEMM_STATUS_SUCCESS" : "SGEMM_STATUS_X"; }
const char* sgemm_status_string(sgemm_status_t status) { return status == 0 ? "fine" : "the fake refuses"; }

sgemm_status_t sgemm_create(sgemm_handle_t* handle) {
  ++fake.handles;
  *handle = calloc(1, sizeof **handle);
  (*handle)->context = fake.context;
  return SGEMM_STATUS_SUCCESS;
}

sgemm_status_t sgemm_destroy(sgemm_handle_t handle) {
  --fake.handles;
  free(handle);
  return SGEMM_STATUS_SUCCESS;
}

sgemm_status_t sgemm_get_device(sgemm_handle_t handle, int* value) {
  (void)handle;
  *value = (int)fake.device;
  return SGEMM_STATUS_SUCCESS;
}

sgemm_status_t sgemm_set_stream(sgemm_handle_t handle, sgemm_stream_t stream) {
  handle->stream = stream; /* a reset of the device led to another context */
  return handle->context == fake.context ? SGEMM_STATUS_SUCCESS : SGEMM_STATUS_NOT_INITIALIZED;
}

sgemm_status_t sgemm_set_repeatable(sgemm_handle_t handle, int repeatable) {
  handle->repeatable = repeatable;
  return SGEMM_STATUS_SUCCESS;
}

sgemm_status_t sgemm_get_repeatable(sgemm_handle_t handle, int* value) {
  *value = handle->repeatable;
  return SGEMM_STATUS_SUCCESS;
}

sgemm_status_t sgemm_set_accuracy(sgemm_handle_t handle, sgemm_accuracy_t accuracy) {
  handle->accuracy = accuracy;
  return SGEMM_STATUS_SUCCESS;
}

/* Products of 1024 and more are chapter 11's, unless they have to be FP32. With `plans` of 1 or 2 none is, or all are.
 */
sgemm_status_t sgemm_plan(sgemm_handle_t handle, const sgemm_product_t* p, sgemm_plan_t* plan) {
  const int large = fake.plans == 0 ? p->m >= 1024 && handle->accuracy != SGEMM_ACCURACY_FP32 : fake.plans == 2;
  if (fake.handles == 0) { /* this one was destroyed */
    return SGEMM_STATUS_NOT_INITIALIZED;
  }
  memset(plan, 0, sizeof *plan);
  strcpy(plan->kernel, large ? "11_bf16x6" : "cublas");
  strcpy(plan->reason, large ? "the fake likes large ones" : "the fake likes small ones");
  plan->workspace_bytes = (size_t)(p->m * p->n * p->k * p->batch_count);
  plan->predicted_us = large ? 10 : 0;
  plan->cublas_us = 25;
  return p->size == sizeof *p ? SGEMM_STATUS_SUCCESS : SGEMM_STATUS_INVALID_VALUE;
}

sgemm_status_t sgemm_set_workspace(sgemm_handle_t handle, void* workspace, size_t bytes) {
  (void)handle, (void)workspace, (void)bytes;
  return SGEMM_STATUS_SUCCESS;
}

/* Two functions of version 0.3, whose programs declare no types: what arrives is noted. */
sgemm_status_t sgemm_gemm_plan(sgemm_handle_t handle, sgemm_order_t order, sgemm_op_t transa, sgemm_op_t transb,
                               int64_t m, int64_t n, int64_t k, int64_t lda, int64_t ldb, int64_t ldc,
                               int64_t batch_count, sgemm_plan_t* plan) {
  (void)order, (void)transa, (void)transb, (void)lda, (void)ldb, (void)ldc, (void)batch_count;
  const sgemm_product_t product = {.size = sizeof product, .m = m, .n = n, .k = k, .batch_count = 1};
  return sgemm_plan(handle, &product, plan);
}

sgemm_status_t sgemm_gemm_strided_batched(sgemm_handle_t handle, sgemm_order_t order, sgemm_op_t transa,
                                          sgemm_op_t transb, int64_t m, int64_t n, int64_t k, const float* alpha,
                                          const float* a, int64_t lda, int64_t stride_a, const float* b, int64_t ldb,
                                          int64_t stride_b, const float* beta, float* c, int64_t ldc, int64_t stride_c,
                                          int64_t batch_count) {
  (void)handle, (void)order, (void)transa, (void)transb, (void)alpha, (void)a, (void)b, (void)beta, (void)c;
  fake.m = m, fake.n = n, fake.k = k, fake.lda = lda, fake.ldb = ldb, fake.ldc = ldc;
  fake.stride_a = stride_a, fake.stride_b = stride_b, fake.stride_c = stride_c, fake.batch_count = batch_count;
  return SGEMM_STATUS_SUCCESS;
}

static int64_t at(sgemm_order_t order, sgemm_op_t op, int64_t row, int64_t column, int64_t ld) {
  const int by_rows = (order == SGEMM_ORDER_ROW_MAJOR) == (op == SGEMM_OP_N);
  return by_rows ? row * ld + column : row + column * ld;
}

/* A packed operand: its numbers lie in the caller's memory, one line behind the other. */
struct sgemm_packed {
  const float* terms;
  int64_t k;
  sgemm_accuracy_t accuracy;
};

/* A packed operand is B, transposed. */
sgemm_status_t sgemm_run(sgemm_handle_t handle, const sgemm_product_t* product) {
  sgemm_product_t p = *product;
  const int by_rows = p.order == SGEMM_ORDER_ROW_MAJOR;
  if (handle->context != fake.context) {
    return SGEMM_STATUS_NOT_INITIALIZED;
  }
  if (p.b.packed != NULL) {
    if (p.b.packed->k != p.k || p.b.packed->accuracy != handle->accuracy) {
      return SGEMM_STATUS_INVALID_VALUE;
    }
    p.b = (sgemm_operand_t){NULL, SGEMM_OP_T, p.b.packed->terms, p.k, 0, NULL};
  }
  ++fake.calls;
  if (p.size != sizeof p || p.a.ld < 1 || p.a.ld < (by_rows == (p.a.op == SGEMM_OP_N) ? p.k : p.m) || p.b.ld < 1 ||
      p.b.ld < (by_rows == (p.b.op == SGEMM_OP_N) ? p.n : p.k) || p.ldd < 1 || p.ldd < (by_rows ? p.n : p.m)) {
    return SGEMM_STATUS_INVALID_VALUE;
  }
  fake.order = p.order;
  fake.m = p.m;
  fake.n = p.n;
  fake.k = p.k;
  fake.transa = p.a.op;
  fake.transb = p.b.op;
  fake.lda = p.a.ld;
  fake.ldb = p.b.ld;
  fake.ldc = p.ldd;
  fake.stride_a = p.a.stride;
  fake.stride_b = p.b.stride;
  fake.stride_c = p.stride_of_d;
  fake.batch_count = p.batch_count;
  fake.stream = (int64_t)handle->stream;
  fake.accuracy = handle->accuracy;
  fake.repeatable = handle->repeatable;
  if (fake.status != 0) {
    return (sgemm_status_t)fake.status;
  }
  for (int64_t batch = 0; batch < p.batch_count; ++batch) {
    for (int64_t i = 0; i < p.m; ++i) {
      for (int64_t j = 0; j < p.n; ++j) {
        double sum = 0;
        for (int64_t l = 0; l < p.k; ++l) {
          sum += (double)p.a.x[batch * p.a.stride + at(p.order, p.a.op, i, l, p.a.ld)] *
                 p.b.x[batch * p.b.stride + at(p.order, p.b.op, l, j, p.b.ld)];
        }
        float* const element = &p.d[batch * p.stride_of_d + at(p.order, SGEMM_OP_N, i, j, p.ldd)];
        *element = (float)(*p.alpha * sum) + (*p.beta == 0 ? 0 : *p.beta * *element);
        *element += p.epilogue == NULL ? 0 : p.epilogue->bias[j];
      }
    }
  }
  return SGEMM_STATUS_SUCCESS;
}

sgemm_status_t sgemm_packed_size(sgemm_handle_t handle, int64_t lines, int64_t k, size_t* bytes) {
  *bytes = (size_t)(lines * k) * sizeof(float);
  return handle->accuracy == SGEMM_ACCURACY_FP32 ? SGEMM_STATUS_NOT_SUPPORTED : SGEMM_STATUS_SUCCESS;
}
sgemm_status_t sgemm_pack(sgemm_handle_t handle, sgemm_order_t order, sgemm_side_t side, sgemm_op_t op, int64_t lines,
                          int64_t k, const float* x, int64_t ld, void* memory, size_t bytes, sgemm_packed_t* packed) {
  if (order != SGEMM_ORDER_ROW_MAJOR || side != SGEMM_SIDE_A || op != SGEMM_OP_N ||
      (uintptr_t)memory % SGEMM_WORKSPACE_ALIGNMENT != 0 || bytes < (size_t)(lines * k) * sizeof(float)) {
    return SGEMM_STATUS_INVALID_VALUE;
  }
  for (int64_t line = 0; line < lines; ++line) {
    memcpy((float*)memory + line * k, x + line * ld, (size_t)k * sizeof(float));
  }
  *packed = malloc(sizeof **packed);
  **packed = (struct sgemm_packed){memory, k, handle->accuracy};
  ++fake.packed;
  return SGEMM_STATUS_SUCCESS;
}
sgemm_status_t sgemm_packed_destroy(sgemm_packed_t packed) {
  free(packed);
  --fake.packed;
  return SGEMM_STATUS_SUCCESS;
}
