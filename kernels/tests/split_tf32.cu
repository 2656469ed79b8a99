#include "split_tf32.hpp"

#include "ptx/cvt.cuh"

namespace sgemm::test {

SplitFloat split(float x) {
  SplitFloat parts{};
  split_for_tf32(x, parts.big, parts.small);
  return parts;
}

}  // namespace sgemm::test
