#include "packed_operands.hpp"

#include <unordered_map>

#include "device.hpp"

namespace drop_in {
namespace {

thread_local std::unordered_map<const float*, sgemm_drop_in_packed_t> of_thread;

sgemm_packed_t find(const Call& call, const Matrix<const float>& matrix, int64_t lines, bool along_k) {
  const auto found = of_thread.find(matrix.data);
  if (found == of_thread.end()) {
    return nullptr;
  }
  const sgemm_drop_in_packed_t& packed = found->second;
  const bool fits = packed.ld == matrix.ld && packed.lines == lines && packed.k == call.k &&
                    (packed.along_k != 0) == along_k && packed.accuracy == call.accuracy &&
                    packed.stream == call.stream;
  return fits ? packed.packed : nullptr;
}

}  // namespace

void set_packed_operands(const sgemm_drop_in_packed_t* operands, size_t count) {
  of_thread.clear();
  for (size_t i = 0; i < count; ++i) {
    of_thread[operands[i].x] = operands[i];
  }
}

PackedOperands packed_operands_of(const Call& call) {
  if (of_thread.empty() || call.refused() || call.batch_count != 1 || call.by_address ||
      call.pointer_mode != SGEMM_POINTER_MODE_HOST) {
    return {};
  }
  // Matrices are column-major: lines of A lie along k if it is transposed, and those of B if it is not.
  PackedOperands packed{find(call, call.a, call.m, call.transa != SGEMM_OP_N),
                        find(call, call.b, call.n, call.transb == SGEMM_OP_N)};
  return packed.any() && is_capturing(call.stream) ? PackedOperands{} : packed;
}

}  // namespace drop_in
