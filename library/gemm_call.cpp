#include "gemm_call.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace sgemm {
namespace {

/// Elements from the first to the last one of an operand. Their distance in bytes has to fit into 64 bits.
constexpr double LARGEST_EXTENT = 0x1p61;

bool is_order(sgemm_order_t order) { return order == SGEMM_ORDER_ROW_MAJOR || order == SGEMM_ORDER_COLUMN_MAJOR; }
bool is_op(sgemm_op_t op) { return op == SGEMM_OP_N || op == SGEMM_OP_T || op == SGEMM_OP_C; }

/// Whether the leading dimension of a batch of matrices, whose ops have this many rows and columns, is enough, and the
/// last element can be addressed.
bool has_room(sgemm_order_t order, sgemm_op_t op, std::int64_t rows, std::int64_t columns, const CallMatrix& matrix,
              std::int64_t batch_count) {
  const bool by_rows = (order == SGEMM_ORDER_ROW_MAJOR) == (op == SGEMM_OP_N);
  const std::int64_t lines = by_rows ? rows : columns;
  const std::int64_t length = by_rows ? columns : rows;
  const auto times_before_last = [](std::int64_t distance, std::int64_t count) {
    return static_cast<double>(distance) * static_cast<double>(std::max<std::int64_t>(count - 1, 0));
  };
  return matrix.ld >= std::max<std::int64_t>(1, length) && times_before_last(matrix.ld, lines) +
                                                                   times_before_last(matrix.stride, batch_count) +
                                                                   static_cast<double>(length) <=
                                                               LARGEST_EXTENT;
}

template <class T>
bool is_pointer(const T* pointer) {
  return pointer != nullptr && reinterpret_cast<std::uintptr_t>(pointer) % alignof(T) == 0;
}

bool has_place(const CallMatrix& matrix, bool by_address) {
  return by_address ? is_pointer(matrix.addresses) : is_pointer(matrix.data);
}

/// An enumerator as a number: a program in C may have any number there, and C++ may not look at it as an enumerator.
template <class Enumerator>
int number_of(const Enumerator& enumerator) {
  int number = 0;
  static_assert(sizeof number == sizeof enumerator);
  std::memcpy(&number, &enumerator, sizeof number);
  return number;
}

/// The operand tiles of a packed operand, and whose they are. Of one accuracy and one k there is one method.
const void* tiles_of(const sgemm_packed* packed, Method& method) {
  if (packed == nullptr) {
    return nullptr;
  }
  method = packed->method;
  return packed->tiles;
}

}  // namespace

bool has_valid_shape(sgemm_order_t order, sgemm_op_t op, std::int64_t rows, std::int64_t columns,
                     const CallMatrix& operand) {
  return is_order(order) && is_op(op) && has_room(order, op, rows, columns, operand, 1);
}

bool has_valid_shape(const GemmCall& call) {
  const std::int64_t length_of_c = call.order == SGEMM_ORDER_ROW_MAJOR ? call.n : call.m;
  return is_order(call.order) && is_op(call.transa) && is_op(call.transb) &&
         std::min({call.m, call.n, call.k, call.batch_count}) >= 0 &&
         std::min({call.a.stride, call.b.stride, call.c.stride}) >= 0 &&
         has_room(call.order, call.transa, call.m, call.k, call.a, call.batch_count) &&
         has_room(call.order, call.transb, call.k, call.n, call.b, call.batch_count) &&
         has_room(call.order, SGEMM_OP_N, call.m, call.n, call.c, call.batch_count) &&
         (call.by_address || call.batch_count <= 1 || call.c.stride >= length_of_c);
}

bool has_valid_pointers(const GemmCall& call, sgemm_pointer_mode_t mode) {
  if (!is_pointer(call.alpha) || !is_pointer(call.beta)) {
    return false;
  }
  const bool reads_nothing = call.k == 0 || (mode == SGEMM_POINTER_MODE_HOST && *call.alpha == 0.0F);
  return has_place(call.c, call.by_address) &&
         (reads_nothing || (has_place(call.a, call.by_address) && has_place(call.b, call.by_address)));
}

