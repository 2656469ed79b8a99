// libsgemm for the tests.

#include "fake_sgemm.hpp"

#include <cstdio>
#include <cstdlib>

#include "fake_cublas.hpp"

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

namespace {

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

}  // namespace

sgemm_status_t sgemm_plan(sgemm_handle_t, const sgemm_product_t* product, sgemm_plan_t* plan) {
  FakeSgemm& fake = *fake_sgemm();
  ++fake.plans;
  fake.plans_by_address += product->addresses_of_d == nullptr ? 0 : 1;
  note(*product);
  std::snprintf(plan->kernel, sizeof plan->kernel, "%s", fake.kernel.c_str());
  std::snprintf(plan->reason, sizeof plan->reason, "%s", fake.reason.c_str());
  plan->predicted_us = fake.predicted_us;
  plan->cublas_us = fake.cublas_us;
  plan->workspace_bytes = fake.workspace_bytes;
  return SGEMM_STATUS_SUCCESS;
}

/// Of an epilogue, it adds the bias.
sgemm_status_t sgemm_run(sgemm_handle_t handle, const sgemm_product_t* product) {
  FakeSgemm& fake = *fake_sgemm();
  const sgemm_product_t& p = *product;
  ++fake.products;
  fake.products_with_epilogue += p.epilogue == nullptr ? 0 : 1;
  note(p);
  fake.stream = handle->stream;
  fake.accuracy = handle->accuracy;
  fake.pointer_mode = handle->pointer_mode;
  fake.multiprocessors = handle->multiprocessors;
  fake.workspace = handle->workspace;
  fake.workspace_bytes_of_call = handle->workspace_bytes;
  if (fake.meanwhile != nullptr) {
    fake.meanwhile();
  }
  if (fake.status != SGEMM_STATUS_SUCCESS) {
    return fake.status;
  }
  if (fake.products_without_memory > 0) {
    --fake.products_without_memory;
    if (handle->fallback == SGEMM_FALLBACK_NONE) {
      return SGEMM_STATUS_NOT_SUPPORTED;
    }
    cublasContext context;
    return static_cast<sgemm_status_t>(cublasSgemm_v2(
        &context, static_cast<cublasOperation_t>(p.a.op), static_cast<cublasOperation_t>(p.b.op), static_cast<int>(p.m),
        static_cast<int>(p.n), static_cast<int>(p.k), p.alpha, p.a.x, static_cast<int>(p.a.ld), p.b.x,
        static_cast<int>(p.b.ld), p.beta, p.d, static_cast<int>(p.ldd)));
  }
  for (int64_t i = 0; i < p.batch_count && handle->pointer_mode == SGEMM_POINTER_MODE_HOST; ++i) {
    float* const d = at(p.d, p.stride_of_d, p.addresses_of_d, i);
    for (int64_t place = 0; place < p.m * p.n && p.c != nullptr && p.c != p.d; ++place) {
      d[place % p.m + place / p.m * p.ldd] = p.c[place % p.m + place / p.m * p.ldc];
    }
    host_gemm(p.a.op != SGEMM_OP_N, p.b.op != SGEMM_OP_N, p.m, p.n, p.k, *p.alpha,
              at(p.a.x, p.a.stride, p.a.addresses, i), p.a.ld, at(p.b.x, p.b.stride, p.b.addresses, i), p.b.ld, *p.beta,
              d, p.ldd);
    for (int64_t place = 0; place < p.m * p.n && p.epilogue != nullptr && p.epilogue->bias != nullptr; ++place) {
      d[place % p.m + place / p.m * p.ldd] += p.epilogue->bias[place % p.m];
    }
    if (fake.fails_in_batches && p.batch_count > 1) {
      return SGEMM_STATUS_EXECUTION_FAILED;
    }
  }
  return SGEMM_STATUS_SUCCESS;
}
