// cublasLtMatmul, which the drop-in takes the place of.

#include <cublasLt.h>

#include <algorithm>
#include <iterator>
#include <type_traits>

#include "drop_in.hpp"
#include "real_cublas.hpp"

namespace drop_in {
namespace {

constexpr const char* kCublasLt = DROP_IN_SONAME("libcublasLt");

// Attributes that headers of CUDA 12 do not have yet. An older cuBLASLt does not know them, and then has the default.
constexpr auto kBatchMode = static_cast<cublasLtMatrixLayoutAttribute_t>(8);  // CUBLASLT_MATRIX_LAYOUT_BATCH_MODE
constexpr uint32_t kStridedBatch = 0;                                         // CUBLASLT_BATCH_MODE_STRIDED
constexpr auto kEmulation = static_cast<cublasLtMatmulDescAttributes_t>(38);  // ..._DESC_EMULATION_DESCRIPTOR
// And those that headers of CUDA 13 have no more.
constexpr auto kInCounters = static_cast<cublasLtMatmulDescAttributes_t>(29);   // ..._ATOMIC_SYNC_IN_COUNTERS_POINTER
constexpr auto kOutCounters = static_cast<cublasLtMatmulDescAttributes_t>(30);  // ..._ATOMIC_SYNC_OUT_COUNTERS_POINTER

/// An attribute of the description of a product or of a matrix, or `missing` where this cuBLASLt does not know it.
template <class Described, class Which, class Value>
Value attribute(Described described, Which which, Value missing) {
  constexpr bool kOfProduct = std::is_same_v<Described, cublasLtMatmulDesc_t>;
  static const RealFunction get(kCublasLt,
                                kOfProduct ? "cublasLtMatmulDescGetAttribute" : "cublasLtMatrixLayoutGetAttribute");
  Value value = missing;
  size_t written = 0;
  const cublasStatus_t status = get(described, which, static_cast<void*>(&value), sizeof value, &written);
  return status == CUBLAS_STATUS_SUCCESS ? value : missing;
}

struct Layout {
  explicit Layout(cublasLtMatrixLayout_t layout)
      : type(attribute(layout, CUBLASLT_MATRIX_LAYOUT_TYPE, uint32_t{CUDA_R_64F})),
        order(attribute(layout, CUBLASLT_MATRIX_LAYOUT_ORDER, int32_t{CUBLASLT_ORDER_COL})),
        rows(attribute(layout, CUBLASLT_MATRIX_LAYOUT_ROWS, uint64_t{0})),
        columns(attribute(layout, CUBLASLT_MATRIX_LAYOUT_COLS, uint64_t{0})),
        ld(attribute(layout, CUBLASLT_MATRIX_LAYOUT_LD, int64_t{0})),
        batch_count(attribute(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, int32_t{1})),
        stride(attribute(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, int64_t{0})),
        batch_mode(attribute(layout, kBatchMode, kStridedBatch)) {}

  bool is_plain() const { return type == CUDA_R_32F && order == CUBLASLT_ORDER_COL && batch_mode == kStridedBatch; }