GemmBatch row_major(const GemmCall& call, sgemm_pointer_mode_t mode) {
  GemmCall rows = call;
  if (call.order == SGEMM_ORDER_COLUMN_MAJOR) {
    std::swap(rows.m, rows.n);
    std::swap(rows.a, rows.b);
    std::swap(rows.transa, rows.transb);
  }
  GemmBatch batch;
  GemmProblem& p = batch.first;
  p.m = rows.m;
  p.n = rows.n;
  p.k = rows.k;
  p.a = rows.a.data;
  p.lda = rows.a.ld;
  p.b = rows.b.data;
  p.ldb = rows.b.ld;
  p.c = const_cast<float*>(rows.c.data);
  p.ldc = rows.c.ld;
  p.a_transposed = rows.transa != SGEMM_OP_N;
  p.b_transposed = rows.transb != SGEMM_OP_N;
  if (mode == SGEMM_POINTER_MODE_DEVICE) {
    p.alpha_at = call.alpha;
    p.beta_at = call.beta;
  } else if (call.alpha != nullptr && call.beta != nullptr) {
    p.alpha = *call.alpha;
    p.beta = *call.beta;
  }
  if (mode == SGEMM_POINTER_MODE_HOST) {  // an alpha of 0 on the GPU would have to hide a NaN that is packed
    p.packed.a = tiles_of(rows.a.packed, p.packed.method);
    p.packed.b = tiles_of(rows.b.packed, p.packed.method);
  }
  batch.stride_a = rows.a.stride;
  batch.stride_b = rows.b.stride;
  batch.stride_c = rows.c.stride;
  // Arrays of A and B may be null where no matrix is read. cuBLAS reads addresses even then.
  batch.each_a = rows.a.addresses != nullptr ? rows.a.addresses : rows.c.addresses;
  batch.each_b = rows.b.addresses != nullptr ? rows.b.addresses : rows.c.addresses;
  batch.each_c = const_cast<float* const*>(rows.c.addresses);
  batch.count = rows.batch_count;
  return batch;
}

bool has_valid_shape(const GemmCall& call, const EpilogueCall& more) {
  const sgemm_epilogue_t* const epilogue = more.epilogue;
  if (epilogue == nullptr || !has_room(call.order, SGEMM_OP_N, call.m, call.n, more.c, 1)) {
    return false;
  }
  const sgemm_activation_t activation = epilogue->activation;
  const bool of_relu = activation == SGEMM_ACTIVATION_RELU || activation == SGEMM_ACTIVATION_RELU_GRADIENT;
  const bool of_gelu = activation == SGEMM_ACTIVATION_GELU || activation == SGEMM_ACTIVATION_GELU_GRADIENT;
  const int bias_of = number_of(epilogue->bias_of);
  const bool enumerators = (of_relu || of_gelu || activation == SGEMM_ACTIVATION_NONE) &&
                           (bias_of == SGEMM_BIAS_OF_ROWS || bias_of == SGEMM_BIAS_OF_COLUMNS);
  if (!enumerators || (epilogue->aux == nullptr ? activation == SGEMM_ACTIVATION_RELU_GRADIENT ||
                                                      activation == SGEMM_ACTIVATION_GELU_GRADIENT
                                                : activation == SGEMM_ACTIVATION_NONE)) {
    return false;
  }
  return epilogue->aux == nullptr ||
         (has_room(call.order, SGEMM_OP_N, call.m, call.n, {nullptr, epilogue->aux_ld}, 1) &&
          (of_gelu || epilogue->aux_ld % SGEMM_MASK_ALIGNMENT == 0));
}

bool has_valid_pointers(const GemmCall& call, const EpilogueCall& more, sgemm_pointer_mode_t mode) {
  const bool reads_c = mode == SGEMM_POINTER_MODE_DEVICE || *call.beta != 0.0F;
  const auto is_aligned_or_null = [](const void* data) { return reinterpret_cast<std::uintptr_t>(data) % 4 == 0; };
  return (!reads_c || is_pointer(more.c.data)) && (more.c.data != call.c.data || more.c.ld == call.c.ld) &&
         is_aligned_or_null(more.epilogue->bias) && is_aligned_or_null(more.epilogue->aux);
}

GemmEpilogue row_major(const GemmCall& call, const EpilogueCall& more) {
  GemmEpilogue epilogue;
  epilogue.activation = more.epilogue->activation;
  epilogue.bias = more.epilogue->bias;
  epilogue.bias_of_rows = (more.epilogue->bias_of == SGEMM_BIAS_OF_ROWS) == (call.order == SGEMM_ORDER_ROW_MAJOR);
  epilogue.aux = more.epilogue->aux;
  epilogue.aux_ld = more.epilogue->aux_ld;
  epilogue.c = more.c.data;
  epilogue.ldc = more.c.ld;
  epilogue.c_is_another_matrix = more.c.data != call.c.data;
  return epilogue;
}

}  // namespace sgemm
