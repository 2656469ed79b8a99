#include "verify/accuracy.hpp"

namespace sgemm {

bool promises(AccuracyClass accuracy, Distribution data) {
  switch (accuracy) {
    case AccuracyClass::fp32:
      return true;
    case AccuracyClass::tf32:
      // The bound counts roundings relative to the operands. A denormal one loses more: TF32 ends at 2^-136.
      return data != Distribution::denormals;
    case AccuracyClass::fp32_split:
      // The small part of an operand below 2^-113 loses bits.
      return data != Distribution::denormals;
    case AccuracyClass::bf16_split:
      // Scaling brings the largest of 64 neighbours along k into range, and BF16 has the exponents of a float: the
      // parts hold what is smaller by 2^-117.
      return true;
    case AccuracyClass::fp16_split:
      // FP16 ends at 2^-24, whatever the scaling. What is small beside the largest of 64 neighbours along k, in a row
      // of A or a column of B, loses bits, and is all that some elements are made of.
      return data != Distribution::lognormal4;
  }
  return true;
}

Roundings roundings_of(Distribution data) {
  return data == Distribution::lognormal4 ? Roundings::any : Roundings::independent;
}

}  // namespace sgemm