  uint32_t type;
  int32_t order;
  uint64_t rows;
  uint64_t columns;
  int64_t ld;
  int32_t batch_count;
  int64_t stride;
  uint32_t batch_mode;
};

/// The epilogues that the library has.
struct Epilogue {
  cublasLtEpilogue_t kind;
  sgemm_activation_t activation;
  bool has_bias;
  bool has_aux;
};
constexpr Epilogue kEpilogues[] = {{CUBLASLT_EPILOGUE_BIAS, SGEMM_ACTIVATION_NONE, true, false},
                                   {CUBLASLT_EPILOGUE_RELU, SGEMM_ACTIVATION_RELU, false, false},
                                   {CUBLASLT_EPILOGUE_RELU_BIAS, SGEMM_ACTIVATION_RELU, true, false},
                                   {CUBLASLT_EPILOGUE_RELU_AUX, SGEMM_ACTIVATION_RELU, false, true},
                                   {CUBLASLT_EPILOGUE_RELU_AUX_BIAS, SGEMM_ACTIVATION_RELU, true, true},
                                   {CUBLASLT_EPILOGUE_DRELU, SGEMM_ACTIVATION_RELU_GRADIENT, false, true},
                                   {CUBLASLT_EPILOGUE_GELU, SGEMM_ACTIVATION_GELU, false, false},
                                   {CUBLASLT_EPILOGUE_GELU_BIAS, SGEMM_ACTIVATION_GELU, true, false},
                                   {CUBLASLT_EPILOGUE_GELU_AUX, SGEMM_ACTIVATION_GELU, false, true},
                                   {CUBLASLT_EPILOGUE_GELU_AUX_BIAS, SGEMM_ACTIVATION_GELU, true, true},
                                   {CUBLASLT_EPILOGUE_DGELU, SGEMM_ACTIVATION_GELU_GRADIENT, false, true}};

/// Sets the call's epilogue. Returns why the library can not do it, or an empty text.
const char* read_epilogue(cublasLtMatmulDesc_t description, Call& call) {
  const auto kind = attribute(description, CUBLASLT_MATMUL_DESC_EPILOGUE, uint32_t{CUBLASLT_EPILOGUE_DEFAULT});
  if (kind == CUBLASLT_EPILOGUE_DEFAULT) {
    return "";
  }
  const auto* const known = std::find_if(std::begin(kEpilogues), std::end(kEpilogues),
                                         [&](const Epilogue& each) { return each.kind == kind; });
  if (known == std::end(kEpilogues)) {
    return "libsgemm has no such epilogue";
  }
  sgemm_epilogue_t epilogue{};  // a bias of rows
  epilogue.activation = known->activation;
  const auto fp32_or_default = [&](cublasLtMatmulDescAttributes_t which) {
    const int32_t type = attribute(description, which, int32_t{-1});
    return type == -1 || type == CUDA_R_32F;
  };
  if (known->has_bias) {
    epilogue.bias = static_cast<const float*>(
        attribute(description, CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<const void*>(nullptr)));
    if (epilogue.bias == nullptr || !fp32_or_default(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE)) {
      return "the bias is not FP32";
    }
  }
  if (known->has_aux) {
    epilogue.aux = attribute(description, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, static_cast<void*>(nullptr));
    epilogue.aux_ld = attribute(description, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, int64_t{0});
    const bool of_bits =
        epilogue.activation == SGEMM_ACTIVATION_RELU || epilogue.activation == SGEMM_ACTIVATION_RELU_GRADIENT;
    if (epilogue.aux == nullptr || (!of_bits && !fp32_or_default(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE))) {
      return "the argument of GELU is not FP32";
    }
  }
  call.epilogue = epilogue;
  call.product.epilogue = &call.epilogue;
  return "";
}

/// Scales of the matrices, a wish for the largest element, a description of emulation, or counters of other work.
bool has_additions(cublasLtMatmulDesc_t description) {
  const auto has = [&](auto... pointers) {
    return ((attribute(description, pointers, static_cast<const void*>(nullptr)) != nullptr) || ...);
  };
  return has(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER,
             CUBLASLT_MATMUL_DESC_C_SCALE_POINTER, CUBLASLT_MATMUL_DESC_D_SCALE_POINTER,
             CUBLASLT_MATMUL_DESC_AMAX_D_POINTER, kEmulation, kInCounters, kOutCounters);
}

/// Fills in a call whose product has the scalars and the matrices' addresses. Returns why the library can not do it, or
/// an empty text.
const char* read_product(Call& call, cublasLtMatmulDesc_t description, const Layout& a, const Layout& b,
                         const Layout& c, const Layout& d) {
  const auto transa = attribute(description, CUBLASLT_MATMUL_DESC_TRANSA, int32_t{CUBLAS_OP_N});
  const auto transb = attribute(description, CUBLASLT_MATMUL_DESC_TRANSB, int32_t{CUBLAS_OP_N});
  sgemm_product_t& p = call.product;
  p.m = static_cast<int64_t>(d.rows);
  p.n = static_cast<int64_t>(d.columns);
  p.k = static_cast<int64_t>(transa == CUBLAS_OP_N ? a.columns : a.rows);
  p.batch_count = d.batch_count;
  p.a = {nullptr, static_cast<sgemm_op_t>(transa), p.a.x, a.ld, a.stride, nullptr};
  p.b = {nullptr, static_cast<sgemm_op_t>(transb), p.b.x, b.ld, b.stride, nullptr};
  p.ldc = c.ld;
  p.ldd = d.ld;
  p.stride_of_d = d.stride;
  call.multiprocessors = attribute(description, CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, int32_t{0});

  if (attribute(description, CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, int32_t{CUBLAS_COMPUTE_64F}) != CUBLAS_COMPUTE_32F) {
    return "the compute type is not FP32";
  }
  if (!a.is_plain() || !b.is_plain() || !c.is_plain() || !d.is_plain()) {
    return "a matrix is not FP32, not column-major, or one of a batch of pointers";
  }
  call.is_fp32 = true;
  const bool fits = (transa == CUBLAS_OP_N ? a.rows : a.columns) == d.rows &&
                    (transb == CUBLAS_OP_N ? b.columns : b.rows) == d.columns &&
                    (transb == CUBLAS_OP_N ? b.rows : b.columns) == static_cast<uint64_t>(p.k) && c.rows == d.rows &&
                    c.columns == d.columns && a.batch_count == d.batch_count && b.batch_count == d.batch_count &&
                    c.batch_count == d.batch_count;
  if (!fits) {
    return "the sizes of the matrices differ";
  }
  if (attribute(description, CUBLASLT_MATMUL_DESC_SCALE_TYPE, int32_t{CUDA_R_32F}) != CUDA_R_32F ||
      attribute(description, CUBLASLT_MATMUL_DESC_TRANSC, int32_t{CUBLAS_OP_N}) != CUBLAS_OP_N ||
      attribute(description, CUBLASLT_MATMUL_DESC_FILL_MODE, int32_t{CUBLAS_FILL_MODE_FULL}) != CUBLAS_FILL_MODE_FULL ||
      has_additions(description)) {
    return "the description asks for more than a product";
  }
  const auto pointer_mode =
      attribute(description, CUBLASLT_MATMUL_DESC_POINTER_MODE, int32_t{CUBLASLT_POINTER_MODE_HOST});
  if (pointer_mode != CUBLASLT_POINTER_MODE_HOST && pointer_mode != CUBLASLT_POINTER_MODE_DEVICE) {
    return "alpha or beta is a vector";
  }
  call.pointer_mode = static_cast<sgemm_pointer_mode_t>(pointer_mode);

  const char* const refusal = read_epilogue(description, call);
  if (*refusal != '\0') {
    return refusal;
  }
  const bool beta_is_zero = pointer_mode == CUBLASLT_POINTER_MODE_HOST && p.beta != nullptr && *p.beta == 0.0F;
  const bool adds_another = !beta_is_zero && (p.c != p.d || c.ld != d.ld || c.stride != d.stride);
  if (p.batch_count != 1 && (p.epilogue != nullptr || adds_another)) {
    return p.epilogue != nullptr ? "an epilogue for a batch" : "C and D differ in a batch";
  }
  if (adds_another && (p.c == nullptr || p.c == p.d)) {  // without a C libsgemm reads D
    return "C is missing, or overlaps D";
  }
  p.c = adds_another ? p.c : nullptr;
  return "";
}

}  // namespace
}  // namespace drop_in

