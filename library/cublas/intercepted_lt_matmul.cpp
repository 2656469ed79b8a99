// cublasLtMatmul, which the drop-in takes the place of.

#include <cublasLt.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <type_traits>

#include "drop_in.hpp"
#include "exported.hpp"
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

/// The arguments of cublasLtMatmul that describe the product.
struct LtProduct {
  cublasLtMatmulDesc_t description;
  const void* alpha;
  const void* a;
  cublasLtMatrixLayout_t a_layout;
  const void* b;
  cublasLtMatrixLayout_t b_layout;
  const void* beta;
  const void* c;
  cublasLtMatrixLayout_t c_layout;
  void* d;
  cublasLtMatrixLayout_t d_layout;
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
const char* read_epilogue(cublasLtMatmulDesc_t description, std::optional<sgemm_epilogue_t>& call_epilogue) {
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
  call_epilogue = epilogue;
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

/// Fills the call in. Returns why the library can not do it, or an empty text.
const char* read_product(const LtProduct& product, Call& call) {
  const cublasLtMatmulDesc_t description = product.description;
  const Layout a(product.a_layout);
  const Layout b(product.b_layout);
  const Layout c(product.c_layout);
  const Layout d(product.d_layout);
  const auto transa = attribute(description, CUBLASLT_MATMUL_DESC_TRANSA, int32_t{CUBLAS_OP_N});
  const auto transb = attribute(description, CUBLASLT_MATMUL_DESC_TRANSB, int32_t{CUBLAS_OP_N});
  call.transa = static_cast<sgemm_op_t>(transa);
  call.transb = static_cast<sgemm_op_t>(transb);
  call.m = static_cast<int64_t>(d.rows);
  call.n = static_cast<int64_t>(d.columns);
  call.k = static_cast<int64_t>(transa == CUBLAS_OP_N ? a.columns : a.rows);
  call.batch_count = d.batch_count;
  call.alpha = static_cast<const float*>(product.alpha);
  call.beta = static_cast<const float*>(product.beta);
  call.a = {static_cast<const float*>(product.a), a.ld, a.stride};
  call.b = {static_cast<const float*>(product.b), b.ld, b.stride};
  call.c = {static_cast<float*>(product.d), d.ld, d.stride};
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
                    (transb == CUBLAS_OP_N ? b.rows : b.columns) == static_cast<uint64_t>(call.k) && c.rows == d.rows &&
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

  const char* const refusal = read_epilogue(description, call.epilogue);
  if (*refusal != '\0') {
    return refusal;
  }
  const bool beta_is_zero = pointer_mode == CUBLASLT_POINTER_MODE_HOST && call.beta != nullptr && *call.beta == 0.0F;
  const bool adds_another = !beta_is_zero && (product.c != product.d || c.ld != d.ld || c.stride != d.stride);
  if (call.batch_count != 1 && (call.epilogue || adds_another)) {
    return call.epilogue ? "an epilogue for a batch" : "C and D differ in a batch";
  }
  if (adds_another && (product.c == nullptr || product.c == product.d)) {  // without a C libsgemm reads D
    return "C is missing, or overlaps D";
  }
  if (adds_another && !call.epilogue) {
    call.epilogue.emplace();
  }
  call.added = beta_is_zero ? Matrix<const float>{call.c.data, d.ld}
                            : Matrix<const float>{static_cast<const float*>(product.c), c.ld};
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
  call.refusal = read_product({computeDesc, alpha, A, Adesc, B, Bdesc, beta, C, Cdesc, D, Ddesc}, call);
  return DropIn::instance().run(call, [&] {
    return real(lightHandle, computeDesc, alpha, A, Adesc, B, Bdesc, beta, C, Cdesc, D, Ddesc, algo, workspace,
                workspaceSizeInBytes, stream);
  });
}

DROP_IN_IS_LIKE_CUBLAS(cublasLtMatmul);
