// libsgemm for the tests.

#include "fake_sgemm.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>

struct sgemm_context : FakeSettings {
  sgemm_fallback_t fallback;
  int device;
  int context;
};

/// A packed operand: its numbers lie in the caller's memory, one line behind the other.
struct sgemm_packed {
  const float* terms;
  int64_t k;
  sgemm_accuracy_t accuracy;
};

FakeSgemm* fake_sgemm() {
  static FakeSgemm fake;
  return &fake;
}

namespace {

std::set<sgemm_handle_t> live_handles;

/// What a product and a plan note alike.
void note(const sgemm_product_t& product) {
  fake_sgemm()->product = product;
  if (product.epilogue != nullptr) {
    fake_sgemm()->epilogue = *product.epilogue;
  }
}

/// Number `i` of a batch.
template <class Element>
Element* at(Element* first, int64_t stride, Element* const* addresses, int64_t i) {
  return addresses == nullptr ? first + i * stride : addresses[i];
}

/// Where an element of op(X) lies.
int64_t index(sgemm_order_t order, sgemm_op_t op, int64_t row, int64_t column, int64_t ld) {
  const bool by_rows = (order == SGEMM_ORDER_ROW_MAJOR) == (op == SGEMM_OP_N);
  return by_rows ? row * ld + column : row + column * ld;
}

/// Whether lines of op(X) have room between each other.
bool has_room(sgemm_order_t order, sgemm_op_t op, int64_t rows, int64_t columns, int64_t ld) {
  return ld >= 1 && ld >= ((order == SGEMM_ORDER_ROW_MAJOR) == (op == SGEMM_OP_N) ? columns : rows);
}

/// One product of a batch. Of an epilogue, it adds the bias.
void multiply(const sgemm_product_t& p, int64_t number) {
  const float* const a = at(p.a.x, p.a.stride, p.a.addresses, number);
  const float* const b = at(p.b.x, p.b.stride, p.b.addresses, number);
  float* const d = at(p.d, p.stride_of_d, p.addresses_of_d, number);
  for (int64_t i = 0; i < p.m; ++i) {
    for (int64_t j = 0; j < p.n; ++j) {
      double sum = 0;
      for (int64_t l = 0; l < p.k; ++l) {
        sum += static_cast<double>(a[index(p.order, p.a.op, i, l, p.a.ld)]) * b[index(p.order, p.b.op, l, j, p.b.ld)];
      }
      float& element = d[index(p.order, SGEMM_OP_N, i, j, p.ldd)];
      const float old = p.c == nullptr ? element : p.c[index(p.order, SGEMM_OP_N, i, j, p.ldc)];
      element = static_cast<float>(*p.alpha * sum) + (*p.beta == 0 ? 0 : *p.beta * old);
      if (p.epilogue != nullptr && p.epilogue->bias != nullptr) {
        element += p.epilogue->bias[p.epilogue->bias_of == SGEMM_BIAS_OF_ROWS ? i : j];
      }
    }
  }
}

}  // namespace

int sgemm_version() {
  const char* const version = std::getenv("FAKE_SGEMM_VERSION");
  return version == nullptr ? SGEMM_VERSION : std::atoi(version);
}
int sgemm_cublas_version() { return 120804; }
const char* sgemm_cublas_path() { return "/cuda/libcublas.so.12"; }
const char* sgemm_calibration() { return "/cache/fake.txt: not used, the fake has none"; }
sgemm_status_t sgemm_calibrate(const char* file, const char** text) {
  *text = fake_sgemm()->status != 0 ? "the fake can not write" : file != nullptr ? file : "/cache/fake.txt";
  return fake_sgemm()->status;
}
const char* sgemm_status_name(sgemm_status_t status) { return status == 0 ? "SGEMM_STATUS_SUCCESS" : "SGEMM_STATUS_X"; }
const char* sgemm_status_string(sgemm_status_t status) { return status == 0 ? "fine" : "the fake refuses"; }

sgemm_status_t sgemm_create(sgemm_handle_t* handle) {
  ++fake_sgemm()->handles;
  *handle = new sgemm_context{};
  (*handle)->repeatable = fake_sgemm()->repeatable_by_environment;
  (*handle)->device = fake_sgemm()->device;
  (*handle)->context = fake_sgemm()->context;
  live_handles.insert(*handle);
  return SGEMM_STATUS_SUCCESS;
}

sgemm_status_t sgemm_destroy(sgemm_handle_t handle) {
  if (handle->context != fake_sgemm()->context) {
    return SGEMM_STATUS_NOT_INITIALIZED;
  }
  --fake_sgemm()->handles;
  live_handles.erase(handle);
  delete handle;
  return SGEMM_STATUS_SUCCESS;
}

sgemm_status_t sgemm_set_stream(sgemm_handle_t handle, sgemm_stream_t stream) {
  handle->stream = stream;
  return handle->context == fake_sgemm()->context ? SGEMM_STATUS_SUCCESS : SGEMM_STATUS_NOT_INITIALIZED;
}

sgemm_status_t sgemm_set_workspace(sgemm_handle_t handle, void* workspace, size_t bytes) {
  handle->workspace = workspace;
  handle->workspace_bytes_of_call = bytes;
  return SGEMM_STATUS_SUCCESS;
}

/// A function that keeps a setting of the handle, or one that tells it.
#define SET(setting, type)                                                \
  sgemm_status_t sgemm_set_##setting(sgemm_handle_t handle, type value) { \
    handle->setting = value;                                              \
    return SGEMM_STATUS_SUCCESS;                                          \
  }
