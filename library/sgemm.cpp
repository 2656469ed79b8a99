#include "sgemm/sgemm.h"

#include "calibration/calibration.hpp"
#include "common/cuda_check.hpp"
#include "context.hpp"
#include "cuda_guard.hpp"
#include "gemm_call.hpp"
#include "packed.hpp"
#include "status_error.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <string>

namespace {

using namespace sgemm;

void require(bool condition) {
  if (!condition) {
    throw StatusError(SGEMM_STATUS_INVALID_VALUE);
  }
}

/// The status of what `work` does or throws.
template <class Work>
sgemm_status_t status_of(const Work& work) {
  try {
    work();
    return SGEMM_STATUS_SUCCESS;
  } catch (const StatusError& error) {
    return error.status();
  } catch (const CudaError& error) {
    return error.code() == cudaErrorMemoryAllocation ? SGEMM_STATUS_ALLOC_FAILED : SGEMM_STATUS_EXECUTION_FAILED;
  } catch (const std::bad_alloc&) {
    return SGEMM_STATUS_ALLOC_FAILED;
  } catch (...) {
    return SGEMM_STATUS_INTERNAL_ERROR;
  }
}

/// The same for work that calls CUDA.
template <class Work>
sgemm_status_t status_of_cuda(const Work& work) {
  const CudaGuard guard;
  return status_of(work);
}

/// The same for a setting of a handle.
template <class Work>
sgemm_status_t with(sgemm_handle_t handle, const Work& work) {
  return handle == nullptr ? SGEMM_STATUS_NOT_INITIALIZED : status_of(work);
}

/// The same for work that calls CUDA.
template <class Work>
sgemm_status_t with_cuda(sgemm_handle_t handle, const Work& work) {
  return handle == nullptr ? SGEMM_STATUS_NOT_INITIALIZED : status_of_cuda([&] {
    handle->require_life();
    work();
  });
}

/// Writes what a member or a function of the handle says.
template <class Value, class Read>
sgemm_status_t get(sgemm_handle_t handle, Value* destination, Read read) {
  return with(handle, [&] {
    require(destination != nullptr);
    *destination = std::invoke(read, *handle);
  });
}

template <std::size_t SIZE>
void copy(char (&destination)[SIZE], const std::string& text) {
  std::snprintf(destination, SIZE, "%s", text.c_str());
}

/// Whether a product of valid shape has no element of C.
bool is_empty(const sgemm_product_t& p) { return p.m == 0 || p.n == 0 || p.batch_count == 0; }

/// The product with the matrices of its packed operands, which have to fit.
sgemm_product_t checked(sgemm_handle_t handle, const sgemm_product_t* product) {
  require(product != nullptr && product->size == sizeof *product);
  sgemm_product_t p = *product;
  for (const sgemm_side_t side : {SGEMM_SIDE_A, SGEMM_SIDE_B}) {
    sgemm_operand_t& operand = side == SGEMM_SIDE_A ? p.a : p.b;
    if (const sgemm_packed* const packed = operand.packed) {
      require(packed->layout == sgemm_packed::LAYOUT && packed->device == handle->device() &&
              packed->accuracy == handle->accuracy && packed->k == p.k &&
              packed->lines == (side == SGEMM_SIDE_A ? p.m : p.n) && p.batch_count == 1 && p.addresses_of_d == nullptr);
      operand = {operand.packed, packed->op(p.order, side), packed->x, packed->ld, 0, nullptr};
    }
  }
  require(has_valid_shape(p));
  return p;
}

/// Null where the product alone leaves what is asked for in D.
const GemmEpilogue* if_it_changes_d(const GemmEpilogue& epilogue, const GemmBatch& batch) {
  return epilogue.changes_d(batch.first) ? &epilogue : nullptr;
}

void run(sgemm_handle_t handle, const sgemm_product_t& p) {
  const sgemm_pointer_mode_t mode = handle->pointer_mode;
  if (is_empty(p)) {
    return;
  }
  require(has_valid_pointers(p, mode));
  handle->require_device();
  const GemmBatch batch = row_major(p, mode);
  const GemmEpilogue epilogue = row_major_epilogue(p);
  handle->gemm(batch, if_it_changes_d(epilogue, batch));
}

/// What run() would do with operands that are aligned, and scalars other than 0.
sgemm_plan_t plan_of(sgemm_handle_t handle, sgemm_product_t p) {
  constexpr float ONE = 1.0F;
  p.alpha = p.beta = &ONE;
  sgemm_plan_t plan{};
  if (is_empty(p)) {
    copy(plan.kernel, "none");
    copy(plan.reason, "C is empty");
    return plan;
  }
  handle->require_device();
  const GemmEpilogue epilogue = row_major_epilogue(p);  // which knows whether C is D
  p.a.x = p.b.x = p.d = nullptr;
  const GemmBatch batch = row_major(p, handle->pointer_mode);
  const Choice& choice = handle->choice(batch, if_it_changes_d(epilogue, batch));
  copy(plan.reason, choice.reason);
  plan.cublas_us = choice.cublas_us;
  if (!choice.algorithm && handle->accuracy == SGEMM_ACCURACY_REPRODUCIBLE) {
    copy(plan.kernel, "none");
    return plan;
  }
  plan.workspace_bytes = sgemm_context::bytes_beside_cublas(batch);
  plan.launches = (plan.workspace_bytes > 0 ? 3 : 1) + (epilogue.changes_elements() ? 1 : 0);
  copy(plan.kernel, "cublas");
  if (choice.algorithm) {
    const std::int64_t launches = choice.algorithm->kernels * choice.algorithm->launches;
    copy(plan.kernel, choice.algorithm->kernel);
    copy(plan.configuration, choice.algorithm->configuration);
    plan.launches = static_cast<int>(std::min<std::int64_t>(launches, std::numeric_limits<int>::max()));
    plan.workspace_bytes = choice.algorithm->workspace_bytes;
    plan.predicted_us = choice.algorithm_us;
  }
  return plan;
}

/// How lines are packed, which are rows of an A, by the method whose kernels read them with the handle's accuracy.
Packing packing_of(sgemm_handle_t handle, const GemmProblem& rows) {
  require(rows.m > 0 && rows.k > 0);
  const std::optional<Method> method = method_of_packed(handle->accuracy);
  if (!method || std::max(rows.m, rows.k) > std::numeric_limits<int>::max()) {
    throw StatusError(SGEMM_STATUS_NOT_SUPPORTED);
  }
  handle->require_device();
  Packing result = packing(*method, rows);
  if (result.bytes == 0) {
    throw StatusError(SGEMM_STATUS_NOT_SUPPORTED);
  }
  return result;
}

GemmProblem rows_of(std::int64_t lines, std::int64_t k) {
  GemmProblem rows;
  rows.m = lines;
  rows.k = k;
  return rows;
}

}  // namespace

