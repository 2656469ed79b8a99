#pragma once

#include "base/kernel.hpp"
#include "problem/operands.hpp"
#include "verify/verify.hpp"

#include <cstdint>
#include <optional>

namespace sgemm {

/// Whether kernels of a class promise their bound (bound_factor()) on such operands. If they do not, --accuracy reports
/// an error beyond the bound without calling it incorrect. fp32, bf16_split and int8_split promise the bound on all
/// operands. fp16_split does not if the numbers of a row of A or of a column of B span many decades. tf32 and
/// fp32_split do not on denormal operands, nor fp32_strassen where rows differ in scale or are not finite.
bool promises(AccuracyClass accuracy, Distribution data);

/// The largest relative error, by Frobenius norms, that a C of sums over k in FP32 has on uniform operands; infinity
/// for other operands and classes. The bound of an element is one of the worst case and grows with k to the power of
/// 3/2, so that beyond k = 20 000 the errors of TF32, 2e-4 whatever k is, are below it.
double most_rel_err(AccuracyClass accuracy, Distribution data, std::int64_t k);

/// The assumption that holds for the roundings in sums of such operands.
Roundings roundings_of(Distribution data);

/// How far the result of one case of --accuracy is from double precision. The record has the relative error and the
/// largest part of the bound as well.
struct Accuracy {
  Verdict verdict;
  bool promised = true;             ///< whether the kernel's class promises() its bound here
  std::optional<double> vs_cublas;  ///< the relative error over that of cublasSgemm; absent if cublasSgemm is exact
};

}  // namespace sgemm
