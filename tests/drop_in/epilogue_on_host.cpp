// The drop-in's kernel, where the tests' "GPU" is the host.

#include "device.hpp"

namespace drop_in {

bool enqueue_epilogue(const Epilogue& epilogue, int64_t m, int64_t n, float* d, int64_t ldd, cudaStream_t) {
  for (int64_t column = 0; column < n; ++column) {
    for (int64_t row = 0; row < m; ++row) {
      float& element = d[row + column * ldd];
      element = finished(epilogue, element, row, column);
    }
  }
  return true;
}

}  // namespace drop_in
