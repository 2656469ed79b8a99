#include "split_parts.hpp"

#include "engine/int8_operands.cuh"
#include "engine/split_terms.cuh"
#include "ptx/cvt.cuh"

#include <cstddef>

namespace sgemm::test::split_parts {
namespace {

static_assert(SCALED_EXPONENT == sgemm::SCALED_EXPONENT && SCALING_STEP == sgemm::SCALING_STEP);

namespace int8 = sgemm::split_product::int8;
static_assert(LARGEST_INTEGER == int8::LARGEST_INTEGER && LARGEST_EXPONENT == int8::LARGEST_EXPONENT &&
              UNSCALABLE_LINE == int8::UNSCALABLE_LINE);

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

unsigned magnitude(float x) { return sgemm::magnitude(x); }
int scaling_exponent(unsigned largest) { return sgemm::scaling_exponent(largest); }
float scaled(float x, int exponent) { return sgemm::scaled(x, exponent); }

Parts<2> split_to_fp16(float x, float y) { return split<Fp16, 2>(x, y); }
Parts<3> split_to_bf16(float x, float y) { return split<Bf16, 3>(x, y); }

int scale_code(unsigned largest) { return int8::scale_code(largest); }
std::array<int, 3> digits(float x, int code) {
  const unsigned bytes = int8::Scale(code).digits(x);
  const auto digit = [&](unsigned byte) { return static_cast<int>(static_cast<signed char>(bytes >> 8 * byte)); };
  return {digit(2), digit(1), digit(0)};
}

}  // namespace sgemm::test::split_parts
