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

/// D as an operand.
sgemm_operand_t d_of(const sgemm_product_t& p) {
  return {nullptr, SGEMM_OP_N, p.d, p.ldd, p.stride_of_d, p.addresses_of_d};
}

/// Between the matrices of a batch. Where there are addresses, it is not looked at.
std::int64_t stride_of(const sgemm_operand_t& operand) { return operand.addresses == nullptr ? operand.stride : 0; }

bool has_addresses(const sgemm_product_t& p) {
  return p.a.addresses != nullptr || p.b.addresses != nullptr || p.addresses_of_d != nullptr;
}

/// Whether C is given, and is not D itself.
bool has_other_c(const sgemm_product_t& p) { return p.c != nullptr && (p.c != p.d || p.ldc != p.ldd); }

/// Whether the leading dimension of a batch of matrices, whose ops have this many rows and columns, is enough, and the
/// last element can be addressed.
bool has_room(sgemm_order_t order, const sgemm_operand_t& matrix, std::int64_t rows, std::int64_t columns,
              std::int64_t batch_count) {
  const bool by_rows = (order == SGEMM_ORDER_ROW_MAJOR) == (matrix.op == SGEMM_OP_N);
  const std::int64_t lines = by_rows ? rows : columns;
  const std::int64_t length = by_rows ? columns : rows;
  const auto times_before_last = [](std::int64_t distance, std::int64_t count) {
    return static_cast<double>(distance) * static_cast<double>(std::max<std::int64_t>(count - 1, 0));
  };
  const double extent = times_before_last(matrix.ld, lines) + times_before_last(stride_of(matrix), batch_count) +
                        static_cast<double>(length);
  return matrix.ld >= std::max<std::int64_t>(1, length) && extent <= LARGEST_EXTENT;
}

/// The same for a matrix of the size and order of D.
bool has_room_for_d(const sgemm_product_t& p, std::int64_t ld) {
  return has_room(p.order, matrix_of(SGEMM_OP_N, nullptr, ld), p.m, p.n, 1);
}

template <class T>
bool is_pointer(const T* pointer) {
  return pointer != nullptr && reinterpret_cast<std::uintptr_t>(pointer) % alignof(T) == 0;
}

/// An enumerator as a number: a program in C may have any number there, and C++ may not look at it as an enumerator.
template <class Enumerator>
int number_of(const Enumerator& enumerator) {
  int number = 0;
  static_assert(sizeof number == sizeof enumerator);
  std::memcpy(&number, &enumerator, sizeof number);
  return number;
}