DROP_IN_EXPORTED("libcublasLt", cublasLtMatmul)
(cublasLtHandle_t lightHandle, cublasLtMatmulDesc_t computeDesc, const void* alpha, const void* A,
 cublasLtMatrixLayout_t Adesc, const void* B, cublasLtMatrixLayout_t Bdesc, const void* beta, const void* C,
 cublasLtMatrixLayout_t Cdesc, void* D, cublasLtMatrixLayout_t Ddesc, const cublasLtMatmulAlgo_t* algo, void* workspace,
 size_t workspaceSizeInBytes, cudaStream_t stream) {
  using namespace drop_in;
  static const RealFunction real(kCublasLt, "cublasLtMatmul");
  Call call;
  call.function = "cublasLtMatmul";
  call.stream = stream;
  call.workspace = workspace;
  call.workspace_bytes = workspaceSizeInBytes;
  call.product.alpha = static_cast<const float*>(alpha);
  call.product.a.x = static_cast<const float*>(A);
  call.product.b.x = static_cast<const float*>(B);
  call.product.beta = static_cast<const float*>(beta);
  call.product.c = static_cast<const float*>(C);
  call.product.d = static_cast<float*>(D);
  call.refusal = read_product(call, computeDesc, Layout(Adesc), Layout(Bdesc), Layout(Cdesc), Layout(Ddesc));
  return DropIn::instance().run(call, [&] {
    return real(lightHandle, computeDesc, alpha, A, Adesc, B, Bdesc, beta, C, Cdesc, D, Ddesc, algo, workspace,
                workspaceSizeInBytes, stream);
  });
}

DROP_IN_IS_LIKE_CUBLAS(cublasLtMatmul);
