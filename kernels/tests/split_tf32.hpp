#pragma once

namespace sgemm::test {

struct SplitFloat {
  float big;
  float small;
};

/// The parts of `x` that tensor cores multiply, by code that is not for sm_90.
SplitFloat split(float x);

}  // namespace sgemm::test
