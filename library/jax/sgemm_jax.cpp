// libsgemm_jax.so: the call of libsgemm that XLA makes for sgemm.jax. It needs XLA's header-only interface alone:
// libsgemm is looked up, and CUDA is not asked.

#include <dlfcn.h>
#include <sgemm/sgemm.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "../idle.hpp"
#include "xla/ffi/api/ffi.h"

namespace {

namespace ffi = xla::ffi;
using Floats = ffi::Buffer<ffi::F32>;

/// Of the library, without their "sgemm_".
#define FUNCTIONS(F) F(create) F(set_stream) F(set_accuracy) F(set_workspace) F(run) F(plan) F(status_string)

struct Library {
#define DECLARE(name) decltype(&sgemm_##name) name = nullptr;
  FUNCTIONS(DECLARE)
};

Library& library() {
  static Library it;
  return it;
}

/// A dimension of the batch: its size, and the distance between neighbours in each matrix.
struct Dimension {
  int64_t size, a, b, c;
};

/// What the memory of a product depends on.
using Shape = std::array<int64_t, 9>;

/// A handle, and the memory that products need.
struct Worker {
  sgemm_handle_t handle = nullptr;
  std::map<Shape, size_t> workspace_bytes = {};
};

/// Those that no call uses. They live as long as the process.
sgemm::Idle<Worker>& workers() {
  static auto* const it = new sgemm::Idle<Worker>;
  return *it;
}

/// One for a stream. Those of a context that is not current refuse it, and stay.
sgemm_status_t take(int32_t device, sgemm_stream_t stream, Worker& worker) {
  const auto takes_stream = [&](const Worker& one) {
    return library().set_stream(one.handle, stream) == SGEMM_STATUS_SUCCESS;
  };
  if (auto idle = workers().take(device, takes_stream)) {
    worker = std::move(*idle);
    return SGEMM_STATUS_SUCCESS;
  }
  const sgemm_status_t status = library().create(&worker.handle);
  return status == SGEMM_STATUS_SUCCESS ? library().set_stream(worker.handle, stream) : status;
}

ffi::Error error_of(const std::string& text) { return ffi::Error(ffi::ErrorCode::kInternal, "libsgemm: " + text); }

size_t workspace_bytes(Worker& worker, const sgemm_product_t& p, sgemm_accuracy_t accuracy) {
  const Shape shape{accuracy, p.a.op, p.b.op, p.m, p.n, p.k, p.batch_count, p.a.stride, p.b.stride};
  const auto known = worker.workspace_bytes.find(shape);
  if (known != worker.workspace_bytes.end()) {
    return known->second;
  }
  sgemm_plan_t plan{};
  library().set_workspace(worker.handle, nullptr, 0);
  library().plan(worker.handle, &p, &plan);
  return worker.workspace_bytes[shape] = plan.workspace_bytes;
}

/// Enqueues a product for each index of `outer`.
template <class Allocate>
sgemm_status_t enqueue(Worker& worker, const sgemm_product_t& product, sgemm_accuracy_t accuracy,
                       const std::vector<Dimension>& outer, const Allocate& allocate) {
  sgemm_status_t status = library().set_accuracy(worker.handle, accuracy);
  if (status != SGEMM_STATUS_SUCCESS) {
    return status;
  }
  const size_t bytes = workspace_bytes(worker, product, accuracy);
  void* const workspace = bytes == 0 ? nullptr : allocate(bytes);
  // Without memory of XLA the library looks for some, or leaves the product to cuBLAS.
  status = library().set_workspace(worker.handle, workspace, workspace == nullptr ? 0 : bytes);
  int64_t products = 1;
  for (const Dimension& dimension : outer) {
    products *= dimension.size;
  }
  for (int64_t i = 0; i < products && status == SGEMM_STATUS_SUCCESS; ++i) {
    sgemm_product_t one = product;
    int64_t rest = i;
    for (const Dimension& dimension : outer) {
      const int64_t index = rest % dimension.size;
      rest /= dimension.size;
      one.a.x += index * dimension.a;
      one.b.x += index * dimension.b;
      one.d += index * dimension.c;
    }
    status = library().run(worker.handle, &one);
  }
  return status;
}

/// c = op(a) op(b), where the last two dimensions are those of matrices. A dimension of a batch that is 1 in `a` or `b`
/// stands for the size that it has in `c`.
template <class Allocate>
ffi::Error dot(sgemm_stream_t stream, int32_t device, const Floats& a, const Floats& b, Floats& c, bool transpose_a,
               bool transpose_b, int32_t accuracy, const Allocate& allocate) {
  const auto sizes_a = a.dimensions(), sizes_b = b.dimensions(), sizes_c = c.dimensions();
  const size_t rank = sizes_c.size();
  if (rank < 2 || sizes_a.size() != rank || sizes_b.size() != rank) {
    return error_of("the operands have other numbers of dimensions than the result");
  }
  static constexpr float kOne = 1;
  static constexpr float kZero = 0;
  sgemm_product_t product{};
  product.size = sizeof product;
  product.order = SGEMM_ORDER_ROW_MAJOR;
  product.m = sizes_c[rank - 2];
  product.n = product.ldd = sizes_c[rank - 1];
  product.k = sizes_a[transpose_a ? rank - 2 : rank - 1];
  product.alpha = &kOne;
  product.beta = &kZero;
  product.batch_count = 1;
  const auto operand = [](const Floats& x, bool transposed, int64_t ld) -> sgemm_operand_t {
    return {nullptr, transposed ? SGEMM_OP_T : SGEMM_OP_N, x.typed_data(), std::max<int64_t>(1, ld), 0, nullptr};
  };
  product.a = operand(a, transpose_a, transpose_a ? product.m : product.k);  // k may be 0
  product.b = operand(b, transpose_b, transpose_b ? product.k : product.n);
  product.d = c.typed_data();
  if (c.element_count() == 0) {
    return ffi::Error::Success();
  }
  // The dimensions of the batch from the last to the first. Neighbours are joined where the matrices lie so.
  std::vector<Dimension> batch;
  int64_t next_a = product.m * product.k, next_b = product.k * product.n, next_c = product.m * product.n;
  for (size_t i = rank - 2; i-- > 0;) {
    const int64_t size = sizes_c[i];
    if ((sizes_a[i] != size && sizes_a[i] != 1) || (sizes_b[i] != size && sizes_b[i] != 1)) {
      return error_of("the batches have different sizes");
    }
    const Dimension dimension{size, sizes_a[i] == size ? next_a : 0, sizes_b[i] == size ? next_b : 0, next_c};
    next_a *= sizes_a[i];
    next_b *= sizes_b[i];
    next_c *= size;
    if (size == 1) {
      continue;
    }
    if (!batch.empty() && dimension.a == batch.back().a * batch.back().size &&
        dimension.b == batch.back().b * batch.back().size) {
      batch.back().size *= size;
    } else {
      batch.push_back(dimension);
    }
  }
  if (!batch.empty()) {
    const Dimension inner = batch.front();
    batch.erase(batch.begin());
    if (inner.b == 0 && !transpose_a && inner.a != 0) {
      product.m *= inner.size;  // one product of more rows
    } else {
      product.a.stride = inner.a;  // 0 gives all products the same matrix
      product.b.stride = inner.b;
      product.stride_of_d = inner.c;
      product.batch_count = inner.size;
    }
  }

  if (library().create == nullptr) {
    return error_of("it is not loaded");
  }
  Worker worker;
  sgemm_status_t status = take(device, stream, worker);
  if (status != SGEMM_STATUS_SUCCESS) {
    return error_of(library().status_string(status));
  }
  status = enqueue(worker, product, static_cast<sgemm_accuracy_t>(accuracy), batch, allocate);
  workers().put(device, std::move(worker));
  return status == SGEMM_STATUS_SUCCESS ? ffi::Error::Success() : error_of(library().status_string(status));
}

auto operands() {
  return ffi::Ffi::Bind()
      .Arg<Floats>()
      .Arg<Floats>()
      .Ret<Floats>()
      .Attr<bool>("transpose_a")
      .Attr<bool>("transpose_b")
      .Attr<int32_t>("accuracy");
}

#ifdef SGEMM_JAX_ON_HOST
// The tests, which have no GPU.
ffi::Error dot_on_host(Floats a, Floats b, ffi::Result<Floats> c, bool transpose_a, bool transpose_b,
                       int32_t accuracy) {
  return dot(nullptr, 0, a, b, *c, transpose_a, transpose_b, accuracy, [](size_t) { return nullptr; });
}
#else
ffi::Error dot_on_stream(Floats a, Floats b, ffi::Result<Floats> c, bool transpose_a, bool transpose_b,
                         int32_t accuracy, sgemm_stream_t stream, int32_t device, ffi::ScratchAllocator scratch) {
  return dot(stream, device, a, b, *c, transpose_a, transpose_b, accuracy,
             [&](size_t bytes) { return scratch.Allocate(bytes, SGEMM_WORKSPACE_ALIGNMENT).value_or(nullptr); });
}
#endif

}  // namespace