bool has_valid_epilogue(const sgemm_product_t& p, const sgemm_epilogue_t& epilogue) {
  const sgemm_activation_t activation = epilogue.activation;
  const bool of_relu = activation == SGEMM_ACTIVATION_RELU || activation == SGEMM_ACTIVATION_RELU_GRADIENT;
  const bool of_gelu = activation == SGEMM_ACTIVATION_GELU || activation == SGEMM_ACTIVATION_GELU_GRADIENT;
  const int bias_of = number_of(epilogue.bias_of);
  if ((!of_relu && !of_gelu && activation != SGEMM_ACTIVATION_NONE) ||
      (bias_of != SGEMM_BIAS_OF_ROWS && bias_of != SGEMM_BIAS_OF_COLUMNS)) {
    return false;
  }
  if (epilogue.aux == nullptr) {
    return activation != SGEMM_ACTIVATION_RELU_GRADIENT && activation != SGEMM_ACTIVATION_GELU_GRADIENT;
  }
  return activation != SGEMM_ACTIVATION_NONE && has_room_for_d(p, epilogue.aux_ld) &&
         (of_gelu || epilogue.aux_ld % SGEMM_MASK_ALIGNMENT == 0);
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

bool has_valid_shape(sgemm_order_t order, sgemm_op_t op, std::int64_t rows, std::int64_t columns, std::int64_t ld) {
  return is_order(order) && is_op(op) && has_room(order, matrix_of(op, nullptr, ld), rows, columns, 1);
}

bool has_valid_shape(const sgemm_product_t& p) {
  const std::int64_t length_of_d = p.order == SGEMM_ORDER_ROW_MAJOR ? p.n : p.m;
  const bool is_plain =
      is_order(p.order) && is_op(p.a.op) && is_op(p.b.op) && std::min({p.m, p.n, p.k, p.batch_count}) >= 0 &&
      std::min({stride_of(p.a), stride_of(p.b), stride_of(d_of(p))}) >= 0 &&
      has_room(p.order, p.a, p.m, p.k, p.batch_count) && has_room(p.order, p.b, p.k, p.n, p.batch_count) &&
      has_room(p.order, d_of(p), p.m, p.n, p.batch_count) &&
      (has_addresses(p) || p.batch_count <= 1 || p.stride_of_d >= length_of_d);
  if (!is_plain || (p.epilogue == nullptr && !has_other_c(p))) {
    return is_plain;
  }
  return p.batch_count == 1 && !has_addresses(p) && has_room_for_d(p, p.c == nullptr ? p.ldd : p.ldc) &&
         (p.epilogue == nullptr || has_valid_epilogue(p, *p.epilogue));
}

bool has_valid_pointers(const sgemm_product_t& p, sgemm_pointer_mode_t mode) {
  if (!is_pointer(p.alpha) || !is_pointer(p.beta)) {
    return false;
  }
  const auto is_scaled = [&](const float* scalar) { return mode == SGEMM_POINTER_MODE_DEVICE || *scalar != 0.0F; };
  const auto has_place = [by_address = has_addresses(p)](const sgemm_operand_t& matrix) {
    return by_address ? is_pointer(matrix.addresses) : is_pointer(matrix.x);
  };
  const auto is_aligned_or_null = [](const void* data) { return reinterpret_cast<std::uintptr_t>(data) % 4 == 0; };
  const bool reads_operands = p.k > 0 && is_scaled(p.alpha);
  return has_place(d_of(p)) && (!reads_operands || (has_place(p.a) && has_place(p.b))) &&
         (!has_other_c(p) || (p.c != p.d && (!is_scaled(p.beta) || is_pointer(p.c)))) &&
         (p.epilogue == nullptr || (is_aligned_or_null(p.epilogue->bias) && is_aligned_or_null(p.epilogue->aux)));
}

GemmBatch row_major(const sgemm_product_t& product, sgemm_pointer_mode_t mode) {
  sgemm_product_t rows = product;
  if (product.order == SGEMM_ORDER_COLUMN_MAJOR) {
    std::swap(rows.m, rows.n);
    std::swap(rows.a, rows.b);
  }
  GemmBatch batch;
  GemmProblem& p = batch.first;
  p.m = rows.m;
  p.n = rows.n;
  p.k = rows.k;
  p.a = rows.a.x;
  p.lda = rows.a.ld;
  p.b = rows.b.x;
  p.ldb = rows.b.ld;
  p.c = rows.d;
  p.ldc = rows.ldd;
  p.a_transposed = rows.a.op != SGEMM_OP_N;
  p.b_transposed = rows.b.op != SGEMM_OP_N;
  if (mode == SGEMM_POINTER_MODE_DEVICE) {
    p.alpha_at = rows.alpha;
    p.beta_at = rows.beta;
  } else {  // an alpha of 0 on the GPU would have to hide a NaN that is packed
    p.packed.a = tiles_of(rows.a.packed, p.packed.method);
    p.packed.b = tiles_of(rows.b.packed, p.packed.method);
    if (rows.alpha != nullptr && rows.beta != nullptr) {
      p.alpha = *rows.alpha;
      p.beta = *rows.beta;
    }
  }
  batch.stride_a = stride_of(rows.a);
  batch.stride_b = stride_of(rows.b);
  batch.stride_c = stride_of(d_of(rows));
  // Arrays of A and B may be null where no matrix is read. cuBLAS reads addresses even then.
  batch.each_a = rows.a.addresses != nullptr ? rows.a.addresses : rows.addresses_of_d;
  batch.each_b = rows.b.addresses != nullptr ? rows.b.addresses : rows.addresses_of_d;
  batch.each_c = rows.addresses_of_d;
  batch.count = rows.batch_count;
  return batch;
}

GemmEpilogue row_major_epilogue(const sgemm_product_t& product) {
  GemmEpilogue epilogue;
  if (product.epilogue != nullptr) {
    epilogue.activation = product.epilogue->activation;
    epilogue.bias = product.epilogue->bias;
    epilogue.bias_of_rows =
        (product.epilogue->bias_of == SGEMM_BIAS_OF_ROWS) == (product.order == SGEMM_ORDER_ROW_MAJOR);
    epilogue.aux = product.epilogue->aux;
    epilogue.aux_ld = product.epilogue->aux_ld;
  }
  epilogue.c = product.c != nullptr ? product.c : product.d;
  epilogue.ldc = product.c != nullptr ? product.ldc : product.ldd;
  epilogue.c_is_another_matrix = epilogue.c != product.d;
  return epilogue;
}

}  // namespace sgemm
