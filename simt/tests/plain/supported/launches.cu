// Launches: template arguments, kernels in variables and namespaces, all four parts of a configuration, arguments that
// are converted, macros, several lines, brackets with blanks.
#include <cuda_runtime.h>

#define LAUNCH(kernel, ...) (kernel)<<<1, 16>>>(__VA_ARGS__)

namespace launches_of {
template <int SHIFT, bool ADD = (SHIFT > 4)>
__global__ void shifted(const float* in, float* out, double factor) {
  const int at = SHIFT + static_cast<int>(threadIdx.x);
  out[at] = static_cast<float>(in[at] * factor) + (ADD ? 1.0f : 0.0f);
}
}  // namespace launches_of

template <typename T>
__global__ void __launch_bounds__(32) deduced(const T* in, T* out, const float* nothing) {
  out[48 + threadIdx.x] = nothing == nullptr ? in[48 + threadIdx.x] : T(0);
}

// Pointers to kernels where no launch copies them: the host reads them.
void (*deduced_of_floats)(const float*, float*, const float*) = deduced<float>;
struct Kernels {
  void (*kernels[2])(const float*, float*, double);
  void launch(int number, const float* in, float* out) const { kernels[number]<<<1, 8>>>(in, out, 2); }
};
static Kernels of_kernels{{launches_of::shifted<0>, launches_of::shifted<8, false>}};

void launches(const float* in, float* out) {
  const dim3 grid(1);
  cudaStream_t stream = nullptr;
  launches_of::shifted<0><<<grid, 8, 4 * sizeof(float), stream>>>(in, out, 2);
  auto kernel = launches_of::shifted<32, false>;
  // clang-format off
  launches_of::shifted<8 << 1, (8 > 4)>
      <<<dim3(1),
         16>>>(in, out, 2.0f);
  if (out != nullptr) kernel << <1, 32 >> 1, 0 >> > (in, out, 2);
  // clang-format on
  of_kernels.kernels[1]<<<1, 8>>>(in, out, 2);
  (&of_kernels)->launch(0, in, out);
  LAUNCH(deduced, in, out, static_cast<const float*>(NULL));
  deduced<<<1, 16>>>(in, out, nullptr);
  (*deduced_of_floats)<<<1, 16>>>(in, out, nullptr);
}

float launches_expected(const float* in, int i) {
  return i < 16 ? 2 * in[i] : i < 32 ? 2 * in[i] + 1 : i < 48 ? 2 * in[i] : in[i];
}