int sgemm_version(void) { return SGEMM_VERSION; }

int sgemm_cublas_version(void) { return Blas::version(); }
const char* sgemm_cublas_path(void) { return Blas::path(); }

const char* sgemm_calibration(void) {
  thread_local std::string text;
  text = "there is no usable GPU";
  status_of_cuda([&] { text = calibration_text(); });
  return text.c_str();
}

sgemm_status_t sgemm_calibrate(const char* file, const char** text) {
  thread_local std::string result;
  const sgemm_status_t status = status_of_cuda([&] {
    require(text != nullptr);
    try {
      result = calibrate(file == nullptr ? "" : file);
    } catch (const CalibrationError& error) {
      result = error.what();
      throw StatusError(SGEMM_STATUS_INVALID_VALUE);
    }
  });
  if (text != nullptr) {
    *text = status == SGEMM_STATUS_SUCCESS || status == SGEMM_STATUS_INVALID_VALUE ? result.c_str()
                                                                                   : sgemm_status_string(status);
  }
  return status;
}

sgemm_status_t sgemm_create(sgemm_handle_t* handle) {
  return status_of_cuda([&] {
    require(handle != nullptr);
    *handle = new sgemm_context;
  });
}

sgemm_status_t sgemm_destroy(sgemm_handle_t handle) {
  return with_cuda(handle, [&] { delete handle; });
}

sgemm_status_t sgemm_set_stream(sgemm_handle_t handle, sgemm_stream_t stream) {
  return with_cuda(handle, [&] { handle->set_stream(stream); });
}

sgemm_status_t sgemm_get_stream(sgemm_handle_t handle, sgemm_stream_t* value) {
  return get(handle, value, &sgemm_context::stream);
}

sgemm_status_t sgemm_set_accuracy(sgemm_handle_t handle, sgemm_accuracy_t accuracy) {
  return with(handle, [&] {
    require(accuracy == SGEMM_ACCURACY_FP32 || accuracy == SGEMM_ACCURACY_COMPONENTWISE ||
            accuracy == SGEMM_ACCURACY_NORMWISE || accuracy == SGEMM_ACCURACY_ROWWISE ||
            accuracy == SGEMM_ACCURACY_REPRODUCIBLE);
    handle->accuracy = accuracy;
  });
}

sgemm_status_t sgemm_get_accuracy(sgemm_handle_t handle, sgemm_accuracy_t* value) {
  return get(handle, value, &sgemm_context::accuracy);
}

sgemm_status_t sgemm_set_pointer_mode(sgemm_handle_t handle, sgemm_pointer_mode_t mode) {
  return with(handle, [&] {
    require(mode == SGEMM_POINTER_MODE_HOST || mode == SGEMM_POINTER_MODE_DEVICE);
    handle->pointer_mode = mode;
  });
}

sgemm_status_t sgemm_get_pointer_mode(sgemm_handle_t handle, sgemm_pointer_mode_t* value) {
  return get(handle, value, &sgemm_context::pointer_mode);
}

sgemm_status_t sgemm_set_fallback(sgemm_handle_t handle, sgemm_fallback_t fallback) {
  return with(handle, [&] {
    require(fallback == SGEMM_FALLBACK_CUBLAS || fallback == SGEMM_FALLBACK_NONE);
    handle->fallback = fallback;
  });
}