/// Finds libsgemm in a file. Returns why it can not be used, or an empty text, which lives until the next call.
extern "C" SGEMM_API const char* sgemm_jax_load(const char* path) {
  static std::string problem;
  problem.clear();
  void* const file = dlopen(path, RTLD_NOW);
  if (file == nullptr) {
    problem = dlerror();
    return problem.c_str();
  }
  Library found;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(file, name));
    if (function == nullptr) {
      problem = std::string(path) + " has no " + name;
    }
  };
#define FIND(name) find(found.name, "sgemm_" #name);
  FUNCTIONS(FIND)
  if (problem.empty()) {
    library() = found;
  }
  return problem.c_str();
}

extern "C" SGEMM_API XLA_FFI_Error* sgemm_jax_dot(XLA_FFI_CallFrame* frame);

#ifdef SGEMM_JAX_ON_HOST
XLA_FFI_DEFINE_HANDLER_SYMBOL(sgemm_jax_dot, dot_on_host, operands());
#else
XLA_FFI_DEFINE_HANDLER_SYMBOL(
    sgemm_jax_dot, dot_on_stream,
    operands().Ctx<ffi::PlatformStream<sgemm_stream_t>>().Ctx<ffi::DeviceOrdinal>().Ctx<ffi::ScratchAllocator>());
#endif
