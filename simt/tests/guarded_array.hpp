#pragma once

#include <cstddef>
#include <vector>

namespace simt::test {

/// Floats with others around them: what lies next to one array is no other array. Aligned to 16 bytes.
class GuardedArray {
 public:
  GuardedArray(std::size_t size, float value) : storage_(size + 2 * GUARD, value) {}

  float* data() { return storage_.data() + GUARD; }

 private:
  static constexpr std::size_t GUARD = 64;
  std::vector<float> storage_;
};

}  // namespace simt::test
