#include "base/usage_error.hpp"
#include "record/results_file.hpp"
#include "user/user_kernels.hpp"

#include <filesystem>
#include <system_error>

#include <fmt/format.h>

namespace sgemm {
namespace {

constexpr std::string_view NEW_KERNEL =
    R"(// C = alpha * A * B + beta * C: A is M x K, B is K x N, C is M x N, all row-major in single precision.
//
//   {1} --kernel {0} --device cpu --check --sizes 100,257x130x9  right, and within its arrays?
//   {1} --kernel cublas,1,{0} --sizes 256:4096                   how fast, on a GPU?
//
// launch: sgemm<<<dim3(ceil_div(N, 32), ceil_div(M, 32)), dim3(32, 32)>>>(M, N, K, alpha, A, lda, B, ldb, beta, C, ldc)
// requires: M <= 32 * 65535

__global__ void sgemm(int M, int N, int K, float alpha, const float* A, int lda, const float* B, int ldb, float beta,
                      float* C, int ldc) {{
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= M || column >= N) {{
    return;
  }}
  float sum = 0.0f;
  for (int k = 0; k < K; ++k) {{
    sum += A[(size_t)row * lda + k] * B[(size_t)k * ldb + column];
  }}
  float* const c = &C[(size_t)row * ldc + column];
  *c = alpha * sum + (beta == 0.0f ? 0.0f : beta * *c);  // C is not read where beta is 0: it may hold anything
}}
)";

}  // namespace

void write_new_kernel(const std::string& path) {
  std::error_code error;
  if (std::filesystem::exists(path, error)) {
    throw UsageError(fmt::format("--new-kernel: there is a file {} already; it is left as it is", path));
  }
  if (!path.ends_with(".cu")) {
    throw UsageError(fmt::format("--new-kernel: '{}' does not end with .cu, by which the runner knows a file", path));
  }
  require_writable(path);
  write_atomically(path, fmt::format(fmt::runtime(NEW_KERNEL), path, program_invocation_name));
}

}  // namespace sgemm