#define GET(setting)                                                      \
  sgemm_status_t sgemm_get_##setting(sgemm_handle_t handle, int* value) { \
    *value = handle->setting;                                             \
    return SGEMM_STATUS_SUCCESS;                                          \
  }
SET(accuracy, sgemm_accuracy_t)
SET(pointer_mode, sgemm_pointer_mode_t)
SET(fallback, sgemm_fallback_t)
SET(repeatable, int)
SET(multiprocessors, int)
GET(repeatable)
GET(multiprocessors)
GET(device)

sgemm_status_t sgemm_plan(sgemm_handle_t handle, const sgemm_product_t* product, sgemm_plan_t* plan) {
  FakeSgemm& fake = *fake_sgemm();
  if (!live_handles.contains(handle)) {
    return SGEMM_STATUS_NOT_INITIALIZED;
  }
  ++fake.plans;
  fake.plans_by_address += product->addresses_of_d == nullptr ? 0 : 1;
  note(*product);
  const bool large = product->m >= 1024 && handle->accuracy != SGEMM_ACCURACY_FP32;
  const char* const kernel = fake.kernel != nullptr ? fake.kernel : large ? "11_bf16x6" : "cublas";
  const bool by_cublas = std::strcmp(kernel, "cublas") == 0;
  const char* const own_reason = by_cublas ? "the fake likes small ones" : "the fake likes large ones";
  *plan = {};
  std::snprintf(plan->kernel, sizeof plan->kernel, "%s", kernel);
  std::snprintf(plan->reason, sizeof plan->reason, "%s", fake.reason != nullptr ? fake.reason : own_reason);
  plan->predicted_us = by_cublas ? 0 : fake.predicted_us;
  plan->cublas_us = fake.cublas_us;
  plan->workspace_bytes = fake.workspace_bytes;
  return product->size == sizeof *product ? SGEMM_STATUS_SUCCESS : SGEMM_STATUS_INVALID_VALUE;
}

/// A packed operand is B, transposed.
sgemm_status_t sgemm_run(sgemm_handle_t handle, const sgemm_product_t* product) {
  FakeSgemm& fake = *fake_sgemm();
  sgemm_product_t p = *product;
  if (handle->context != fake.context) {
    return SGEMM_STATUS_NOT_INITIALIZED;
  }
  if (p.b.packed != nullptr) {
    if (p.b.packed->k != p.k || p.b.packed->accuracy != handle->accuracy) {
      return SGEMM_STATUS_INVALID_VALUE;
    }
    p.b = {nullptr, SGEMM_OP_T, p.b.packed->terms, p.k, 0, nullptr};
  }
  ++fake.products;
  if (p.size != sizeof p || !has_room(p.order, p.a.op, p.m, p.k, p.a.ld) ||
      !has_room(p.order, p.b.op, p.k, p.n, p.b.ld) || !has_room(p.order, SGEMM_OP_N, p.m, p.n, p.ldd)) {
    return SGEMM_STATUS_INVALID_VALUE;
  }
  fake.products_with_epilogue += p.epilogue == nullptr ? 0 : 1;
  note(p);
  static_cast<FakeSettings&>(fake) = *handle;
  if (fake.meanwhile != nullptr) {
    fake.meanwhile();
  }
  if (fake.status != SGEMM_STATUS_SUCCESS) {
    return fake.status;
  }
  if (fake.products_without_memory > 0) {
    --fake.products_without_memory;
    return handle->fallback == SGEMM_FALLBACK_NONE ? SGEMM_STATUS_NOT_SUPPORTED : SGEMM_STATUS_EXECUTION_FAILED;
  }
  for (int64_t number = 0; number < p.batch_count && handle->pointer_mode == SGEMM_POINTER_MODE_HOST; ++number) {
    multiply(p, number);
    if (fake.fails_in_batches != 0 && p.batch_count > 1) {
      return SGEMM_STATUS_EXECUTION_FAILED;
    }
  }
  return SGEMM_STATUS_SUCCESS;
}

sgemm_status_t sgemm_packed_size(sgemm_handle_t handle, int64_t lines, int64_t k, size_t* bytes) {
  *bytes = static_cast<size_t>(lines * k) * sizeof(float);
  return handle->accuracy == SGEMM_ACCURACY_FP32 ? SGEMM_STATUS_NOT_SUPPORTED : SGEMM_STATUS_SUCCESS;
}

sgemm_status_t sgemm_pack(sgemm_handle_t handle, sgemm_order_t order, sgemm_side_t side, sgemm_op_t op, int64_t lines,
                          int64_t k, const float* x, int64_t ld, void* memory, size_t bytes, sgemm_packed_t* packed) {
  if (order != SGEMM_ORDER_ROW_MAJOR || side != SGEMM_SIDE_A || op != SGEMM_OP_N ||
      reinterpret_cast<uintptr_t>(memory) % SGEMM_WORKSPACE_ALIGNMENT != 0 ||
      bytes < static_cast<size_t>(lines * k) * sizeof(float)) {
    return SGEMM_STATUS_INVALID_VALUE;
  }
  auto* const terms = static_cast<float*>(memory);
  for (int64_t line = 0; line < lines; ++line) {
    std::memcpy(terms + line * k, x + line * ld, static_cast<size_t>(k) * sizeof(float));
  }
  *packed = new sgemm_packed{terms, k, handle->accuracy};
  ++fake_sgemm()->packed;
  return SGEMM_STATUS_SUCCESS;
}

sgemm_status_t sgemm_packed_destroy(sgemm_packed_t packed) {
  delete packed;
  --fake_sgemm()->packed;
  return SGEMM_STATUS_SUCCESS;
}
