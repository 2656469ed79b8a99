#include "verify/accuracy.hpp"

namespace sgemm {

bool promises(AccuracyClass accuracy, Distribution data) {
  switch (accuracy) {
    case AccuracyClass::fp32:
      return true;
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
      // FP16 ends at 2^-24 with any scaling. Numbers lose bits if they are small beside the largest of 64 neighbours
      // along k, in a row of A or a column of B. Some elements of C are sums of such numbers alone.
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
