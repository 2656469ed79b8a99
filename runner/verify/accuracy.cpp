#include "verify/accuracy.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sgemm {

double most_rel_err(AccuracyClass accuracy, Distribution data, std::int64_t k) {
  // Errors of sums that are added one by one grow with the square root of k. Those of tensor cores, which cut off
  // digits of sums, grow with k. From 8192 on they would pass for TF32.
  constexpr double EPS = 0x1p-24;
  const double depth = static_cast<double>(k);
  const double most = std::max(std::clamp(0x1p-26 * depth, 0x1p-19, 0x1p-14), EPS * std::sqrt(depth));
  const bool of_one_scale = data == Distribution::uniform || data == Distribution::uniform01 ||
                            data == Distribution::normal || data == Distribution::integers;
  const bool in_fp32 = accuracy == AccuracyClass::fp32 || accuracy == AccuracyClass::fp32_strassen;
  return in_fp32 && of_one_scale ? most : std::numeric_limits<double>::infinity();
}

bool promises(AccuracyClass accuracy, Distribution data) {
  switch (accuracy) {
    case AccuracyClass::fp32:
      return true;
    case AccuracyClass::fp32_strassen:
      // Sums of blocks bring the errors of the largest rows to all others, an infinity or NaN to all of C, and numbers
      // near FLT_MAX beyond it.
      return data != Distribution::lognormal4 && data != Distribution::huge && data != Distribution::inf &&
             data != Distribution::nan && data != Distribution::rank_one && data != Distribution::outliers &&
             data != Distribution::huge_row && data != Distribution::rank_one_b && data != Distribution::huge_column;
    case AccuracyClass::tf32:
    case AccuracyClass::fp32_split:
      // The bounds count roundings relative to the operands. Denormal operands lose more: TF32 ends at 2^-136, and the
      // small term of an operand that was split loses bits where the operand is below 2^-113.
      return data != Distribution::denormals;
    case AccuracyClass::bf16_split:
      // Scaling brings the largest of 64 neighbours along k into range. BF16 has the exponents of a float, so the terms
      // hold numbers that are smaller by 2^-117.
      return true;
    case AccuracyClass::fp16_split:
      // FP16 ends at 2^-24 with any scaling. Numbers lose bits if they are small beside the largest of their row of A
      // or column of B, or where kernels scale piece by piece of 64 neighbours along k. Some elements of C are sums of
      // such numbers alone.
      return data != Distribution::lognormal4;
    case AccuracyClass::int8_split:
      // The bound looks at the largest numbers of a row and a column. It is a loose one where others are far smaller.
      return true;
  }
  return true;
}

Roundings roundings_of(Distribution data) {
  return data == Distribution::lognormal4 ? Roundings::any : Roundings::independent;
}

}  // namespace sgemm
