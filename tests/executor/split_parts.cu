#include "split_parts.hpp"

#include "engine/split_terms.cuh"
#include "ptx/cvt.cuh"

#include <cstddef>

namespace sgemm::test::split_parts {
namespace {

static_assert(SCALED_EXPONENT == sgemm::SCALED_EXPONENT && SCALING_STEP == sgemm::SCALING_STEP);

template <class Format, int PARTS>
Parts<PARTS> split(float x, float y) {
  unsigned pairs[PARTS];
  split_pair<Format>(x, y, pairs);
  Parts<PARTS> parts;
  for (std::size_t i = 0; i < PARTS; ++i) {
    const float2 values = Format::unpack(pairs[i]);
    parts.x[i] = values.x;
    parts.y[i] = values.y;
  }
  return parts;
}

}  // namespace

float power_of_2(int exponent) { return sgemm::power_of_2(exponent); }
unsigned magnitude(float x) { return sgemm::magnitude(x); }
int scaling_exponent(unsigned largest) { return sgemm::scaling_exponent(largest); }
float scaled(float x, int exponent) { return sgemm::scaled(x, exponent); }

Parts<2> split_to_fp16(float x, float y) { return split<Fp16, 2>(x, y); }
Parts<3> split_to_bf16(float x, float y) { return split<Bf16, 3>(x, y); }

}  // namespace sgemm::test::split_parts
