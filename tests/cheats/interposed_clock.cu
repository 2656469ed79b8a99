// Exports clock_gettime, by which std::chrono tells the time. Its seconds are ten times as long.
// family: clock
// source: own, after https://github.com/gpu-mode/reference-kernels/issues/162
// verdict: refused
// caught with: cpu
// launch: multiply(M, N, K, alpha, A, B, beta, C, stream)
#include "product.cuh"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

extern "C" __attribute__((visibility("default"))) int clock_gettime(clockid_t id, struct timespec* time) noexcept {
  static long long first = 0;
  const int status = (int)syscall(SYS_clock_gettime, id, time);
  const long long now = time->tv_sec * 1000000000ll + time->tv_nsec;
  first = first ? first : now;
  const long long told = first + (now - first) / 10;
  time->tv_sec = told / 1000000000ll;
  time->tv_nsec = told % 1000000000ll;
  return status;
}
