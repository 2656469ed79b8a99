#include "verify/accuracy.hpp"

#include "base/outcome.hpp"
#include "record/record.hpp"

#include <fmt/format.h>

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

void judge(const Verdict& verdict, std::string_view when, Record& record) {
  record.rel_err = verdict.rel_err;
  record.max_bound_ratio = verdict.max_bound_ratio;
  record.verified = verdict.correct();
  if (record.data) {
    record.errors = Accuracy{verdict, promises(record.accuracy, *record.data), std::nullopt};
  }
  const bool excused = record.errors && !record.errors->promised;
  if (!verdict.correct() && !excused) {
    throw CaseStopped(Outcome::incorrect, fmt::format("{}{}", when, verdict.describe()));
  }
}

}  // namespace sgemm