sgemm_status_t sgemm_get_fallback(sgemm_handle_t handle, sgemm_fallback_t* value) {
  return get(handle, value, &sgemm_context::fallback);
}

sgemm_status_t sgemm_set_repeatable(sgemm_handle_t handle, int repeatable) {
  return with_cuda(handle, [&] {
    require(repeatable == 0 || repeatable == 1);
    handle->set_repeatable(repeatable == 1);
  });
}

sgemm_status_t sgemm_get_repeatable(sgemm_handle_t handle, int* value) {
  return get(handle, value, &sgemm_context::repeatable);
}

sgemm_status_t sgemm_set_memory_limit(sgemm_handle_t handle, size_t bytes) {
  return with_cuda(handle, [&] {
    handle->require_device();
    handle->set_memory_limit(bytes);
  });
}

sgemm_status_t sgemm_get_memory_limit(sgemm_handle_t handle, size_t* value) {
  return get(handle, value, &sgemm_context::memory_limit);
}

sgemm_status_t sgemm_set_workspace(sgemm_handle_t handle, void* workspace, size_t bytes) {
  return with(handle, [&] {
    require(reinterpret_cast<std::uintptr_t>(workspace) % SGEMM_WORKSPACE_ALIGNMENT == 0);
    require((workspace == nullptr) == (bytes == 0));
    handle->set_workspace(workspace, bytes);
  });
}

sgemm_status_t sgemm_trim(sgemm_handle_t handle) {
  return with_cuda(handle, [&] { handle->trim(); });
}

sgemm_status_t sgemm_get_device(sgemm_handle_t handle, int* value) {
  return get(handle, value, &sgemm_context::device);
}

sgemm_status_t sgemm_set_multiprocessors(sgemm_handle_t handle, int multiprocessors) {
  return with_cuda(handle, [&] { handle->set_multiprocessors(multiprocessors); });
}

sgemm_status_t sgemm_get_multiprocessors(sgemm_handle_t handle, int* value) {
  return get(handle, value, &sgemm_context::multiprocessors);
}

sgemm_status_t sgemm_gemm(sgemm_handle_t handle, sgemm_order_t order, sgemm_op_t transa, sgemm_op_t transb, int64_t m,
                          int64_t n, int64_t k, const float* alpha, const float* a, int64_t lda, const float* b,
                          int64_t ldb, const float* beta, float* c, int64_t ldc) {
  const sgemm_product_t product =
      product_of(order, m, n, k, alpha, matrix_of(transa, a, lda), matrix_of(transb, b, ldb), beta, c, ldc);
  return sgemm_run(handle, &product);
}

sgemm_status_t sgemm_run(sgemm_handle_t handle, const sgemm_product_t* product) {
  return with_cuda(handle, [&] { run(handle, checked(handle, product)); });
}

sgemm_status_t sgemm_plan(sgemm_handle_t handle, const sgemm_product_t* product, sgemm_plan_t* plan) {
  return with_cuda(handle, [&] {
    require(plan != nullptr);
    *plan = plan_of(handle, checked(handle, product));
  });
}

sgemm_status_t sgemm_packed_size(sgemm_handle_t handle, int64_t lines, int64_t k, size_t* bytes) {
  return with_cuda(handle, [&] {
    require(bytes != nullptr);
    *bytes = packing_of(handle, rows_of(lines, k)).bytes;
  });
}

sgemm_status_t sgemm_pack(sgemm_handle_t handle, sgemm_order_t order, sgemm_side_t side, sgemm_op_t op, int64_t lines,
                          int64_t k, const float* x, int64_t ld, void* memory, size_t bytes, sgemm_packed_t* packed) {
  return with_cuda(handle, [&] {
    require(packed != nullptr && (side == SGEMM_SIDE_A || side == SGEMM_SIDE_B));
    const bool of_a = side == SGEMM_SIDE_A;
    require(has_valid_shape(order, op, of_a ? lines : k, of_a ? k : lines, ld));
    require(x != nullptr && reinterpret_cast<std::uintptr_t>(x) % sizeof(float) == 0);
    require(memory != nullptr && reinterpret_cast<std::uintptr_t>(memory) % SGEMM_WORKSPACE_ALIGNMENT == 0);
    GemmProblem rows = rows_of(lines, k);
    rows.a = x;
    rows.lda = ld;
    rows.a_transposed = !sgemm_packed::lines_are_stored(order, side, op);
    const Packing packing = packing_of(handle, rows);
    require(bytes >= packing.bytes);
    auto made = std::make_unique<sgemm_packed>();
    made->device = handle->device();
    made->accuracy = handle->accuracy;
    made->method = *method_of_packed(handle->accuracy);
    made->lines = lines;
    made->k = k;
    made->x = x;
    made->ld = ld;
    made->k_major = !rows.a_transposed;
    made->tiles = memory;
    packing.enqueue(memory, handle->stream());
    *packed = made.release();
  });
}

sgemm_status_t sgemm_packed_destroy(sgemm_packed_t packed) {
  return status_of([&] {
    require(packed != nullptr);
    delete packed;
  });
}
