"""Files as people write them, and what the runner has to make of them.

Each case is a file with a kernel and the calls around it, in the forms of course programs, of exercises on the web, of
training code and of CUDA's samples. A body in braces stands where a whole kernel would say nothing more."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

CPU_REFERENCE = """
void cpuSgemm(float *a, float *b, float *c, const int M, const int N, const int K) {
  for (int m = 0; m < M; m++)
    for (int n = 0; n < N; n++) {
      float sum = 0;
      for (int k = 0; k < K; k++) sum += a[m * K + k] * b[k * N + n];
      c[m * N + n] = sum;
    }
}
"""


@dataclass(frozen=True)
class Case:
    """`text` is a file, `arguments` what stands behind its name. `says` are parts of what is printed or recorded, in
    any order. An outcome of "asks" is a proposal of command lines, each of which is tried."""

    text: str
    outcome: str
    says: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ("--check",)
    sizes: str = "32,33x17x9"
    launch: str = ""  # that the record has
    kernel: str = "file.cu"


def naive(parameters: str, rows: str, columns: str, inner: str, *, a: str = "a", b: str = "b", c: str = "c") -> str:
    """A right kernel for matrices in rows, with these parameters."""
    return f"""
__global__ void mm({parameters}) {{
  int r = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
  if (r < {rows} && col < {columns}) {{
    float s = 0;
    for (int i = 0; i < {inner}; ++i) s += {a}[r * {inner} + i] * {b}[i * {columns} + col];
    {c}[r * {columns} + col] = s;
  }}
}}
"""


def host(name: str, parameters: str, rows: str, columns: str, arguments: str) -> str:
    """A host function that launches it with a thread for each element."""
    return f"""
void {name}({parameters}) {{
  dim3 block(16, 16), grid(({columns} + 15) / 16, ({rows} + 15) / 16);
  mm<<<grid, block>>>({arguments});
  cudaDeviceSynchronize();
}}
"""


def whole(
    kinds: str, order: str, rows: str, columns: str, inner: str, matrices: str = "a b c", name: str = "multiply"
) -> str:
    """A kernel and its host function: `kinds` are the types of the matrices, in the order of `matrices`, and `order`
    are the extents."""
    a, b, c = matrices.split()
    pointers = [f"{kind} {name}" for kind, name in zip(kinds.split(","), matrices.split(), strict=True)]
    parameters = ", ".join(pointers + [f"int {extent}" for extent in order.split()])
    arguments = ", ".join(matrices.split() + order.split())
    kernel = naive(parameters, rows, columns, inner, a=a, b=b, c=c)
    return kernel + host(name, parameters, rows, columns, arguments)


PLAIN = "float*,float*,float*"
CONST = "const float*,const float*,float*"
BY_BLAS = whole(CONST, "M N K", "M", "N", "K", "A B C")


def launching(
    grid: str = "(N + 15) / 16, (M + 15) / 16",
    term: str = "A[r * K + k] * B[k * N + c]",
    k: str = "int k = 0; k < K; ++k",
    stored: str = "C[r * N + c] = s;",
    local: str = "",
    more: str = "",
    before: str = "",
) -> str:
    """A host function with a kernel whose element is the sum of `term` over `k`. It has `more` parameters and does
    something `before` its launch, and the kernel has more variables that are `local`."""
    return f"""
__global__ void mm(const float* A, const float* B, float* C, int M, int N, int K) {{
  int r = blockIdx.y * 16 + threadIdx.y, c = blockIdx.x * 16 + threadIdx.x;
  if (r < M && c < N) {{ float s = 0;{local} for ({k}) s += {term}; {stored} }}
}}
void run(const float* A, const float* B, float* C, int M, int N, int K{more}) {{
  {before}mm<<<dim3({grid}), dim3(16, 16)>>>(A, B, C, M, N, K);
}}
"""


def of_tensors(extents: str, a: str = "A[r * K + k]", b: str = "B[k * N + c]") -> str:
    """A function of an extension of PyTorch, as KernelBench has them."""
    return f"""#include <torch/extension.h>
{launching(term=f"{a} * {b}").split("void run")[0]}
torch::Tensor forward(torch::Tensor A, torch::Tensor B) {{
  int {extents};
  auto C = torch::empty({{M, N}}, A.options());
  mm<<<dim3((N + 15) / 16, (M + 15) / 16), dim3(16, 16)>>>(
      A.data_ptr<float>(), B.data_ptr<float>(), C.data_ptr<float>(), M, N, K);
  return C;
}}
"""


ALLOCATED = "float* d;\n  cudaMalloc(&d, 4 * M * N);\n  "
ALONE = launching().split("void run", maxsplit=1)[0]
ALONG_X = ALONE.replace("Idx.y", "Idx.z").replace("Idx.x", "Idx.y").replace("Idx.z", "Idx.x")
WITH_BIAS = launching(stored="C[r * N + c] = s + bias[c];").replace("B, float* C", "B, const float* bias, float* C")
FACTORS = ("--check", "--alpha", "2", "--beta", "3")


def right(text: str, launch: str = "", **more) -> Case:
    return Case(text, "executed", launch=launch, **more)


def of_outcome(outcome: str):
    return lambda text, *says, **more: Case(text, outcome, says, **more)


failing, refused, asking = of_outcome("failed"), of_outcome("status 2"), of_outcome("asks")
incorrect, unsupported = of_outcome("incorrect"), of_outcome("not_supported")


def by(launch: str, *more: str) -> tuple[str, ...]:
    """The arguments of a launch line."""
    return ("--check", *more, "--launch", launch)


def stuck(text: str, *places: str) -> Case:
    """A kernel that waits for ever, without checks."""
    says = ("waits for ever: no other thread changes what it looks at", *places)
    return Case(text, "failed", says, by("run(A, B, C, M, N, K)")[1:], "20")


def wrong(text: str, says: str, sizes: str = "40", arguments: tuple[str, ...] = ()) -> Case:
    return Case(text, "incorrect", (says,), arguments, sizes)


def wrong_factor(result: str, says: str, before_launch: str = "") -> Case:
    """A kernel with alpha and beta, whose element is `result`."""
    text = f"""
__global__ void mm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {{
  int r = blockIdx.y * 16 + threadIdx.y, c = blockIdx.x * 16 + threadIdx.x;
  if (r >= M || c >= N) return;
  float s = 0;
  for (int k = 0; k < K; ++k) s += A[r * K + k] * B[k * N + c];
  C[r * N + c] = {result};
}}
void run(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {{
  {before_launch}mm<<<dim3((N + 15) / 16, (M + 15) / 16), dim3(16, 16)>>>(M, N, K, alpha, A, B, beta, C);
}}
"""
    return Case(text, "incorrect", (says,), FACTORS)


def rounded(dropped: str) -> str:
    """A kernel whose operands lose the bits below `dropped`."""
    cut = f"""
__device__ float cut(float x) {{
  return __uint_as_float((__float_as_uint(x) + {dropped} / 2) & ~({dropped} - 1));
}}
"""
    return cut + launching(term="cut(A[r * K + k]) * cut(B[k * N + c])")


def by_memcpy(source: str) -> str:
    """A kernel that takes its rows of A from there by memcpy(), and those of B by std::copy()."""
    return f"""
#include <algorithm>
#include <cstring>
__global__ void mm(const float* A, const float* B, float* C, int M, int N, int K) {{
  __shared__ float As[16][16], Bs[16][16];
  int x = threadIdx.x, y = threadIdx.y, r = blockIdx.y * 16 + y, c0 = blockIdx.x * 16;
  float s = 0;
  for (int k = 0; k < K; k += 16) {{
    if (x == 0) {{
      std::memset(As[y], 0, 64);
      if (r < M) memcpy(As[y], {source});
      std::fill(Bs[y], Bs[y] + 16, 0.f);
      if (k + y < K) std::copy(B + (k + y) * N + c0, B + (k + y) * N + std::min(c0 + 16, N), Bs[y]);
    }}
    __syncthreads();
    for (int i = 0; i < 16; ++i) s += As[y][i] * Bs[i][x];
    __syncthreads();
  }}
  if (r < M && c0 + x < N) C[r * N + c0 + x] = s;
}}
void run(const float* A, const float* B, float* C, int M, int N, int K) {{
  mm<<<dim3((N + 15) / 16, (M + 15) / 16), dim3(16, 16)>>>(A, B, C, M, N, K);
}}
"""


CLASS_VARIABLES = """
__constant__ struct Dims { int m, n, one[2]; } dims;
static __device__ struct Dims k_alone;
template <class T> __constant__ T unit = T(1);
template <int TAG> __device__ int extents[1];
__global__ void mm(const float* A, const float* B, float* C) {
  int r = blockIdx.y * 16 + threadIdx.y, c = blockIdx.x * 16 + threadIdx.x, M = extents<2>[0];
  if (r >= M || c >= dims.n) return;
  float s = 0;
  for (int k = 0; k < k_alone.m; ++k) s += A[r * k_alone.m + k] * B[k * dims.n + c];
  C[r * dims.n + c] = s * unit<float> * dims.one[0];
}
void run(const float* A, const float* B, float* C, int M, int N, int K) {
  Dims host{M, N, 1}, k{K};
  cudaMemcpyToSymbol(dims, &host, sizeof host);
  cudaMemcpyToSymbol(k_alone, &k, sizeof k);
  cudaMemcpyToSymbol(extents<2>, &M, sizeof M);
  mm<<<dim3((N + 15) / 16, (M + 15) / 16), dim3(16, 16)>>>(A, B, C);
}
"""
CONVERTED = (
    """
#include <cuda_runtime.h>
struct Buffer {
  float* memory = nullptr;
  explicit Buffer(size_t count) { cudaMalloc(&memory, count * sizeof(float)); }
  Buffer(const Buffer&) = delete;
  ~Buffer() { cudaFree(memory); }
  operator float*() { return memory; }
};
"""
    + ALONE
    + """
void matmul(const float* hostA, const float* hostB, float* hostC, int M, int N, int K) {
  Buffer A(M * K), B(K * N), C(M * N);
  cudaMemcpy(A, hostA, sizeof(float) * M * K, cudaMemcpyHostToDevice);
  cudaMemcpy(B, hostB, sizeof(float) * K * N, cudaMemcpyHostToDevice);
  mm<<<dim3((N + 15) / 16, (M + 15) / 16), dim3(16, 16)>>>(A, B, C, M, N, K);
  cudaMemcpy(hostC, C, sizeof(float) * M * N, cudaMemcpyDeviceToHost);
}
"""
)
ATTRIBUTES = launching().replace("void mm(", "void __maxnreg__(64) __block_size__((16, 16, 1)) mm(")
HOST_CALLS = """
__device__ float* scratch;
const char* about(cudaError_t error) {
  switch (error) {
    case cudaErrorIllegalAddress: return "address";
    case cudaErrorLaunchOutOfResources: return "resources";
    default: return cudaGetErrorString(error);
  }
}
void CUDART_CB done(void* flag) { *static_cast<int*>(flag) = 1; }
void prepare() {
  int clock = 0, flag = 0;
  float* memory = nullptr;
  cudaDeviceGetAttribute(&clock, cudaDevAttrClockRate, 0);
  cudaMemcpyToSymbolAsync(scratch, &memory, sizeof memory, 0, cudaMemcpyHostToDevice);
  cudaLaunchHostFunc(0, done, &flag);
  size_t bytes = 0;
  cudaDeviceSetLimit(cudaLimitMallocHeapSize, 1 << 20);
  cudaHostRegister(&flag, sizeof flag, cudaHostRegisterDefault);
  cudaHostUnregister(&flag);
  cudaGetSymbolSize(&bytes, scratch);
  cudaRuntimeGetVersion(&clock);
  if (bytes != sizeof memory) abort();
  if (cudaStreamQuery(0) != cudaSuccess || flag != 1 || clock == 0) puts(about(cudaErrorIllegalAddress)), abort();
}
void run"""
ROLES = """
__shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
  auto pipe = cuda::make_pipeline(cooperative_groups::this_thread_block(), &state, cuda::pipeline_role::producer);
  pipe.producer_acquire();
  float s = 0;"""
ON_HEAP = """
struct Term { __device__ virtual float of(float a, float b) const = 0; };
struct Product : Term { __device__ float of(float a, float b) const override { return a * b; } };
__global__ void mm(const float* A, const float* B, float* C, int M, int N, int K) {
  int r = blockIdx.y * 16 + threadIdx.y, c = blockIdx.x * 16 + threadIdx.x;
  if (r >= M || c >= N) return;
  static const int order[4] = {0, 1, 2, 3};
  float* column = new float[K];
  int* count = (int*)malloc(sizeof(int));
  const Term* term = new Product;
  for (int k = 0; k < K; ++k) column[k] = B[k * N + c];
  *count = K + order[r % 4] - r % 4;
  float s = 0;
  if (r == M) delete[] column;
  for (int k = 0; k < *count; ++k) s += term->of(A[r * K + k], column[k]);
  free(count);
  C[r * N + c] = s;
}
void run(const float* A, const float* B, float* C, int M, int N, int K) {
  mm<<<dim3((N + 15) / 16, (M + 15) / 16), dim3(16, 16)>>>(A, B, C, M, N, K);
}
"""


IN_COLUMNS = """
#define REAL float
#define COUNT int
__global__ void mm(int M, int N, int K, float alpha, float* A, float* B, float beta, float* C) {
  int r = blockIdx.x * 16 + threadIdx.x, c = blockIdx.y * 16 + threadIdx.y;
  if (r >= M || c >= N) return;
  float s = 0;
  for (int k = 0; k < K; ++k) s += A[r + k * M] * B[k + c * K];
  C[r + c * M] = alpha * s + beta * C[r + c * M];
}
void sgemm_v1(COUNT M, COUNT N, COUNT K, REAL alpha, REAL* A, REAL* B, REAL beta, REAL* C) {
  dim3 block(16, 16), grid((M + 15) / 16, (N + 15) / 16);
  mm<<<grid, block>>>(M, N, K, alpha, A, B, beta, C);
}
"""
FORWARD = """
__global__ void forward(float* out, const float* inp, const float* weight, const float* bias, int BT, int C, int OC) {
  int bt = blockIdx.x * blockDim.x + threadIdx.x, oc = blockIdx.y * blockDim.y + threadIdx.y;
  if (bt < BT && oc < OC) {
    float val = bias != NULL ? bias[oc] : 0.0f;
    for (int i = 0; i < C; i++) val += inp[bt * C + i] * weight[oc * C + i];
    out[bt * OC + oc] = val;
  }
}
void matmul_forward(float* out, const float* inp, const float* weight, const float* bias, int B, int T, int C, int OC,
                    const int sqrt_block_size) {
  dim3 block(sqrt_block_size, sqrt_block_size);
  dim3 grid((B * T + sqrt_block_size - 1) / sqrt_block_size, (OC + sqrt_block_size - 1) / sqrt_block_size);
  forward<<<grid, block>>>(out, inp, weight, bias, B * T, C, OC);
}
"""
BATCHED = """
__global__ void mm(const float* A, const float* B, float* C, int M, int N, int K) {
  int r = blockIdx.y * 16 + threadIdx.y, c = blockIdx.x * 16 + threadIdx.x, p = blockIdx.z;
  if (r < M && c < N) {
    float s = 0;
    for (int k = 0; k < K; ++k) s += A[(p * M + r) * K + k] * B[(p * K + k) * N + c];
    C[(p * M + r) * N + c] = s;
  }
}
// launch: mm<<<dim3(ceil_div(N, 16), ceil_div(M, 16), BATCH), dim3(16, 16)>>>(A, B, C, M, N, K)
"""
SQUARE = (
    naive("float* M, float* N, float* P, int Width", "Width", "Width", "Width", a="M", b="N", c="P")
    + "void run(float* M, float* N, float* P, int Width) "
    "{ mm<<<dim3((Width + 15) / 16, (Width + 15) / 16), dim3(16, 16)>>>(M, N, P, Width); }"
)
PITCHED = """
#include <helper_cuda.h>
__global__ void mm(float* A, size_t pitch, const float* B, float* C, int m, int n, int k) {
  int r = blockIdx.y * blockDim.y + threadIdx.y, c = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= m || c >= n) return;
  float s = 0;
  for (int i = 0; i < k; i++) s += ((float*)((char*)A + r * pitch))[i] * B[i * n + c];
  C[r * n + c] = s;
}
void matmul(const float* A, const float* B, float* C, int m, int n, int k) {
  float* rows;
  size_t pitch;
  checkCudaErrors(cudaMallocPitch(&rows, &pitch, k * sizeof(float), m));
  checkCudaErrors(cudaMemcpy2D(rows, pitch, A, k * sizeof(float), k * sizeof(float), m, cudaMemcpyDeviceToDevice));
  mm<<<dim3((n + 15) / 16, (m + 15) / 16), dim3(16, 16)>>>(rows, pitch, B, C, m, n, k);
  getLastCudaError("mm");
  checkCudaErrors(cudaFree(rows));
}
"""
SAMPLE = """
template <int BLOCK_SIZE> __global__ void MatrixMulCUDA(float *C, float *A, float *B, int wA, int wB) {
  int bx = blockIdx.x, by = blockIdx.y, tx = threadIdx.x, ty = threadIdx.y;
  float sum = 0;
  for (int a = wA * BLOCK_SIZE * by, b = BLOCK_SIZE * bx; a < wA * BLOCK_SIZE * by + wA; a += BLOCK_SIZE,
           b += BLOCK_SIZE * wB) {
    __shared__ float As[BLOCK_SIZE][BLOCK_SIZE];
    __shared__ float Bs[BLOCK_SIZE][BLOCK_SIZE];
    As[ty][tx] = A[a + wA * ty + tx];
    Bs[ty][tx] = B[b + wB * ty + tx];
    __syncthreads();
    for (int k = 0; k < BLOCK_SIZE; ++k) sum += As[ty][k] * Bs[k][tx];
    __syncthreads();
  }
  C[wB * BLOCK_SIZE * by + BLOCK_SIZE * bx + wB * ty + tx] = sum;
}
"""
TILES = "MatrixMulCUDA<32><<<dim3(N / 32, M / 32), dim3(32, 32)>>>(C, A, B, K, N)"
GLOBALS = """
#define N 64
#define M N
#define K N
__device__ float dA[N][N], dB[N][N], dC[M][K];
__global__ void mul() {
  int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
  float s = 0;
  for (int k = 0; k < N; k++) s += dA[i][k] * dB[k][j];
  dC[i][j] = s;
}
void copy_in(const float* a, const float* b) {
  cudaMemcpyToSymbol(dA, a, sizeof(float) * N * N, 0, cudaMemcpyDeviceToDevice);
  cudaMemcpyToSymbol(dB, b, sizeof(float) * N * N, 0, cudaMemcpyDeviceToDevice);
}
void copy_out(float* c) { cudaMemcpyFromSymbol(c, dC, sizeof(float) * N * N, 0, cudaMemcpyDeviceToDevice); }
"""
GLOBALS_LAUNCH = "copy_in(A, B); mul<<<dim3(4, 4), dim3(16, 16)>>>(); copy_out(C)"
UNMODELLED = """
#include <thrust/device_vector.h>
#include <cublasLt.h>
#include "helper_string.h"
using namespace thrust;
struct Handle {
  cublasLtHandle_t handle;
  Handle() { CHECK_ALL(cublasLtCreate(&handle)); }
};
static void by_library(cublasLtHandle_t handle, device_vector<float>& values) {
  Handle own;
  CHECK_ALL(cudaGraphFrobnicate(handle, thrust::raw_pointer_cast(values.data())));
}
int main(int argc, char** argv) {
  device_vector<float> values(getCmdLineArgumentInt(argc, argv, "n"));
  by_library(Handle().handle, values);
}
"""
SYNTAX = """
#define TILE(name) __shared__ float name[16][17]
#define SYNC "bar.sync"
extern __shared__ char bytes[];
#ifdef SLOW
__global__ void mm(const float* A, const float* B, float* C, int M, int N, int K) {
#else
__global__ void __launch_bounds__(256) mm(const float* __restrict__ A, const float* B, float* C, int M, int N, int K) {
#endif
  TILE(As);
  float* Bs = reinterpret_cast<float*>(bytes);
  float* same = (float*)bytes;
  int x = threadIdx.x, y = threadIdx.y, r = blockIdx.y * 16 + y, c = blockIdx.x * 16 + x;
  float s = 0;
  for (int k = 0; k < K; k += 16) {
    As[y][x] = r < M && k + x < K ? A[r * K + k + x] : 0;
    same[y * 16 + x] = c < N && k + y < K ? B[(k + y) * N + c] : 0;
    asm volatile(SYNC
#if __CUDA_ARCH__ >= 800
                 " 0;"
#else
                 ".of_old 0;"
#endif
                 ::: "memory");
    for (int i = 0; i < 16; ++i) s += As[y][i] * Bs[i * 16 + x];
    __syncthreads();
  }
  if (r < M && c < N) C[r * N + c] = s;
}
void run(const float* A, const float* B, float* C, int M, int N, int K) {
  mm<<<dim3((N + 15) / 16, (M + 15) / 16), dim3(16, 16), 1024>>>(A, B, C, M, N, K);
}
"""

CHAPTERS_HEADERS = """
#include "ptx/mbarrier.cuh"
#include "ptx/wgmma.cuh"
// launch: mm<<<dim3(ceil_div(N, 16), ceil_div(M, 16)), dim3(16, 16)>>>(A, B, C, M, N, K)
__device__ void wait_for_all(unsigned long long* storage) {
  const unsigned barrier = (unsigned)__cvta_generic_to_shared(storage);
  if (threadIdx.x + threadIdx.y == 0) sgemm::mbarrier_init(barrier, 256);
  __syncthreads();
  sgemm::mbarrier_arrive(barrier);
  sgemm::mbarrier_wait(barrier, 0);
  sgemm::wgmma_fence();
}
""" + ALONE.replace("int r", "__shared__ unsigned long long storage;\n  wait_for_all(&storage);\n  int r")

NEW_TENSOR = (
    "#include <torch/extension.h>\n#include <ATen/cuda/CUDAContext.h>\n"
    + naive("const T* a, const T* b, T* c, int M, int K, int N", "M", "N", "K").replace(
        "__global__", "template <class T> __global__"
    )
    + """
torch::Tensor matmul_cuda(torch::Tensor A, torch::Tensor B) {
  TORCH_CHECK(A.device().is_cuda(), "A must be on the GPU");
  auto C = torch::zeros({A.size(0), B.size(1)}, A.options());
  int M = A.size(0), K = A.size(1), N = B.size(1);
  AT_DISPATCH_FLOATING_TYPES(A.scalar_type(), "matmul", ([&] {
    mm<scalar_t><<<dim3((N + 15) / 16, (M + 15) / 16), dim3(16, 16), 0, at::cuda::getCurrentCUDAStream()>>>(
        A.data_ptr<scalar_t>(), B.data_ptr<scalar_t>(), C.data_ptr<scalar_t>(), M, K, N);
  }));
  return C;
}
"""
)

IN_LINE = """
extern "C" __global__ void mm(const float* x1, const float* x2, float* y, int rows, int cols, int inner) {
  for (int i = blockDim.x * blockIdx.x + threadIdx.x; i < rows * cols; i += blockDim.x * gridDim.x) {
    float s = 0;
    for (int k = 0; k < inner; ++k) s += x1[i / cols * inner + k] * x2[k * cols + i % cols];
    y[i] = s;
  }
}
"""
IN_LINE_LAUNCH = "mm<<<ceil_div(M * N, 256), 256>>>(A, B, C, M, N, K)"

# Two blocks have half of the sum each, and the second one adds both.
IN_TURN = """
#include <cooperative_groups.h>
__device__ float parts[4096];
__device__ int turns[64];
__global__ void mm(const float* A, const float* B, float* C, int M, int N, int K) {
  int r = blockIdx.y, c = threadIdx.x, half = (K + 1) / 2;
  float s = 0;
  for (int k = blockIdx.z * half; c < N && k < K && k < (blockIdx.z + 1) * half; ++k) s += A[r * K + k] * B[k * N + c];
  if (c < N && blockIdx.z == 0) parts[r * N + c] = s;
  WAIT
  if (c < N && blockIdx.z == 1) C[r * N + c] = parts[r * N + c] + s;
}
void run(const float* A, const float* B, float* C, int M, int N, int K) {
  LAUNCH
}
"""
IN_TURN_LAUNCH = "mm<<<dim3(1, M, 2), 64>>>(A, B, C, M, N, K);"
TURN = """
  if (blockIdx.z == 0) {
    __threadfence();
    __syncthreads();
    if (c == 0) atomicExch(&turns[r], 1);
  } else {
    if (c == 0) {
      while (atomicAdd(&turns[r], 0) == 0) __nanosleep(20);
      turns[r] = 0;
    }
    __syncthreads();
  }
"""
# All blocks count themselves, the last of a grid too that is launched again.
BY_HAND = """
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(&turns[0], 1);
    while (*(volatile int*)&turns[0] % (int)(gridDim.y * gridDim.z) != 0) {}
    __threadfence();
  }
  __syncthreads();
"""
COOPERATIVE = """
  void* all[] = {&A, &B, &C, &M, &N, &K};
  cudaLaunchCooperativeKernel((void*)mm, dim3(1, M, 2), dim3(64), all);
"""

# A warp of the block fetches a row of A, and the others wait for it.
GRID_BARRIER = """__device__ volatile unsigned sense;
__device__ unsigned arrived;
__device__ float sums[1 << 16];
__device__ void wait_for_all() {
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    const unsigned before = sense;
    if (atomicAdd(&arrived, 1u) == gridDim.x - 1) {
      arrived = 0;
      __threadfence();
      sense = before + 1;
    } else {
      for (; sense == before;);
    }
    __threadfence();
  }
  __syncthreads();
}
__global__ void mm(const float* A, const float* B, float* C, int M, int N, int K) {
  for (int part = 0; part < 3; ++part) {
    for (int c = threadIdx.x; c < N; c += blockDim.x) {
      float sum = part ? sums[blockIdx.x * N + c] : 0;
      for (int k = part; k < K; k += 3) sum += A[blockIdx.x * K + k] * B[k * N + c];
      sums[blockIdx.x * N + c] = sum;
    }
    wait_for_all();
  }
  const int r = gridDim.x - 1 - blockIdx.x;
  for (int c = threadIdx.x; c < N; c += blockDim.x) C[r * N + c] = sums[r * N + c];
}
void run(const float* A, const float* B, float* C, int M, int N, int K) { mm<<<M, 64>>>(A, B, C, M, N, K); }
"""
HANDED_ON = """
__global__ void mm(const float* A, const float* B, float* C, int M, int N, int K) {
  __shared__ float row[64];
  __shared__ volatile int ready;
  if (threadIdx.x == 0) ready = 0;
  __syncthreads();
  if (threadIdx.x < 32) {
    for (int k = threadIdx.x; k < K; k += 32) row[k] = A[blockIdx.x * K + k];
    FENCE
    __syncwarp();
    if (threadIdx.x == 0) ready = 1;
    return;
  }
  while (ready == 0) {}
  __threadfence_block();
  for (int c = threadIdx.x - 32; c < N; c += 64) {
    float s = 0;
    for (int k = 0; k < K; ++k) s += row[k] * B[k * N + c];
    C[blockIdx.x * N + c] = s;
  }
}
void run(const float* A, const float* B, float* C, int M, int N, int K) { mm<<<M, 96>>>(A, B, C, M, N, K); }
"""
# Each block of a cluster fetches half of a row of A.
IN_CLUSTERS = """
#include <cooperative_groups.h>
__global__ void __cluster_dims__(2, 1, 1) mm(const float* A, const float* B, float* C, int M, int N, int K) {
  __shared__ float half_row[64];
  auto cluster = cooperative_groups::this_cluster();
  const int half = (K + 1) / 2, first = cluster.block_rank() * half, c = blockIdx.x * 64 + threadIdx.x, r = blockIdx.y;
  for (int k = threadIdx.x; k < half && first + k < K; k += 64) half_row[k] = A[r * K + first + k];
  cluster.sync();
  float s = 0;
  for (int k = 0; c < N && k < K; ++k) s += cluster.map_shared_rank(half_row, k / half)[k % half] * B[k * N + c];
  cluster.sync();
  if (c < N) C[r * N + c] = s;
}
void run(const float* A, const float* B, float* C, int M, int N, int K) {
  mm<<<dim3((N + 127) / 128 * 2, M), 64>>>(A, B, C, M, N, K);
}
"""


# As CUDA's guide has matrices.
MATRICES = """
typedef struct { int width, height; int stride; float* elements; } Matrix;
__global__ void mm(Matrix A, Matrix B, Matrix C) {
  int r = blockIdx.y * 16 + threadIdx.y, c = blockIdx.x * 16 + threadIdx.x;
  if (r >= C.height || c >= C.width) return;
  float s = 0;
  for (int k = 0; k < A.width; ++k) s += A.elements[r * A.stride + k] * B.elements[k * B.stride + c];
  C.elements[r * C.stride + c] = s;
}
void MatMul(const Matrix A, const Matrix& B, Matrix* C) {
  mm<<<dim3((B.width + 15) / 16, (A.height + 15) / 16), dim3(16, 16)>>>(A, B, *C);
}
"""
TENSORS = """
#include <torch/extension.h>
#include <torch/types.h>
#define CHECK(T) if ((T).options().dtype() != torch::kFloat32) { std::cout << (T).options(); throw 1; }
KERNEL
void multiply(torch::Tensor a, torch::Tensor b, torch::Tensor c) {
  CHECK(a) CHECK(b) CHECK(c)
  mm<<<dim3(4, 4), dim3(16, 16)>>>(a.data_ptr<float>(), reinterpret_cast<float*>(b.data_ptr()), c.data_ptr<float>(),
                                   a.size(0), b.size(1), a.size(1));
}
torch::Tensor product(torch::Tensor a, torch::Tensor b) {
  torch::Tensor c = torch::empty({a.size(0), b.size(1)}, a.options());
  multiply(a, b, c);
  return c;
}
""".replace("KERNEL", ALONE)
PACKED_TENSOR = """
#include <torch/all.h>
#include <c10/cuda/CUDAGuard.h>
template <class T> using Matrix = torch::PackedTensorAccessor32<T, 2, torch::RestrictPtrTraits>;
template <class T> __global__ void mm(const Matrix<T> a, const Matrix<T> b, Matrix<T> c) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y;
  if (i >= c.size(1)) return;
  T s = 0;
  for (int k = 0; k < a.size(1); ++k) s += a[j][k] * b[k][i];
  c[j][i] = s;
}
void forward(torch::Tensor& C, const torch::Tensor& A, torch::Tensor const& B) {
  const at::cuda::OptionalCUDAGuard guard(device_of(A));
  AT_DISPATCH_FLOATING_TYPES(A.type(), "forward", ([&] {
    mm<scalar_t><<<dim3((C.size(1) + 63) / 64, C.size(0)), 64>>>(
        A.packed_accessor32<scalar_t, 2, torch::RestrictPtrTraits>(),
        B.packed_accessor32<scalar_t, 2, torch::RestrictPtrTraits>(),
        C.packed_accessor32<scalar_t, 2, torch::RestrictPtrTraits>());
  }));
}
TORCH_LIBRARY(mine, m) { m.def("forward(Tensor! C, Tensor A, Tensor B) -> ()"); }
"""


# Whether a stride is from row to row or from product to product, its name does not tell.
STRIDES = """
__global__ void mm(const float* A, const float* B, float* C, int M, int N, int K, int sa, int sb, int sc) {
  int r = blockIdx.y * 16 + threadIdx.y, c = blockIdx.x * 16 + threadIdx.x, b = blockIdx.z;
  if (r >= M || c >= N) return;
  float s = 0;
  for (int k = 0; k < K; ++k) s += A[(b * M + r) * sa + k] * B[(b * K + k) * sb + c];
  C[(b * M + r) * sc + c] = s;
}
void bmm(const float* A, const float* B, float* C, int batch, int M, int N, int K, int strideA, int strideB,
         int strideC) {
  dim3 grid((N + 15) / 16, (M + 15) / 16, batch);
  mm<<<grid, dim3(16, 16)>>>(A, B, C, M, N, K, strideA, strideB, strideC);
}
"""


OF_CLASSES = """void run(Matrix a, Matrix b, Matrix c) {
  const int M = a.height, N = b.width, K = a.width;
  float *A, *B, *C;
  cudaMalloc(&A, M * K * 4), cudaMalloc(&B, K * N * 4), cudaMalloc(&C, M * N * 4);
  cudaMemcpy(A, a.elements, M * a.stride * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(B, b.elements, K * b.stride * 4, cudaMemcpyHostToDevice);
  mm<<<dim3((N + 15) / 16, (M + 15) / 16), dim3(16, 16)>>>(A, B, C, M, N, K);
  cudaMemcpy(c.elements, C, M * c.stride * 4, cudaMemcpyDeviceToHost);
}
"""
IN_SYMBOLS = """
__device__ float a[4096], b[4096], c[4096];
__global__ void mm(int M, int N, int K) {
  int r = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
  float s = 0;
  for (int k = 0; r < M && col < N && k < K; ++k) s += a[r * K + k] * b[k * N + col];
  if (r < M && col < N) c[r * N + col] = s;
}
void run(const float* A, const float* B, float* C, int M, int N, int K) {
  cudaMemcpyToSymbol(a, A, M * K * 4);
  cudaMemcpyToSymbol(b, B, K * N * 4);
  mm<<<dim3((N + 15) / 16, (M + 15) / 16), dim3(16, 16)>>>(M, N, K);
  cudaMemcpyFromSymbol(C, c, M * N * 4);
}
"""
OF_HOSTS = """
#define EXPORT extern "C" __declspec(dllexport)
EXPORT void run(torch::Tensor a, torch::Tensor b, torch::Tensor c) {
  const int M = a.size(0), K = a.size(1), N = b.size(1);
  TORCH_INTERNAL_ASSERT(a.device().type() == at::DeviceType::CUDA);
  TORCH_CHECK_EQ(b.size(0), K);
  float* pinned = nullptr, *zeros = nullptr;
  cudaHostAlloc(&pinned, 256, cudaHostAllocMapped | cudaHostAllocWriteCombined);
  cudaHostGetDevicePointer(&zeros, pinned, 0);
  cudaMemset2D(zeros, 128, omp_get_thread_num(), 64, 2);
  a = a.to(torch::dtype(torch::kFloat32).device(torch::kCUDA, 0).requires_grad(false));
  mm<<<dim3((N + 15) / 16, (M + 15) / 16), dim3(16, 16)>>>(a.data_ptr<float>(), b.data_ptr<float>(),
                                                           c.data_ptr<float>(), M, N, K);
  cudaFreeHost(pinned);
}
"""
BY_POINTERS = """void run_(const char* transa, const char* transb, const int* m, const int* n, const int* k,
          const float* A, const float* B, float* C) {
  const int M = *m, N = *n, K = *k;
"""
OF_TWO_THREADS = """
void run(const float* A, const float* B, float* C, int M, int N, int K) {
  memcpy(a, A, M * K * 4), memcpy(b, B, K * N * 4);
  asm volatile("mfence" ::: "memory");
  const int half = M / 2;
  std::thread first([=] { mm<<<dim3((N + 15) / 16, (half + 15) / 16), dim3(16, 16)>>>(a, b, c, half, N, K); });
  mm<<<dim3((N + 15) / 16, (half + 15) / 16), dim3(16, 16)>>>(a + half * K, b, c + half * N, half, N, K);
  first.join();
  memcpy(C, c, M * N * 4);
}
"""
ODD_ROWS = """
  __shared__ __half odd[16 * 17];
  nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, 16, 16, 16, __half, nvcuda::wmma::row_major> f;
  odd[threadIdx.y * 17 + threadIdx.x] = __half(1.0f);
  nvcuda::wmma::load_matrix_sync(f, odd, 17);
"""
SPLIT_K = """
__global__ void part(const float* A, const float* B, float* parts, int M, int N, int K) {
  int i = blockIdx.x * 256 + threadIdx.x, half = blockIdx.y;
  float s = 0;
  for (int k = half; i < M * N && k < K; k += 2) s += A[i / N * K + k] * B[k * N + i % N];
  if (i < M * N) parts[half * M * N + i] = s;
}
__global__ void sum(const float* parts, float* C, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) C[i] = parts[i] + parts[n + i];
}
void split_k(const float* A, const float* B, float* C, float* workspace, int M, int N, int K) {
  int blocks = (M * N + 255) / 256;
  part<<<dim3(blocks, 2), 256>>>(A, B, workspace, M, N, K);
  sum<<<blocks, 256>>>(workspace, C, M * N);
}
"""


def in_turn(wait: str, launch: str = IN_TURN_LAUNCH) -> str:
    return IN_TURN.replace("WAIT", wait).replace("LAUNCH", launch)


IN_TILES = """
#define T 16
__global__ void mm(const float* A, const float* B, float* C, int n) {
  __shared__ float As[T][T], Bs[T][T + 1];
  int x = threadIdx.x, y = threadIdx.y, r = blockIdx.y * blockDim.y + y, c = blockIdx.x * blockDim.x + x;
  float s = 0;
  for (int k = 0; k < n; k += T) {
    As[y][x] = A[r * n + k + x], Bs[y][x] = B[(k + y) * n + c];
    __syncthreads();
    for (int i = 0; i < T; ++i) s += As[y][i] * Bs[i][x];
    __syncthreads();
  }
  C[r * n + c] = s;
}
"""


def from_main(sides: str, argument: str = "SIDE") -> str:
    return IN_TILES + (
        f"float *a, *b, *c;\nint main() {{ const int SIDE = 1000; int rest = 0; dim3 grid({sides}), block(T, T); "
        f"mm<<<grid, block>>>(a, b, c, {argument}); }}\n"
    )


OUT_OF_CLASS = (
    "struct Product { void run(const float*, const float*, float*, int, int, int); };\n"
    + launching().replace("void run", "void Product::run")
)
OF_A_TEMPLATE = (
    OUT_OF_CLASS.replace("struct", "template <typename T> struct")
    .replace("void Product::", "template <typename T>\nvoid Product<T>::")
    .replace("*, float*, int", "*, T*, int")
    .replace("float* C, int M, int N, int K) {\n  mm", "T* C, int M, int N, int K) {\n  mm")
)
COLUMNS_AND_STRIDES = """
__global__ void mm(int M, int N, int K, float alpha, const float* A, int lda, long sa, const float* B, int ldb, long sb,
                   float beta, float* C, int ldc, long sc) {
  int r = blockIdx.x * 16 + threadIdx.x, c = blockIdx.y * 16 + threadIdx.y, b = blockIdx.z;
  if (r >= M || c >= N) return;
  float s = 0;
  for (int k = 0; k < K; ++k) s += A[b * sa + r + k * lda] * B[b * sb + k + c * ldb];
  C[b * sc + r + c * ldc] = alpha * s + beta * C[b * sc + r + c * ldc];
}
void batched(int m, int n, int k, float alpha, const float* A, int lda, long strideA, const float* B, int ldb,
             long strideB, float beta, float* C, int ldc, long strideC, int batchCount) {
  mm<<<dim3((m + 15) / 16, (n + 15) / 16, batchCount), dim3(16, 16)>>>(m, n, k, alpha, A, lda, strideA, B, ldb, strideB,
                                                                     beta, C, ldc, strideC);
}
"""


IN_CLASSES = """
struct Matrices { const float *A, *B; float* C; };
struct Extents { int M, N, K; };
struct Product { const float *A, *B; float* C; int M, N, K; float alpha, beta; };
__global__ void mm(Matrices m, Extents e, float alpha, float beta) {
  int r = blockIdx.y * 16 + threadIdx.y, c = blockIdx.x * 16 + threadIdx.x;
  if (r >= e.M || c >= e.N) return;
  float s = 0;
  for (int k = 0; k < e.K; ++k) s += m.A[r * e.K + k] * m.B[k * e.N + c];
  m.C[r * e.N + c] = alpha * s + beta * m.C[r * e.N + c];
}
"""
OF_A_CLASS = """void run(const Product& p, cudaStream_t stream) {
  Matrices m{p.A, p.B, p.C};
  dim3 block(16, 16), grid((p.N + 15) / 16, (p.M + 15) / 16);
  mm<<<grid, block, 0, stream>>>(m, Extents{p.M, p.N, p.K}, p.alpha, p.beta);
}
"""
OF_CLASSES_OF_EACH = """void run(Matrices m, const Extents* e, float alpha, float beta) {
  mm<<<dim3((e->N + 15) / 16, (e->M + 15) / 16), dim3(16, 16)>>>(m, *e, alpha, beta);
}
"""
VECTORS = """
__global__ void mv(float* xout, float* x, float* w, int n, int d) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= d) return;
  float s = 0;
  for (int j = 0; j < n; ++j) s += w[i * n + j] * x[j];
  xout[i] = s;
}
"""
OF_ITS_OWN_BLOCK = ALONE.replace("* 16", "* blockDim.x").replace("blockIdx.y * blockDim.x", "blockIdx.y * blockDim.y")
INSTANCES = """
template <int T> __global__ void mm(const float* A, const float* B, float* C, int M, int N, int K) {
  int r = blockIdx.y * T + threadIdx.x / T, c = blockIdx.x * T + threadIdx.x % T;
  float s = 0;
  for (int k = 0; k < K; ++k) s += A[r * K + k] * B[k * N + c];
  C[r * N + c] = s;
}
int main() {
  float *a, *b, *c;
  const int M = 512, N = 512, K = 512;
  mm<8><<<dim3(N / 8, M / 8), 64>>>(a, b, c, M, N, K);
  mm<16><<<dim3(N / 16, M / 16), 256>>>(a, b, c, M, N, K);
}
"""
OF_ALL_EXTENTS = """
template <int M, int N, int K> __global__ void mm(const float* A, const float* B, float* C) {
  int r = blockIdx.y * 16 + threadIdx.y, c = blockIdx.x * 16 + threadIdx.x;
  float s = 0;
  for (int k = 0; k < K; ++k) s += A[r * K + k] * B[k * N + c];
  C[r * N + c] = s;
}
template <int M, int N, int K> void run(const float* A, const float* B, float* C) {
  mm<M, N, K><<<dim3(N / 16, M / 16), dim3(16, 16)>>>(A, B, C);
}
int main() { float *a, *b, *c; run<64, 32, 48>(a, b, c); }
"""
LOOPS = """
__device__ constexpr int log_of(int n) { int r = 0; while (n > 1) { n >>= 1; ++r; } return r; }
template <int N> struct Shift { static constexpr int VALUE = log_of(N); };
__global__ void mm(const float* A, const float* B, float* C, int M, int N, int K) {
  int r = (blockIdx.y << Shift<16>::VALUE) + threadIdx.y, c = blockIdx.x * 16 + threadIdx.x, k = 0;
  if (r >= M || c >= N) return;
  float s = 0;
  while (k < K) s += A[r * K + k] * B[k * N + c], ++k;
  for (;;) { if (k-- == 0) break; }
  do { ++k; } while (k < K);
  if (k > 1) do --k; while (k > 1);
  for (int i : {1, 2}) { k += i; }
  for (int i = 0, j = 9; i < j; i++, j--);
  C[r * N + c] = s;
}
void run(const float* A, const float* B, float* C, int M, int N, int K) {
  mm<<<dim3((N + 15) / 16, (M + 15) / 16), dim3(16, 16)>>>(A, B, C, M, N, K);
}
"""
EACH_K = (
    launching()
    .replace("int K) {\n  int r", "int K, int k) {\n  int r")
    .replace("float s = 0; for (int k = 0; k < K; ++k) s += ", "float* to = C + r * N + c; *to = (k ? *to : 0) + ")
    .replace("C[r * N + c] = s;", "")
    .replace("  mm<<<", "  for (int k = 0; k < K; ++k) mm<<<")
    .replace("M, N, K);", "M, N, K, k);")
)
WITH_CONSTRUCTORS = """
template <class T> class Matrix {
 public:
  const int rows, cols;
  T* data = static_cast<T*>(nullptr);
  Matrix(int r, int c) : rows{r}, cols(c) { cudaMalloc(&data, r * c * sizeof(T)); }
  ~Matrix() { cudaFree(data); }
};
void multiply(const Matrix<float>& a, const Matrix<float>& b, Matrix<float>* c) {
  const int M = a.rows, N = b.cols, K = a.cols;
  mm<<<dim3((N + 15) / 16, (M + 15) / 16), dim3(16, 16)>>>(a.data, b.data, c->data, M, N, K);
}
"""
SOFTMAX = """
__global__ void softmax(const float* in, float* out, int n) {
  __shared__ float most[256];
  const int t = threadIdx.x * 1;
  most[t] = -INFINITY;
  for (int i = t; i < n; i += blockDim.x * gridDim.x) most[t] = fmaxf(most[t], in[i]);
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + t; i < n; i += 2 * 128) out[i] = expf(in[i] - most[0]) / n * 0.5f;
}
"""
NO_PRODUCT = "none of its kernels is a matrix product, C = A * B, which is what runs here: none multiplies elements of"


CASES = {
    # ---- What stands beside the kernel ----
    "libraries_that_the_kernel_does_not_reach": right(UNMODELLED + BY_BLAS),
    "a_host_function_of_a_configuration": right(
        "struct Large { static const int SIDE = 16; };\n"
        + BY_BLAS.replace("void multiply", "template <class Tile> void multiply").replace("16", "Tile::SIDE")
        + "int main() { multiply<Large>(0, 0, 0, 0, 0, 0); }",
        "multiply<Large>(A, B, C, M, N, K);",
    ),
    "handles_beside_a_kernel": right(
        "#include <cublasLt.h>\n#include <curand.h>\nstatic cublasLtHandle_t blas;\ncurandGenerator_t generator;\n"
        + BY_BLAS
    ),
    "ranges_for_a_profiler": right(
        "#include <nvtx3/nvToolsExt.h>\n"
        + BY_BLAS.replace("dim3 block", 'nvtxRangePush("mm"); dim3 block').replace(
            "cudaDeviceSynchronize();", "cudaThreadSynchronize(); nvtxRangePop();"
        )
    ),
    "a_call_that_is_not_modelled": refused(
        BY_BLAS.replace("dim3 block", "cudaFrobnicate(M);\n  dim3 block"),
        "the executor does not model cudaFrobnicate (file.cu:12)",
    ),
    "a_library_that_the_kernel_reaches": refused(
        "#include <cub/cub.cuh>\n" + BY_BLAS.replace("float s = 0;", "float s = cub::Zero<float>();"),
        "the executor does not model cub::Zero (file.cu:6)",
        "file.cu:1: cub/cub.cuh is not there",
    ),
    "a_header_that_the_kernel_needs": refused(
        '#include "errors.h"\n' + BY_BLAS.replace("cudaDeviceSynchronize()", "CHECK_ALL(cudaDeviceSynchronize())"),
        "nothing declares CHECK_ALL (file.cu:15)",
        "file.cu:1: errors.h is not there",
        "--include",
    ),
    "a_header_above_the_file_that_the_kernel_does_not_need": right(
        '#include "../../common/book.h"\nDEFINE_int32(m, 5, "rows");\ntypedef GpuTimer Timers[2];\n'
        "static GpuTimer t{1};\ntemplate <class T> void report(T) {}\ntemplate void report<GpuTimer>(GpuTimer);\n"
        "texture<float, 1, cudaReadModeElementType> before_cuda_12;\n" + BY_BLAS
    ),
    "a_header_with_a_tile_s_extent": refused(
        '#include "../tiles.h"\n' + launching(local=" const int t = TILE, u = t;"),
        "nothing declares TILE (file.cu:5) file.cu:1: ../tiles.h is not there",
    ),
    "a_library_of_the_system_that_knows_nvcc": right(
        "#if __has_include(<boost/core/swap.hpp>)\n#include <boost/core/swap.hpp>\n#endif\n" + BY_BLAS
    ),
    "a_header_whose_words_are_no_names": refused(
        '#include "errors.h"\n' + BY_BLAS.replace("float s = 0;", "float s = 0 PLUS_NOTHING;"),
        "PLUS_NOTHING",
        "file.cu:1: errors.h is not there",
        "--include",
    ),
    "headers_of_the_chapters": right(
        CHAPTERS_HEADERS, arguments=("--check", "--include", str(Path(__file__).resolve().parents[2] / "kernels"))
    ),
    "directives_macros_and_casts_anywhere": right(SYNTAX),
    "rows_with_a_pitch": right(PITCHED),
    "a_long_function": right(BY_BLAS + f"int count(int x) {{ {'x += 1; ' * 30000} return x; }}"),
    "a_kernel_in_a_string": refused('const char* code = "__global__";', "no __global__ outside strings"),
    "cells_of_a_notebook": refused("%%writefile mm.cu\n" + BY_BLAS, "a notebook's"),
    # ---- The right function ----
    "a_reference_beside_the_kernel": refused(
        CPU_REFERENCE + naive("float* a, float* b, float* c, int M, int N, int K", "M", "N", "K"),
        "cpuSgemm launches nothing of it",
        "--launch 'mm<<<",
        "(A, B, C, M, N, K)",
    ),
    "a_reference_alone": refused(CPU_REFERENCE, "cpuSgemm launches nothing of it", "no kernel in it"),
    "a_reference_that_warms_up": refused(
        "__global__ void warm() {}\n"
        + CPU_REFERENCE.replace("float sum", "warm<<<1, 1>>>(); float sum", 1)
        + naive("float* a, float* b, float* c, int M, int N, int K", "M", "N", "K"),
        "cpuSgemm computes the product on the host",
        "--launch 'mm<<<",
    ),
    "a_square_that_does_not_say_which_is_which": asking(
        SQUARE.replace("M,", "Q,").replace("M[", "Q["), "--requires 'M == N && N == K && alpha == 1 && beta == 0'"
    ),
    "a_reference_beside_a_host_function": right(CPU_REFERENCE + BY_BLAS, "multiply(A, B, C, M, N, K);"),
    "a_reference_is_launched_by_hand": failing(
        CPU_REFERENCE, "no kernel was launched", arguments=("--launch", "cpuSgemm(A, B, C, M, N, K)")
    ),
    "a_launch_behind_a_condition": failing(
        BY_BLAS.replace("dim3 block", "if (M < 1000) return;\n  dim3 block"), "no kernel was launched", arguments=()
    ),
    "a_reference_that_checks": refused(
        ALONE
        + CPU_REFERENCE.replace(
            "  for (int m",
            "  float* d;\n  cudaMalloc(&d, 4 * M * N);\n  mm<<<M, N>>>(a, b, d, M, N, K);\n  for (int m",
            1,
        ),
        "its function cpuSgemm computes the product on the host",
        "--launch 'mm<<<",
    ),
    "a_reference_that_is_called_or_goes_by_addresses": refused(
        CPU_REFERENCE.replace(
            "sum += a[m * K + k] * b[k * N + n]", "sum = fmaf(*(a + m * K + k), *(b + k * N + n), sum)"
        )
        .replace("c[m * N + n]", "*(c + m * N + n)")
        .replace("cpuSgemm", "plain")
        + BY_BLAS.replace("  cudaDeviceSynchronize();", "  plain((float*)A, (float*)B, C, M, N, K);"),
        "its function multiply computes the product on the host, all or a part: file.cu:multiply runs it all the same",
    ),
    "rows_that_are_left_for_the_host": right(
        BY_BLAS.replace("  cudaDeviceSynchronize();", "  if (M < 4)" + CPU_REFERENCE[CPU_REFERENCE.index("{") :])
        .replace("a[m", "A[m")
        .replace("b[k", "B[k")
        .replace("c[m", "C[m"),
        kernel="file.cu:multiply",
    ),
    "a_host_function_that_clears_scales_and_checks": right(
        "#include <stdlib.h>\n"
        + BY_BLAS.replace(
            "  dim3", "  const float one[] = {1};\n  for (int i = 0; i < M * N; ++i) C[i] = 0;\n  dim3"
        ).replace(
            "  cudaDeviceSynchronize();",
            "  cudaDeviceSynchronize();\n  for (int i = 0; i < M * N; ++i) C[i] = one[0] * C[i];\n"
            "  for (int r = 0; r < M; ++r) {\n    float s = -C[r * N];\n"
            "    for (int k = 0; k < K; ++k) s += A[r * K + k] * B[k * N];\n    if (s * s > 1e-6f) abort();\n  }",
        )
    ),
    "variables_that_set_others": right(
        "static int rows = 0, columns = 0;\nint set() { return rows = 16; }\nstatic int done = set();\n"
        "struct Columns { Columns() { columns = 16; } };\nstatic Columns all;\n"
        + BY_BLAS.replace("block(16, 16)", "block(columns, rows)")
    ),
    "a_launch_in_a_macro": right(
        "#define START(k, g, b, ...) k<<<g, b>>>(__VA_ARGS__)\n"
        + BY_BLAS.replace("mm<<<grid, block>>>(", "START(mm, grid, block, ")
    ),
    "a_launch_two_calls_down": refused(
        BY_BLAS.replace("multiply", "inner") + "void outer(const float* A, const float* B, "
        "float* C, int M, int N, int K) { inner(A, B, C, M, N, K); }",
        "2 of its functions",
        "--kernel file.cu:inner --device",
        "--kernel file.cu:outer --device",
    ),
    "comments_in_prose": right("// launch: one block for each tile\n" + BY_BLAS),
    "comments_launch_nothing": refused(
        "/* mm<<<1, 1>>>(a) */" + CPU_REFERENCE.replace("float sum", "// f<<<g, b>>>(x)\nfloat sum"),
        "cpuSgemm launches nothing of it",
    ),
    "a_library_beside_the_kernel": refused(
        naive("float* a, float* b, float* c, int M, int N, int K", "M", "N", "K")
        + "void by_library(float* A, float* B, float* C, int M, int N, int K) { cublasSgemm(0, A, B, C); }",
        "by_library launches nothing of it",
    ),
    # ---- Parameters by their names ----
    "the_sum_runs_over_n": right(whole(CONST, "M N K", "M", "K", "N", "A B C", "solve"), "solve(A, B, C, M, K, N);"),
    "inputs_an_output_and_a_default": right(
        whole(PLAIN, "m n k", "m", "n", "k", "input_a input_b output_c").replace("k) {\n  d", "k, int p = 1) { d"),
        "multiply(A, B, C, M, N, K);",
    ),
    "n_rows_of_m": right(
        whole(CONST, "N M K", "N", "M", "K"),
        "multiply(A, B, C, M, N, K);",
        says=(
            "with multiply(A, B, C, N, M, K); its product is wrong, and with multiply(A, B, C, M, N, K); it is right",
        ),
        sizes="33x17x9",
    ),
    "matrices_of_a_class": right(
        MATRICES, "MatMul(Matrix{K, M, K, A}, Matrix{N, K, N, B}, (Matrix*)&(const Matrix&)Matrix{N, M, N, C});"
    ),
    "a_static_function_of_a_class": right(
        launching().replace("void run(", "class Gemm { public: static void run(") + "};", "Gemm::run(A, B, C, M, N, K);"
    ),
    "a_layer_with_weights_and_bias": asking(
        FORWARD.split("void matmul")[0] + "void linear(const float* x, const float* W, const float* b, float* y, int "
        "batch, int in_features, int out_features) { forward<<<dim3(batch, out_features), 1>>>(y, x, W, b, batch, "
        "in_features, out_features); }",
        "linear(A, B, nullptr, C, M, K, N)",
        ":nt",
    ),
    "aliases_of_types": right(
        "using real = float;\ntypedef int count;\n"
        + BY_BLAS.replace("float* ", "real* ").replace(
            "int M, int N, int K) {\n  dim3", "count M, count N, count K) {\n  dim3"
        )
    ),
    "a_default_for_the_stream": right(
        BY_BLAS.replace("int K) {\n  dim3", "int K, cudaStream_t stream = 0) {\n  dim3"),
        "multiply(A, B, C, M, N, K, stream);",
    ),
    "matrices_in_columns": right(
        IN_COLUMNS,
        "sgemm_v1(N, M, K, alpha, B, A, beta, C);",
        says=("with sgemm_v1(N, M, K, alpha, B, A, beta, C); it is right",),
        arguments=("--check", "--beta", "1"),
    ),
    "matrices_in_columns_by_hand": incorrect(
        IN_COLUMNS, "column-major", arguments=by("sgemm_v1(M, N, K, alpha, A, B, beta, C)", "--beta", "1")
    ),
    "a_bias_that_is_always_read": asking(WITH_BIAS.replace("(A, B, C", "(A, B, bias, C"), "(float*)workspace"),
    "input_weight_bias": asking(FORWARD, "matmul_forward(C, A, B, nullptr, 1, M, K, N, 16)", ":nt"),
    "weights_by_rows_of_inputs": asking(
        whole("const float*,const float*,float*", "M N K", "M", "N", "K", "inp weight out"),
        "--sizes 32:nt,33x17x9:nt",
        "--sizes 32,33x17x9 --check",
    ),
    "weights_by_rows_of_outputs": right(
        FORWARD, arguments=by("matmul_forward(C, A, B, nullptr, 1, M, K, N, 16)"), sizes="48x32x64:nt,33x17x9:nt"
    ),
    "weights_taken_for_plain": incorrect(
        FORWARD, "A B^T", ":nt", arguments=by("matmul_forward(C, A, B, nullptr, 1, M, K, N, 16)"), sizes="48x32x64"
    ),
    "a_batch_by_name": right(BATCHED.replace("BATCH", "batch"), sizes="3x20x17x9"),
    "a_batch_b": right(
        BATCHED.split("//", maxsplit=1)[0] + "void bmm(const float* a, long stride_a, const float* b, float* c, int B, "
        "int M, int N, int K) { if (stride_a == M * K) mm<<<dim3((N + 15) / 16, (M + 15) / 16, B), dim3(16, 16)>>>(a, "
        "b, c, M, N, K); }",
        "bmm(A, M * K, B, C, batch, M, N, K);",
        sizes="3x20x17x9",
    ),
    "strides_beside_a_batch": asking(
        STRIDES,
        "bmm(A, B, C, batch, M, N, K, M * K, K * N, M * N)",
        "bmm(A, B, C, batch, M, N, K, lda, ldb, ldc)",
        sizes="3x20x17x9",
    ),
    "a_batch_that_nobody_names": unsupported(BATCHED.replace("BATCH", "1"), "does not name batch", sizes="3x20x17x9"),
    "a_tensor_that_is_made": right(
        NEW_TENSOR,
        "torch::from_blob(C, {M, N}).copy_(matmul_cuda(torch::from_blob(A, {M, K}), torch::from_blob(B, {K, N})));",
    ),
    "a_tensor_that_a_kernel_indexes": right(PACKED_TENSOR),
    "a_function_of_tensors_by_its_name": right(
        TENSORS, kernel="file.cu:product", says=("torch::from_blob(C, {M, N}).copy_(product(",)
    ),
    "a_function_that_takes_its_result": right(TENSORS.split("torch::Tensor product")[0]),
    "orders_by_letters": right(
        IN_COLUMNS.replace("sgemm_v1(", "sgemm_v1(char transa, char transb, "),
        "sgemm_v1('N', 'N', N, M, K, alpha, B, A, beta, C);",
        arguments=("--check", "--beta", "1"),
    ),
    "a_factor_that_is_not_taken": unsupported(BY_BLAS, "requires alpha == 1", arguments=("--beta", "2")),
    # ---- Blocks that pass data on ----
    "a_turn": right(in_turn(TURN), sizes="20"),
    "a_turn_without_a_fence": failing(in_turn(TURN.replace("__threadfence();", "")), "not ordered", sizes="20"),
    "a_turn_by_atomic_ref": right(
        in_turn(
            TURN.replace("__threadfence();", "").replace(
                "atomicExch(&turns[r], 1)", "cuda::atomic_ref<int>(turns[r]).store(1, cuda::memory_order_release)"
            )
        ).replace("#include", "#include <cuda/atomic>\n#include", 1),
        sizes="20",
    ),
    "a_barrier_of_the_grid": right(in_turn("cooperative_groups::this_grid().sync();", COOPERATIVE), sizes="20"),
    "a_barrier_of_the_grid_by_hand": right(in_turn(BY_HAND), sizes="6"),
    "a_missing_barrier_of_the_grid": failing(
        in_turn("", COOPERATIVE), "of parts, which block (0,", "blocks are not ordered", "file.cu:", sizes="20"
    ),
    "threads_that_return_before_a_barrier": right(
        HANDED_ON.replace("FENCE", "")
        .replace("if (threadIdx.x == 0) ready = 0;", "if (threadIdx.x >= 64) return;")
        .replace("if (threadIdx.x == 0) ready = 1;\n    return;", "")
        .replace("while (ready == 0) {}", "__syncthreads();")
        .replace("threadIdx.x - 32; c < N; c += 64", "threadIdx.x; c < N; c += 64"),
        sizes="20",
    ),
    "a_flag_of_the_block": right(HANDED_ON.replace("FENCE", "__threadfence_block();"), sizes="20"),
    "a_flag_without_a_fence": failing(HANDED_ON.replace("FENCE", ""), "of shared row", sizes="20"),
    "a_turn_that_never_comes": stuck(in_turn(TURN.replace("if (c == 0) atomicExch(&turns[r], 1);", "")), "file.cu:17"),
    "a_flag_after_many_shuffles": right(
        HANDED_ON.replace("FENCE", "for (int i = 0; i < 400; ++i) __shfl_sync(~0u, i, 0);\n    __threadfence_block();")
        .replace("c += 64", "c += 992")
        .replace("<<<M, 96>>>", "<<<M, 1024>>>"),
        arguments=(),
        sizes="8",
    ),
    **{
        f"a_flag_that_{how}{'_with_checks' if check else ''}": right(
            HANDED_ON.replace("FENCE", "__threadfence_block();")
            .replace("ready = 1;", raised)
            .replace("while (ready == 0) {}", f"for (int i = 0; i < 500 && !ready; ++i) {{{body}}}")
            .replace("row[k] * B", "(ready ? row[k] : A[blockIdx.x * K + k]) * B"),
            arguments=check,
            sizes="20",
        )
        for how, raised, body in (
            ("is_raised_in_time", "ready = 1;", ""),
            ("is_looked_for_some_times", "ready = 0;", ""),
            ("is_slept_for_some_times", "ready = 0;", "__nanosleep(9);"),
        )
        for check in ((), ("--check",))
    },
    "a_flag_that_is_looked_for_with_a_counter_in_memory": right(
        HANDED_ON.replace("FENCE", "__threadfence_block();")
        .replace("ready = 1;", "ready = 0;")
        .replace("volatile int ready;", "volatile int ready, tries;")
        .replace("ready = 0;\n", "ready = tries = 0;\n", 1)
        .replace("while (ready == 0) {}", "while (ready == 0 && tries < 9000) ++tries;")
        .replace("row[k] * B", "A[blockIdx.x * K + k] * B"),
        arguments=(),
        sizes="20",
    ),
    "a_barrier_of_the_grid_in_an_empty_loop": right(GRID_BARRIER, sizes="33x17x9"),
    "a_flag_that_is_slept_for": stuck(
        HANDED_ON.replace("FENCE", "")
        .replace("ready = 1;", "ready = 0;")
        .replace("{}", "{ if (threadIdx.x < 99) __nanosleep(9); }")
    ),
    "a_flag_without_checks": right(HANDED_ON.replace("FENCE", "__threadfence_block();"), arguments=(), sizes="20"),
    "a_flag_that_nobody_raises": stuck(
        HANDED_ON.replace("FENCE", "").replace("ready = 1;", "").replace("{}", "__nanosleep(9);"), "file.cu:14"
    ),
    "a_turn_that_never_comes_to_a_sleeper": failing(
        in_turn(
            TURN.replace("atomicExch(&turns[r], 1)", "").replace("atomicAdd(&turns[r], 0) == 0)", "Y == 0) if (c == 0)")
        ).replace("Y", "__ldcg(&turns[r])"),
        "waits for ever: no other thread changes what it looks at",
        sizes="20",
    ),
    "blocks_of_a_cluster": right(IN_CLUSTERS, sizes="20"),
    # ---- What is long ----
    **{
        "long_" + what: right(launching().replace("mm<<<", text + "mm<<<"))
        for what, text in (
            ("blanks", " " * 50_000),
            ("sums_of_a_local", f"int x = 0{' + 1 - 1' * 5_000}; "),
            ("names", f"int {'x' * 200_000} = 1; "),
            ("strings", f'const char* s = "{"x(" * 50_000}"; '),
        )
    },
    "a_long_argument_of_a_launch": right(launching().replace("N, K);", f"N, K{' + 1 - 1' * 5_000});")),
    "a_long_name_of_a_kernel": right(launching().replace("mm", "m" * 50_000)),
    "a_long_structure": right("struct Many { " + " ".join(f"int i{i};" for i in range(9_000)) + " };" + launching()),
    # ---- What is proposed ----
    "a_kernel_in_line": refused(IN_LINE, IN_LINE_LAUNCH),
    "a_kernel_in_line_as_proposed": right(IN_LINE, arguments=by(IN_LINE_LAUNCH)),
    "operands_of_bf16": refused(
        "#include <cuda_bf16.h>\n"
        + BY_BLAS.replace("const float*", "const __nv_bfloat16*").replace("s += ", "s += (float)"),
        "products are of FP32, in float*: a host function",
        "convert them to __nv_bfloat16 *",
    ),
    "a_tile_of_its_own": refused(
        launching(term="A[(bx * 4 + r) * K + k] * B[k * N + c]")
        .replace("int r =", "int bx = blockIdx.x, r =")
        .replace("* 16 + threadIdx", "* 4 + threadIdx")
        .split("void run")[0],
        "mm<<<dim3(ceil_div(N, 4), ceil_div(M, 4)), dim3(4, 4)>>>",
    ),
    "a_tile_that_nobody_knows": refused(
        naive("float* param_A, float* B_T, float* h_C, int param_m, int n, int param_k", "n", "n", "n").replace(
            "blockDim", "gridDim"
        ),
        "--sizes 32:nt,33x17x9:nt",
        "mm<<<?grid, ?block>>>(A, B, C, M, N, K)",
    ),
    "a_kernel_of_a_configuration": refused(
        "template <class Tile>"
        + naive("float *A, float *B, float *C, int M, int N, int K", "M", "N", "K").replace("blockDim.y", "Tile::ROWS"),
        "mm<?Tile><<<",
    ),
    "names_of_a_program_in_a_launch_line": refused(
        BY_BLAS,
        "A launch line's own names: M N K alpha",
        arguments=("--launch", "mm<<<grid, 256>>>(d_A, d_B, d_C, M, N, K)"),
    ),
    "a_kernel_called_as_a_function": refused(
        BY_BLAS,
        "mm is a kernel, and a launch line launches it as mm<<<grid, block>>>(...)",
        arguments=("--launch", "mm(A, B, C, M, N, K)"),
    ),
    "a_host_function_of_the_kernels_name": right(
        "namespace gpu {" + BY_BLAS.replace("void multiply", "}\nvoid mm").replace("mm<<<", "gpu::mm<<<"),
        arguments=by("mm(A, B, C, M, N, K)"),
    ),
    "a_proposal_as_it_is": refused(BY_BLAS, "?grid in the", arguments=("--launch", "mm<<<?grid, 9>>>(A, B)")),
    "a_kernel_by_its_name": refused(
        whole(CONST, "M N K", "M", "K", "N", "A B C", "solve"),
        "mm<<<dim3((N + 15) / 16, (M + 15) / 16), dim3(16, 16)>>>(A, B, C, M, K, N)",
        kernel="file.cu:mm",
    ),
    "vectors_of_four": refused(
        "__global__ void mm(const float4* A, const float4* B, float4* C, float alpha, int M, int N, int K) {}",
        "((const float4 *)A, (const float4 *)B, (float4 *)C, alpha, M, N, K)",
    ),
    "a_template_over_tiles": right(
        launching().replace("void run(", "struct Tiles {};\ntemplate <class Tiles> void run(")
        + "void outer(const float* A, const float* B, float* C, int M, int N, int K) { run<Tiles>(A, B, C, M, N, K); }",
        "outer(A, B, C, M, N, K);",
    ),
    "a_concept_and_another_parameter": refused(
        "template <class T> concept Number = sizeof(T) == 4;\ntemplate <Number T, int SIDE> requires (SIDE > 2)\n"
        + ALONE.replace("float*", "T*"),
        "mm<float, ?SIDE><<<dim3(ceil_div(N, 16), ceil_div(M, 16)), dim3(16, 16)>>>(A, B, C, M, N, K)",
    ),
    "a_tile_in_a_row_of_threads": refused(
        ALONE.replace("threadIdx.y", "threadIdx.x / 16"), "mm<<<?grid, ?block>>>(A, B"
    ),
    "rows_along_x": asking(ALONG_X, "dim3(ceil_div(M, 16), ceil_div(N, 16)), dim3(16, 16)", sizes="40x100x9"),
    "a_sample_without_a_host_function": refused(SAMPLE, "MatrixMulCUDA<32><<<", "(C, A, B, K, N)"),
    "a_program_that_launches_in_main": refused(
        ALONE.replace("__global__", "template <int SIDE, bool FAST> __global__")
        + """
int main() {
  const unsigned int side{16};
  const bool fast = false;
  const int cols = 512, height = 512, K = 512;
  float *A, *B, *C;
  cudaMalloc(&A, height * K * 4); cudaMalloc(&B, K * cols * 4); cudaMalloc(&C, height * cols * 4);
  dim3 threads(side, side), blocks = {(cols + threads.x - 1) / side, ceil(height / 16.0)};
  mm<side, fast><<<blocks, threads>>>(A, B, C, height, cols, K);
}
""",
        "mm<(16), false><<<dim3{(N + ",
        "(16), ceil(M / 16.0)}, dim3((16), (16))>>>(A, B, C, M, N, K)",
    ),
    "a_sample_with_too_few_blocks": failing(SAMPLE, "of B", arguments=by(TILES), sizes="100"),
    "a_sample_without_blocks": failing(SAMPLE, "grid of 0 x 0 x 1 blocks", arguments=by(TILES), sizes="20"),
    "names_as_macros": right(GLOBALS, arguments=by(GLOBALS_LAUNCH), sizes="64"),
    "names_as_macros_of_another_size": incorrect(GLOBALS, arguments=by(GLOBALS_LAUNCH), sizes="128"),
    # ---- What is wrong ----
    "sums_that_are_added_to_c": failing(
        launching(stored="atomicAdd(&C[r * N + c], s);"),
        "of C, which holds nothing before",
        "cudaMemsetAsync(C, 0, 4 * M * N, stream);",
    ),
    "dynamic_memory_that_the_launch_lacks": failing(
        SYNTAX.replace(", 1024>>>", ">>>"), "beyond the end of the 0 bytes of dynamic shared memory"
    ),
    "an_assertion": failing(
        "#include <cassert>\n" + launching(stored='assert(K % 32 == 0 && "K of tiles"); C[r * N + c] = s;'),
        "thread (0,0,0)",
        'the assertion does not hold: K % 32 == 0 && "K of tiles"',
        arguments=(),
        sizes="40",
    ),
    "a_product_of_triangles": wrong(
        launching(k="int k = r; k <= c; ++k"), "C is the product with the upper triangle of A and B alone"
    ),
    "rows_and_columns_that_nobody_writes": wrong(
        launching("N / 16, M / 16"), "not written from row 96 and from column 96", "100", ("--check",)
    ),
    "columns_that_nobody_writes": wrong(launching("N / 16, (M + 15) / 16"), "from column 32 on"),
    "c_that_nobody_writes": wrong(launching(stored="if (A[0] == 1234.5f) C[0] = s;"), "never written"),
    "the_last_term": wrong(launching(k="int k = 0; k < K - 1; ++k"), "lacks the last 1 of the 40 terms"),
    "the_last_tile": wrong(launching(k="int k = 0; k < K / 16 * 16; ++k"), "lacks the last 8 of the 40 terms"),
    "the_first_tile": wrong(launching(k="int k = 8; k < K; ++k"), "lacks the first 8 of the 40 terms"),
    "a_sum_that_begins_anywhere": wrong(
        launching().replace("float s = 0;", "float s;"), "nothing was assigned to", "8"
    ),
    "brackets_with_blanks": right(launching().replace("mm<<<", "mm << <").replace(">>>(", " >> > (")),
    "right_at_its_first_launch": wrong(
        launching(stored="C[r * N + c] = s + wrong;", before="static int launches;\n  ")
        .replace("int K) {", "int K, int wrong) {", 1)
        .replace("M, N, K);", "M, N, K, launches++);"),
        "in its second launch",
    ),
    "right_at_its_second_try": wrong(  # another reading is the same call at this size
        "#include <cstdlib>\n"
        + launching(stored="C[r * N + c] = s + wrong;")
        .replace("int K) {", "int K, int wrong) {", 1)
        .replace("  mm<<<", '  int wrong = getenv("TRIED") == nullptr;\n  setenv("TRIED", "1", 1);\n  mm<<<')
        .replace("M, N, K);", "M, N, K, wrong);"),
        "of 1600 elements",
    ),
    "columns_by_threads": right(
        """
__global__ void rows(const float* A, const float* B, float* C, int M, int N, int K) {
  for (int col = threadIdx.x; col < N; col += blockDim.x) {
    float acc = 0;
    int k = 0;
    while (k < K) { acc += A[blockIdx.x * K + k] * B[k * N + col]; ++k; }
    C[blockIdx.x * N + col] = acc;
  }
}
void matmul(const float* A, const float* B, float* C, int M, int N, int K) { rows<<<M, 64>>>(A, B, C, M, N, K); }
""",
        "matmul(A, B, C, M, N, K);",
    ),
    "a_loop_over_rows_of_c": right(
        """
__global__ void columns(int M, int N, int K, const float* A, const float* B, float* C) {
  for (int r = 0; r < M; ++r) {
    float sum = 0;
    const float* end = A + (r + 1) * K;
    for (const float *a = A + r * K, *b = B + blockIdx.x; a != end; ++a, b += N) sum += *a * *b;
    C[r * N + blockIdx.x] = sum;
  }
}
void mul(int M, int N, int K, const float* A, const float* B, float* C) { columns<<<N, 1>>>(M, N, K, A, B, C); }
""",
        says=("and with mul(M, N, K, A, B, C); it is right",),
    ),
    "a_is_b_times_c": right(
        launching()
        .replace("run(const float* A, const float* B, float* C", "run(float* A, const float* B, const float* C")
        .replace("(A, B, C, M, N, K);", "(B, C, A, M, N, K);"),
        "run(C, A, B, M, N, K);",
    ),
    "pitches_in_bytes": asking(
        """
__global__ void mm(const char* A, size_t a, const char* B, size_t b, char* C, size_t c, int M, int N, int K) {
  float s = 0;
  for (int k = 0; k < K; ++k) s += ((float*)(A + blockIdx.y * a))[k] * ((float*)(B + k * b))[blockIdx.x];
  ((float*)(C + blockIdx.y * c))[blockIdx.x] = s;
}
void mul(float* A, size_t pitchA, float* B, size_t pitchB, float* C, size_t pitchC, int M, int N, int K) {
  mm<<<dim3(N, M), 1>>>((char*)A, pitchA, (char*)B, pitchB, (char*)C, pitchC, M, N, K);
}
""",
        "mul(A, lda * sizeof(float), B, ldb * sizeof(float), C, ldc * sizeof(float), M, N, K)",
    ),
    "a_template_that_deduces": right(
        """
template <typename T, int BLOCK>
__global__ void mm(const T* A, const T* B, T* C, int M, int N, short K) {
  int r = blockIdx.y * BLOCK + threadIdx.y, c = blockIdx.x * BLOCK + threadIdx.x;
  if (r < M && c < N) { T s = 0; for (int k = 0; k < K; ++k) s += A[r * K + k] * B[k * N + c]; C[r * N + c] = s; }
}
template <int BLOCK = 16, typename T>
void run(const T* A, const T* B, T* C, long M, size_t N, short K) {
  mm<T, BLOCK><<<dim3((N + BLOCK - 1) / BLOCK, (M + BLOCK - 1) / BLOCK), dim3(BLOCK, BLOCK)>>>(A, B, C, M, N, K);
}
""",
        "run(A, B, C, M, N, K);",
    ),
    "a_size_of_its_own": asking(
        "const int N = 48;\n"
        + launching(k="int k = 0; k < N; ++k", term="A[r * N + k] * B[k * N + c]", stored="C[N * r + c] = s;")
        .split("void run")[0]
        .replace(", int M, int N, int K", "")
        .replace("r < M && c < N", "true")
        + "int main() { float *a, *b, *c; mm<<<dim3(N / 16, N / 16), dim3(16, 16)>>>(a, b, c); }",
        "--sizes 48",
        "--launch 'mm<<<dim3(N / 16, N / 16), dim3(16, 16)>>>(A, B, C)' --requires 'M == 48 && N == 48 && K == 48",
    ),
    "rows_along_x_by_name": asking(
        """
__global__ void mm(float* a, float* b, float* c, int width) {
  int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.x * 8 + tx, col = blockIdx.y * 8 + ty;
  float sum = 0;
  for (int i = 0; i < width; i++) sum += a[row * width + i] * b[i * width + col];
  c[row * width + col] = sum;
}
""",
        "mm<<<dim3(ceil_div(M, 8), ceil_div(N, 8)), dim3(8, 8)>>>(A, B, C, N)",
        sizes="32",
    ),
    "tensors_with_a_transposed": asking(
        of_tensors("K = A.size(0), M = A.size(1), N = B.size(1)", "A[k * M + r]"), ":tn"
    ),
    "tensors_with_b_transposed": asking(
        of_tensors("M = A.size(0), K = A.size(1), N = B.size(0)", b="B[c * K + k]"), "torch::from_blob(B, {N, K})"
    ),
    "tensors_of_a_batch": right(
        of_tensors("M = A.size(1), K = A.size(2), N = B.size(2)")
        .replace("M, N, K);", "M, N, K);\n  TORCH_CHECK(A.stride(0) == M * K);")
        .replace("{M, N}", "{A.size(0), M, N}")
        .replace("(M + 15) / 16)", "(M + 15) / 16, A.size(0))")
        .replace("int r =", "A += blockIdx.z * M * K, B += blockIdx.z * K * N, C += blockIdx.z * M * N;\n  int r ="),
        sizes="20x17x9x3,33x17x9",
    ),
    "w_x_y": asking(
        launching()
        .replace("run(const float* A, const float* B, float* C", "run(float* W, float* X, float* Y")
        .replace("(A, B, C, M", "(W, X, Y, M"),
        "run(A, B, C, M, N, K)",
    ),
    "a_kernel_of_another_file": failing(
        "__global__ void mm(const float* A, const float* B, float* C, int M, int N, int K);\nvoid run"
        + launching().split("void run")[1],
        "which is declared and not defined: --nvcc-flags",
    ),
    "a_python_module": refused("import torch\nsource =  + launching() + \n", "is written in Python"),
    "a_launcher_without_a_kernel": refused(
        "void run(int variant, void* f, float* A, float* B, float* C, int M, int N, int K) "
        "{ void* a[] = {&A}; cudaLaunchKernel(f, dim3(1), dim3(1), a); }",
        "how to call its function run",
        "'run(?variant, ?f, A, B, C, M, N, K)'",
    ),
    "a_transposed": wrong(launching(term="A[k * M + r] * B[k * N + c]"), "A^T B", "40x24x56"),
    "both_transposed": wrong(launching(term="A[k * M + r] * B[c * K + k]"), "A^T B^T", "40x24x56"),
    "c_transposed": wrong(launching(stored="C[c * M + r] = s;"), "C lies transposed", "40x24x56"),
    "rows_of_a_by_n": wrong(launching(term="A[r * N + k] * B[k * N + c]"), "A was read with N elements", "40x24x56"),
    "rows_of_b_by_k": wrong(launching(term="A[r * K + k] * B[k * K + c]"), "B was read with K elements", "40x56x24"),
    "a_relu": wrong(launching(stored="C[r * N + c] = fmaxf(s, 0);"), "as behind a ReLU"),
    "alpha_twice": wrong_factor("alpha * (s + beta * C[r * N + c])", "multiplied by alpha as well"),
    "no_alpha": wrong_factor("s + beta * C[r * N + c]", "lacks the factor alpha"),
    "a_factor_that_is_not_seen": right(
        wrong_factor("alpha * s", "").text,
        says=("what it does with alpha and beta is not seen: --alpha 2 --beta 3 shows it",),
    ),
    "no_beta": wrong_factor("alpha * s", "lacks beta * C"),
    "beta_of_1": wrong_factor("C[r * N + c] + alpha * s", "without the factor beta"),
    "twice": wrong_factor("2 * alpha * s + beta * C[r * N + c]", "added twice"),
    "launched_twice": wrong_factor("alpha * s + beta * C[r * N + c]", "computed twice", "for (int i = 0; i < 2; ++i) "),
    "operands_of_10_bits": wrong(rounded("0x2000u"), "--data integers has operands", "64x64x256"),
    "operands_cut_to_10_bits": wrong(
        rounded("0x2000u").replace(" + 0x2000u / 2", ""), "the operands were cut to 10 bits", "64x64x256"
    ),
    "operands_of_10_bits_that_need_no_more": right(
        rounded("0x2000u"), arguments=("--data", "integers"), sizes="64x64x256"
    ),
    "operands_of_7_bits": wrong(rounded("0x10000u"), "BF16", "64x64x256"),
    "operands_of_8_bits": wrong(
        launching(term="rintf(A[r * K + k] * 99) / 99 * B[k * N + c]"), "of FP32's 24 bits", "64"
    ),
    # ---- What the executor has to know of the language and the library ----
    "memory_by_memcpy_and_the_like": right(by_memcpy("A + r * K + k, min(16, K - k) * 4")),
    "a_memcpy_beyond_a": failing(
        by_memcpy("A + r * K + k, 64"), "of A, which has 33 rows of 9: outside", sizes="33x17x9"
    ),
    "device_variables_of_a_class_and_a_template": right(CLASS_VARIABLES),
    "a_read_beyond_a_device_variable_of_a_class": failing(
        CLASS_VARIABLES.replace("one[0]", "one[2]"), "of dims, which"
    ),
    "memory_of_the_device's_heap": right(ON_HEAP),
    "memory_of_the_heap_that_was_given_back": failing(ON_HEAP.replace("if (r == M)", ""), "outside of all arrays"),
    "arguments_that_convert": right(CONVERTED),
    "arguments_that_convert_and_can_be_copied": right(CONVERTED.replace("Buffer(const Buffer&) = delete;", "")),
    "a_launch_with_too_few_arguments_without_the_executor's_templates": refused(
        launching().replace("B, C, M, N, K)", "B, C, M, N)").replace("  mm", "  sum = 0;\n  mm"),
        "| ^~~ file.cu:8:",
        "error: too few arguments to function",
    ),
    "shared_memory_of_an_unknown_extent": refused(
        '#include "tiles.h"\n' + launching().replace("float s = 0;", "__shared__ float As[TILE]; float s = 0;"),
        "nothing declares TILE (file.cu:5) file.cu:1: tiles.h is not there",
    ),
    "other_attributes_of_kernels": right(ATTRIBUTES),
    "a_module_of_pybind11_that_is_not_there": right(
        "#include <pybind11/pybind11.h>\n" + launching() + 'PYBIND11_MODULE(mine, m) { m.def("run", &run); }\n'
    ),
    "calls_and_names_of_hosts": right(launching(before="prepare();\n  ").replace("void run", HOST_CALLS)),
    "a_pipeline_with_roles": unsupported(
        "#include <cooperative_groups.h>\n#include <cuda/pipeline>\n" + launching().replace("float s = 0;", ROLES),
        "the executor does not model pipelines whose threads have different roles",
    ),
    "a_kernel_with_a_chinese_name": right(
        launching()
        .replace("mm", "乘法核")
        .replace("float s", "float 和")
        .replace("s += ", "和 += ")
        .replace("= s;", "= 和;")
    ),
    "a_loop_without_an_end": failing(
        launching(k="int k = 0; k < K; k += 4")
        .replace("s += ", "for (int i = 0; i < 4;) if (k + i < K) s += ")
        .replace("A[r * K + k] * B[k * N + c]", "A[r * K + k + i] * B[(k + i++) * N + c]"),
        "runs for ever at file.cu:4 in mm",
        sizes="1x1x9",
    ),
    "matrices_as_arrays_of_arrays": asking(
        "#define N 48\n"
        + naive("float A[N][N], const float (*B)[N], float C[][N]", "N", "N", "N")
        .replace("a[r * N + i] * b[i * N + col]", "A[r][i] * B[i][col]")
        .replace("c[r * N + col]", "C[r][col]"),
        "mm<<<dim3(ceil_div(N, 32), ceil_div(M, 32)), dim3(32, 32)>>>((float (*)[48])A, (const float (*)[48])B, (float"
        " (*)[48])C)",
        sizes="48",
    ),
    "aliases_of_pointers": right(
        "typedef float real;\ntypedef const real* __restrict__ input;\nusing output = real*;\n"
        + launching().replace("const float* A, const float* B, float* C", "input A, input B, output C")
    ),
    "a_function_of_c++20's_name": right(
        "#include <cmath>\nusing namespace std;\n"
        "__device__ float lerp(float a, float b, float t) { return a + t * (b - a); }\n"
        + launching(stored="C[r * N + c] = lerp(0.0f, s, 1.0f);")
    ),
    "a_matrix_load_without_its_shape": unsupported(
        # which ptxas refuses
        launching().replace(
            "float s = 0;",
            """float s = 0; unsigned r;
            asm("ldmatrix.sync.aligned.x1.trans.shared.b16 {%0}, [%1];" : "=r"(r) : "r"(0));""",
        ),
        "does not model the instruction ldmatrix.sync.aligned.x1.trans.shared.b16",
    ),
    "a_static_variable_of_a_kernel": unsupported(
        launching().replace("float s = 0;", "static __device__ int n; ++n; float s = 0;"),
        "the executor does not model static variables of kernels (file.cu:4)",
    ),
    "a_workspace_as_a_parameter": asking(SPLIT_K, "(A, B, C, (float*)workspace, M, N, K)' --workspace '64 * M * N'"),
    "a_leading_dimension_of_b_for_c": failing(
        launching(stored="C[r * ldb + c] = s;")
        .replace("int K)", "int K, int lda, int ldb, int ldc)")
        .replace("M, N, K);", "M, N, K, lda, ldb, ldc);")
        .replace("* K + k", "* lda + k")
        .replace("k * N", "k * ldb"),
        "beyond the end of a row of C, which has 33 rows of 33",
        sizes="33",
    ),
    "a_class_with_a_stride_that_is_copied_whole": right(
        "struct Matrix { int width, height, stride; float* elements; };\n" + ALONE + OF_CLASSES
    ),
    "matrices_in_symbols": right(IN_SYMBOLS),
    "a_file_of_hip": refused("#include <hip/hip_runtime.h>\n" + naive("", "M", "N", "K"), "is written for HIP"),
    "a_file_of_opencl": refused("__kernel void mm(__global float* C) { C[0] = 1; }\n", "is written in OpenCL C"),
    "a_file_in_utf_16": refused("\udcff\udcfe_", "is in UTF-16"),
    "an_answer_in_markdown": refused("A kernel:\n\n```cuda\n" + launching() + "```\n", "is Markdown"),
    "names_of_pytorch_and_of_hosts": right(
        "#include <ATen/cuda/CUDAContext.h>\n#include <torch/extension.h>\n#include <omp.h>\n" + ALONE + OF_HOSTS
    ),
    "fortran_s_pointers": right(
        launching().replace("void run(const float* A, const float* B, float* C, int M, int N, int K) {", BY_POINTERS)
    ),
    "launches_of_two_threads_of_the_host": right(
        "#include <thread>\n#include <string.h>\n__managed__ float a[4096], b[4096], c[4096];\n"
        + ALONE.replace("const float", "float")
        + OF_TWO_THREADS,
        sizes="32,34x17x9",
    ),
    "tensor_cores_with_rows_that_are_not_aligned": failing(
        "#include <mma.h>\n" + launching(local=" " + ODD_ROWS),
        "wmma takes matrices whose rows are a multiple of 16 bytes apart",
    ),
    "flags_of_layouts_and_options_by_default": right(
        "struct Options { int tile = 16; };\n"
        + launching(more=", Options options = {}").replace("void run(const", "void run(bool TA, bool TB, const"),
        "run(false, false, A, B, C, M, N, K);",
    ),
    "a_flag_that_is_none_of_layouts": wrong(
        launching(more=", bool tiled = true", before="if (tiled) ").replace("float s = 0;", "float s = 1;"),
        "1600 of 1600 elements wrong",
    ),
    "a_reference_beside_what_warms_up": refused(
        "__device__ int sink;\n__global__ void warm_up(int n) { sink = n; }\n"
        + CPU_REFERENCE.replace("  for (int m", "  warm_up<<<1, 1>>>(1);\n  for (int m", 1),
        "its function cpuSgemm computes the product on the host",
    ),
    "sizes_of_cstdint_and_aliases_of_an_alias_beside_others": right(
        "#include <cstdint>\nusing real = float;\nnamespace other { using real = double; }\n"
        + launching()
        .replace("int M, int N, int K", "int32_t M, uint32_t N, std::int32_t K")
        .replace("float s", "real s")
    ),
    "launch_bounds_as_first_words_and_a_volatile_size": right(
        launching()
        .replace("__global__ void", "__launch_bounds__(256) __global__ void")
        .replace("int K) {\n  mm", "volatile int K) {\n  mm")
    ),
    "arrays_of_pointers": refused(
        launching()
        .split("void run")[0]
        .replace("const float* A, const float* B, float* C", "float** A, float** B, float** C"),
        "it takes arrays of pointers: a host function of float* may fill them and launch it",
    ),
    "a_host_function_in_a_kernel": refused(
        "inline int at(int r, int c, int ld) { return r * ld + c; }\n"
        + launching(term="A[at(r, k, K)] * B[at(k, c, N)]"),
        "a kernel calls at(), which lacks __device__: nvcc refuses it",
    ),
    "functions_of_the_host_and_the_device_of_one_name": right(
        "namespace other { inline int at(int r) { return r; } }\n__host__ __device__ int at(int r, int c, int ld)"
        " { return r * ld + c; }\nint first(const int* x) { return x[0]; }\nstruct S { __device__ int first(int x)"
        " { return x; } __device__ int again(int x) { return first(x); } };\n"
        + launching(term="A[at(r, k, K)] * B[at(S().again(k), c, N)]")
    ),
    "a_vector_in_a_kernel": refused(
        "#include <vector>\n" + launching(local=" std::vector<float> v(4);"),
        "std::vector in a kernel is the host's: nvcc refuses it",
    ),
    "a_shared_array_with_an_initializer": refused(
        launching(local=" __shared__ float t[4] = {0};"),
        "a __shared__ variable can not be initialised where it is declared: nvcc refuses it",
    ),
    "a_lambda_of_the_host": refused(
        "template <class F> __global__ void each(int n, F f) { int i = threadIdx.x; if (i < n) f(i); }\n"
        "void run(const float* A, const float* B, float* C, int M, int N, int K) {\n"
        "  each<<<1, 32>>>(N, [=](int i) { C[i] = A[i] * B[i]; });\n}\n",
        "a lambda that a kernel is passed needs __device__: nvcc refuses others",
    ),
    "a_kernel_that_is_a_member": refused(
        "struct Product { static " + ALONE.strip() + " };\n"
        "void run(const float* A, const float* B, float* C, int M, int N, int K) {\n"
        "  Product::mm<<<dim3(M, N), dim3(16, 16)>>>(A, B, C, M, N, K);\n}\n",
        "a kernel can not be a member of a class: nvcc refuses it",
    ),
    "more_constants_than_a_gpu_has": failing(
        "__constant__ float one[16384], more;\n" + launching(term="(A[r * K + k] * B[k * N + c] + one[0] * more)"),
        "__constant__ variables take 65540 bytes, and a GPU has 65536",
    ),
    "a_parameter_that_refers_to_the_host": failing(
        launching().replace("int N, int K) {\n  int r", "int N, const int& K) {\n  int r"),
        "its parameter K is a reference, which CUDA forbids",
    ),
    "the_host_writes_to_memory_of_the_device": failing(
        launching(before=ALLOCATED + "for (int i = 0; i < M * N; i++) d[i] = 0;\n  cudaFree(d);\n  "),
        "the host writes to d, which is the device's alone: cudaMemcpy() may copy it",
    ),
    "a_copy_in_the_other_direction_than_its_kind": failing(
        launching(before=ALLOCATED + "cudaMemcpy(C, d, 4 * M * N, cudaMemcpyHostToDevice);\n  cudaFree(d);\n  "),
        "cudaMemcpy() in the other direction than its kind says",
    ),
    "a_launch_that_tells_which_word_is_n": asking(
        from_main("SIDE / T, SIDE / T"), "dim3(N / 16, N / 16), dim3(16, 16)", sizes="32"
    ),
    "a_launch_that_tells_which_number_is_n": asking(
        from_main("1000 / T, 1000 / T", "1000"), "dim3(N / 16, N / 16), dim3(16, 16)", sizes="32"
    ),
    "a_launch_that_tells_the_block_alone": asking(
        from_main("rest++, SIDE / T").replace("int rest = 0", "int rest; std::cin >> rest"),
        "dim3(ceil_div(N, 16), ceil_div(M, 16)), dim3(16, 16)",
        sizes="32",
    ),
    "a_block_of_tiles": asking(IN_TILES, "dim3(ceil_div(N, 16), ceil_div(M, 16)), dim3(16, 16)", sizes="32"),
    "a_method_outside_of_its_class": asking(OUT_OF_CLASS, "mm<<<dim3((N + 15) / 16, (M + 15) / 16), dim3(16, 16)>>>"),
    "a_method_of_a_template_outside_of_it": asking(OF_A_TEMPLATE, "mm<<<dim3((N + 15) / 16, (M + 15) / 16), dim3(16"),
    "a_method_of_a_template_that_is_reached": right(
        OF_A_TEMPLATE + "void multiply(const float* A, const float* B, float* C, int M, int N, int K) "
        "{ Product<float>().run(A, B, C, M, N, K); }\n",
        "multiply(A, B, C, M, N, K);",
    ),
    "a_static_method_outside_of_its_class": right(
        OUT_OF_CLASS.replace("{ void", "{ static void"), "Product::run(A, B, C, M, N, K);"
    ),
    "six_sizes_of_which_three_are_none": asking(
        launching(more=", int repeat, int verbose, int check"), "(A, B, C, M, N, K)' --requires"
    ),
    "columns_with_strides_of_a_batch": right(COLUMNS_AND_STRIDES, arguments=FACTORS, sizes="33x17x9,2x20x17x9"),
    "a_b_of_two_extents_for_all_of_a_batch": right(
        of_tensors("Z = A.size(0), M = A.size(1), K = A.size(2), N = B.size(1)").replace("{M, N}", "{Z, M, N}"),
        "torch::from_blob(C, {batch, M, N}).copy_(forward(torch::from_blob(A, {batch, M, K}), "
        "torch::from_blob(B, {K, N})));",
    ),
    "aliases_of_types_of_std": right(
        "#include <cstdint>\nusing u32 = std::uint32_t;\ntypedef std::size_t count;\n"
        + launching().replace("int M, int N, int K", "u32 M, count N, u32 K")
    ),
    "a_main_that_computes_nothing_by_itself": refused(
        "void other(float*);\nint main(int argc, char** argv) { other<<<1, 1>>>(nullptr); }\n",
        "there is no kernel in it",
    ),
    "a_helper_of_the_device": refused(
        "__device__ float product(const float* A, const float* B, float* C, int M, int N, int K) { return A[0]; }\n"
        + ALONE,
        "not known how to launch its kernel\n",
    ),
    "a_class_of_all_arguments": right(
        IN_CLASSES + OF_A_CLASS, "run(Product{A, B, C, M, N, K, alpha, beta}, stream);", arguments=FACTORS
    ),
    "a_class_of_matrices_and_one_of_extents": right(
        IN_CLASSES + OF_CLASSES_OF_EACH,
        "run(Matrices{A, B, C}, (Extents*)&(const Extents&)Extents{M, N, K}, alpha, beta);",
        arguments=FACTORS,
    ),
    "matrices_of_a_class_with_constructors": right(
        ALONE + WITH_CONSTRUCTORS,
        says=(
            "made_of<Matrix<float>>(&Matrix<float>::rows, K, &Matrix<float>::cols, N, &Matrix<float>::data, B)",
            "&made_of<Matrix<float>>(&Matrix<float>::rows, M, &Matrix<float>::cols, N, &Matrix<float>::data, C));",
        ),
    ),
    "matrices_of_a_class_with_private_members": refused(
        "class Matrix { public: __device__ float& at(int i) { return p[i]; } private: int rows, cols; float* p; };\n"
        "__global__ void mm(Matrix a, Matrix b, Matrix c, int n) { c.at(0) = a.at(1) * b.at(2); }\n",
        "no launch line can make its Matrix, whose members are not all public. A host function of float* may make "
        "one and launch it",
    ),
    "matrices_of_a_class_with_virtual_functions": refused(
        ALONE + WITH_CONSTRUCTORS.replace("  ~", "  virtual int size() { return rows; }\n  ~"),
        "it is not known how to launch its kernel",
    ),
    "matrices_of_a_class_with_a_structure": refused(
        "struct Tag { int x; };\n" + ALONE + WITH_CONSTRUCTORS.replace("const int rows", "struct Tag tag;\n  int rows"),
        "it is not known how to launch its kernel",
    ),
    "extents_of_a_class_with_two_names": right(
        "typedef struct dims { int M, N, K; } dims_t;\n"
        + launching().replace("int M, int N, int K) {\n  mm", "dims_t d) {\n  const auto [M, N, K] = d;\n  mm"),
        "run(A, B, C, dims_t{M, N, K});",
    ),
    "arguments_in_braces": right(
        IN_CLASSES + "void run(const float* A, const float* B, float* C, int M, int N, int K, float alpha, float beta) "
        "{ mm<<<dim3((N + 15) / 16, (M + 15) / 16), dim3(16, 16)>>>({A, B, C}, {M, N, K}, alpha, beta); }",
        arguments=FACTORS,
    ),
    "a_default_that_is_no_inner_dimension": right(
        launching(more=", int k = 0, cudaStream_t s = cudaStreamDefault")
        .replace("int N, int K, int k", "int N, int P, int k")
        .replace("16)>>>(A, B, C, M, N, K)", "16), k, s>>>(A, B, C, M, N, P)"),
        "run(A, B, C, M, N, K);",
    ),
    "a_header_that_may_have_the_product": refused(
        '#include <helper_functions.h>\n#include "gemm.cuh"\nint main() { float* a; gemm(a, a, a, 1, 1, 1); }\n',
        "it includes what is not there and may have the product: name its folder",
        "--include for file.cu:2: gemm.cuh\n",
    ),
    "attributes_as_cuda_s_headers_have_them": right(
        "__attribute__((constant)) float one[4] = {1};\n"
        "static __attribute__((unused, device)) float times(float a, float b) { return a * b; }\n"
        + launching(
            term="times(A[r * K + k], B[k * N + c]) * own[threadIdx.y][c % 16]",
            local=" __attribute__((__shared__)) float own[16][16]; own[threadIdx.y][c % 16] = one[0];",
        ).replace("__global__", "__attribute__((global))"),
    ),
    "a_kernel_of_classes": asking(
        IN_CLASSES
        + "int main() { Matrices m; Extents e; mm<<<dim3((e.N + 15) / 16, (e.M + 15) / 16), dim3(16, 16)>>>(m, e, "
        "1, 0); }",
        "mm<<<dim3((N + 15) / 16, (M + 15) / 16), dim3(16, 16)>>>(Matrices{A, B, C}, Extents{M, N, K}, alpha, beta)",
        arguments=FACTORS,
    ),
    "a_matrix_times_a_vector": asking(VECTORS, "(C, B, A, K, M)' --requires 'N == 1 && alpha", "--sizes 64x1x64"),
    "a_function_that_multiplies_by_a_vector": asking(
        VECTORS + "void gemv(const float* A, const float* x, float* y, int rows, int cols) "
        "{ mv<<<(rows + 63) / 64, 64>>>(y, (float*)x, (float*)A, cols, rows); }",
        "gemv(A, B, C, M, K)",
    ),
    "a_layout_in_the_function's_name": asking(
        launching(term="A[k * M + r] * B[k * N + c]").replace("void run", "void sgemm_tn"),
        "--sizes 40x24x16:tn,9:tn --check",
        "--sizes 40x24x16:nt,9:nt --check",
        "sgemm_tn(B, A, C, N, M, K)",
        sizes="40x24x16:tn,9",
    ),
    "extents_that_are_constants": asking(
        "constexpr int M = 64, N = 32;\nconst int K = 48;\n"
        + launching().replace(", int M, int N, int K", "").replace(", M, N, K);", ");"),
        "--sizes 64x32x48",
        "--launch 'run(A, B, C)' --requires 'M == 64 && N == 32 && K == 48",
        sizes="32",
    ),
    "extents_as_template_arguments": asking(
        OF_ALL_EXTENTS, "mm<64, 32, 48><<<", "--requires 'M == 64 && N == 32 && K == 48", sizes="64x32x48"
    ),
    "a_template_over_several_types_and_a_functor": right(
        "struct Same { template <class T> __device__ T operator()(T x) const { return x; } };\n"
        "template <class In, class Out, class Op> "
        + launching(stored="C[r * N + c] = op(s);")
        .replace("const float*", "const In*")
        .replace("float* C, int M, int N, int K)", "Out* C, int M, int N, int K, Op op)", 1)
        .replace("void run(", "template <class In, class Out, class Op = Same> void run(")
        .replace("float* C, int M, int N, int K) {\n  mm", "Out* C, int M, int N, int K, Op op = {}) {\n  mm")
        .replace("M, N, K);", "M, N, K, op);"),
        "run(A, B, C, M, N, K);",
    ),
    "a_product_that_is_added_to_another_matrix": asking(
        launching(stored="D[r * N + c] = s + C[r * N + c];")
        .replace("float* C", "const float* C, float* D")
        .replace("(A, B, C, M", "(A, B, C, D, M"),
        "run(A, B, C, C, M, N, K)' --requires 'alpha == 1 && beta == 1'",
        arguments=("--check", "--beta", "1"),
    ),
    "several_instances_of_a_kernel": asking(INSTANCES, "'mm<8><<<dim3(N / 8", "'mm<16><<<dim3(N / 16", sizes="40x24x8"),
    "a_launcher_with_a_grid_and_a_block": asking(
        OF_ITS_OWN_BLOCK
        + """
void run(const float* A, const float* B, float* C, int M, int N, int K, dim3 grid, dim3 block) {
  mm<<<grid, block>>>(A, B, C, M, N, K);
}
int main() {
  float *a, *b, *c;
  const int M = 512, N = 512, K = 512;
  dim3 block(32, 8), grid((N + 31) / 32, (M + 7) / 8);
  run(a, b, c, M, N, K, grid, block);
}
""",
        "mm<<<dim3((N + 31) / 32, (M + 7) / 8), dim3(32, 8)>>>(A, B, C, M, N, K)",
    ),
    "one_number_for_all_extents": asking(
        ALONE + "void time(float* a, float* b, float* c, int sz, int times) { const int blocks = (sz + 15) / 16; "
        "while (times--) mm<<<dim3(blocks, blocks), dim3(16, 16)>>>(a, b, c, sz, sz, sz); }",
        "mm<<<dim3(((N + 15) / 16), ((N + 15) / 16)), dim3(16, 16)>>>(A, B, C, M, N, K)",
        "&& K == M && M == N'",
        sizes="33",
    ),
    "macros_of_one_number": asking(
        "#define X 64\n#define Y 64\n"
        + ALONE
        + "int main() { float *a, *b, *c; mm<<<dim3(Y / 16, X / 16), dim3(16, 16)>>>(a, b, c, X, Y, 128); }",
        "ceil_div(N, 16), ceil_div(M, 16)), dim3(16, 16)>>>(A, B, C, M, N, K)' --requires 'alpha == 1 && beta == 0'",
    ),
    "extents_in_the_device's_memory": refused(
        ALONE.replace("int M, int N, int K", "const int* M, const int* N, const int* K"),
        "it reads its sizes in the device's memory: a host function may copy them there and launch it",
        "(A, B, C, ?M, ?N, ?K)",
    ),
    "a_matrix_of_a_base_with_an_alignment": right(
        MATRICES.replace(
            "typedef struct {", "struct Extents { int height; };\nstruct alignas(16) Matrix final : Extents {"
        )
        .replace("int width, height; int stride;", "int width; __align__(16)")
        .replace("elements; } Matrix;", "elements; };")
        .replace(".stride", ".width"),
        says=("made_of<Matrix>(&Matrix::height, M, &Matrix::width, K, &Matrix::elements, A)",),
    ),
    "a_matrix_of_a_template": right(
        MATRICES.replace("typedef struct {", "template <class T> struct Of {")
        .replace("int stride; float* elements; } Matrix;", "T* elements; };\nusing Matrix = Of<float>;")
        .replace(".stride", ".width"),
        "MatMul(Of<float>{K, M, A}, Of<float>{N, K, B}, (Of<float>*)&(const Of<float>&)Of<float>{N, M, C});",
    ),
    "a_matrix_of_a_template_by_typedef": right(
        MATRICES.replace("typedef struct {", "template <class T> struct Of {")
        .replace("int stride; float* elements; } Matrix;", "T* elements; };\ntypedef Of<float> Matrix;")
        .replace(".stride", ".width"),
    ),
    "a_matrix_with_members_of_some_bits": refused(
        MATRICES.replace("height;", "height : 16;"),
        "no launch line can make its Matrix, of whose bases, functions or members not all are understood.",
    ),
    "a_matrix_of_a_base_that_is_not_there": refused(
        MATRICES.replace("typedef struct {", "struct Matrix : Base {").replace("; } Matrix;", "; };"),
        "no launch line can make its Matrix, of whose bases, functions or members not all are understood.",
    ),
    "a_matrix_in_double_precision": refused(
        MATRICES.replace("float* e", "double* e"), "its Matrix, which has other members than extents and one float*."
    ),
    "a_loop_without_an_end_that_does_nothing": failing(
        launching().replace("C[r", "for (int i = 16; i >= 0; i /= 2) s += i > 100; C[r"),
        "runs for ever at file.cu:4 in mm",
        sizes="1",
    ),
    "a_do_loop_without_an_end": failing(
        launching().replace("C[r", "do { r += 0; } while (r >= 0); C[r"), "runs for ever at file.cu:4 in mm", sizes="1"
    ),
    "loops_of_every_kind": right(LOOPS),
    "a_sum_of_matrices": refused(
        launching(term="B[r * N + c]").replace("= 0; for (int k = 0; k < K; ++k) s +=", "= A[r * N + c] +"),
        NO_PRODUCT,
    ),
    "a_kernel_of_two_arrays": refused(
        "__global__ void relu(const float* x, float* y, int n) { for (int i = 0; i < n; ++i) y[i] = max(x[i], 0.f); }",
        NO_PRODUCT,
    ),
    "a_softmax": refused(SOFTMAX, "a product has three arrays, A, B and C, and its kernels take 2"),
    "a_dot_product": refused(
        "__global__ void dot(const float* a, const float* b, float* c, int n) "
        "{ float s = 0; for (int i = threadIdx.x; i < n; i += 64) s += a[i] * b[i]; atomicAdd(c, s); }",
        "none multiplies elements of arrays at different places",
    ),
    "a_row_times_a_row_by_pointers": asking(
        "__global__ void mm(const float* A, const float* B, float* C, int M, int N, int K) {\n"
        "  A += blockIdx.y * K, B += blockIdx.x * K;\n  float s = 0;\n"
        "  for (int i = 0; i < K; ++i) s += A[i] * B[i];\n  C[blockIdx.y * N + blockIdx.x] = s;\n}\n"
        "void mm_nt(const float* A, const float* B, float* C, int M, int N, int K) "
        "{ mm<<<dim3(N, M), 1>>>(A, B, C, M, N, K); }",
        "mm_nt(A, B, C, M, N, K)",
    ),
    "a_product_of_three_factors": right(launching(term="A[r * K + k] * 1.f * B[k * N + c]")),
    "a_product_of_numbers_that_a_function_multiplies": right(
        "__device__ int times(int m, int n) { return m * n; }\n" + launching(term="times(A[r * K + k], B[k * N + c])"),
        arguments=("--check", "--data", "integers"),
    ),
    "a_product_by_division": right(
        launching(term="A[r * K + k] / (1 / B[k * N + c])"), arguments=("--data", "integers")
    ),
    "a_product_by_an_index_that_moves": right(
        launching(term="x * B[i]")
        .replace("k) s", "k) { int i = r * K + k; float x = A[i]; i = k * N + c; s")
        .replace("B[i];", "B[i]; }")
    ),
    "a_product_by_rows_times_numbers": right(
        "#include <vector>\n__global__ void add(float s, const float* x, float* y) "
        "{ y[blockIdx.x] += s * x[blockIdx.x]; }\n"
        "void run(const float* A, const float* B, float* C, int M, int N, int K) {\n  std::vector<float> a(M * K);\n"
        "  cudaMemcpy(a.data(), A, 4 * M * K, cudaMemcpyDeviceToHost), cudaMemset(C, 0, 4 * M * N);\n"
        "  for (int i = 0; i < M * K; ++i) add<<<N, 1>>>(a[i], B + i % K * N, C + i / K * N);\n}\n",
        sizes="9x8x7",
    ),
    "a_kernel_that_reaches_arrays_by_a_function": right(
        "__device__ float a[999], b[999], c[999];\n__device__ void cell(int i, int j, int n, int k) "
        "{ for (int l = 0; l < k; ++l) c[i * n + j] += a[i * k + l] * b[l * n + j]; }\n"
        "__global__ void mm(int n, int k) { cell(blockIdx.x, threadIdx.x, n, k); }\n"
        "void run(const float* A, const float* B, float* C, int M, int N, int K) {\n  cudaMemset(C, 0, 4 * M * N);\n"
        "  cudaMemcpyToSymbol(a, A, 4 * M * K), cudaMemcpyToSymbol(b, B, 4 * K * N);\n"
        "  cudaMemcpyToSymbol(c, C, 4 * M * N);\n"
        "  mm<<<M, N>>>(N, K);\n  cudaMemcpyFromSymbol(C, c, 4 * M * N);\n}\n",
        sizes="9x8x7",
    ),
    "a_warm_up_beside_constants": right(
        "__constant__ float one = 1;\n__global__ void warm_up(float* x) { x[0] = threadIdx.x; }\n"
        + CPU_REFERENCE.replace("  for (int m", "  warm_up<<<1, 1>>>(c);\n  for (int m", 1)
        + launching()
    ),
    "an_attention": refused(
        ALONE.replace("const float* B", "const float* B, const float* V").replace("+= A", "+= V[k] * A"),
        "a product has three arrays, A, B and C, and its kernels take 4",
        "(A, B, ?V, C, M, N, K)",
    ),
    "a_launcher_of_what_fills_a_matrix": refused(
        "__global__ void fill(float* a, int n) { a[blockIdx.x * 64 + threadIdx.x] = n; }\n"
        + CPU_REFERENCE.replace("  for (int m", "  fill<<<1, 64>>>(c, 1);\n  for (int m", 1)
        + ALONE,
        "its function cpuSgemm computes the product on the host",
    ),
    "a_product_that_sums_nothing": right(
        launching(stored="C[r * N + c] = A[r * K] * B[c];").replace(
            "for (int k = 0; k < K; ++k) s += A[r * K + k] * B[k * N + c];", ""
        )
        + "// requires: K == 1\n",
        sizes="32x17x1",
    ),
    "a_lambda_that_calls_itself": right(
        launching(stored="C[r * N + c] = sum(sum, K);").replace(
            "float s = 0; for (int k = 0; k < K; ++k) s += A[r * K + k] * B[k * N + c];",
            "auto sum = [=](auto self, int k) -> float "
            "{ return k-- ? A[r * K + k] * B[k * N + c] + self(self, k) : 0; };",
        )
    ),
    "operands_in_one_array": refused(
        ALONE.replace("float* A, const float* B", "float* A").replace("int r", "const float* B = A + M * K; int r"),
        "it is not known how to launch its kernel",
        "--launch 'mm<<<",
    ),
    "numbers_that_stand_for_arrays": refused(
        "typedef unsigned long long Texture;\n"
        + ALONE.replace("const float* A, const float* B", "Texture A, Texture B")
        .replace("A[r * K + k]", "tex1Dfetch<float>(A, r * K + k)")
        .replace("B[k * N + c]", "tex1Dfetch<float>(B, k * N + c)"),
        "it is not known how to launch its kernel",
    ),
    "a_brace_of_two_characters": right(launching().replace("{ float s", "<% float s")),
    "a_launch_for_each_k": right(EACH_K),
    "a_launch_for_each_k_by_recursion": right(
        EACH_K.replace("int K) {\n  for (int k = 0; k < K; ++k)", "int K, int done = 0) {\n  if (done < K)").replace(
            "K, k);", "K, done);\n  if (done < K) run(A, B, C, M, N, K, done + 1);"
        )
    ),
    "a_class_by_its_address": right(
        "struct Product { const float *A, *B; float* C; int M, N, K; };\n"
        + launching(
            before="Product all{A, B, C, M, N, K}, *p;\n  cudaMalloc(&p, sizeof all);\n  cudaMemcpy(p, &all, sizeof"
            " all, cudaMemcpyHostToDevice);\n  "
        )
        .replace("(A, B, C, M, N, K);", "(p);")
        .replace(
            "mm(const float* A, const float* B, float* C, int M, int N, int K) {",
            "mm(const Product* p) {\n  auto [A, B, C, M, N, K] = *p;",
        )
    ),
    "a_parameter_named_as_a_function_of_the_host": right(
        "void kernel(int) {}\n"
        + launching().replace("void run(", "template <class F> void go(F kernel, ").replace("  mm<<<", "  kernel<<<")
        + "void run(const float* A, const float* B, float* C, int M, int N, int K) { go(mm, A, B, C, M, N, K); }\n",
        "run(A, B, C, M, N, K);",
    ),
    "extents_of_ggml": asking(
        launching(term="A[r * K + k] * B[c * K + k]", stored="C[c * M + r] = s;")
        .replace(
            "run(const float* A, const float* B, float* C, int M, int N, int K)",
            "run(const float* src0, const float* src1, float* dst, int ne00, int ne01, int ne11)",
        )
        .replace("(A, B, C, M, N, K)", "(src0, src1, dst, ne01, ne11, ne00)")
        .replace("(N + 15) / 16, (M + 15)", "(ne11 + 15) / 16, (ne01 + 15)"),
        "run(B, A, C, K, N, M)",
        ":nt",
    ),
    "extents_in_an_int3": asking(
        launching().replace(
            "void run(const float* A, const float* B, float* C, int M, int N, int K) {",
            "void run(const float* A, const float* B, float* C, int3 d) {\n  const int M = d.x, N = d.y, K = d.z;",
        ),
        "run(A, B, C, int3{M, N, K})",
        "run(A, B, C, int3{M, K, N})",
    ),
    "strides_of_triton": asking(
        ALONE.replace("int K)", "int K, int stride_am, int stride_ak, int stride_bk, int stride_bn, int stride_cm)")
        .replace("r * K + k", "r * stride_am + k * stride_ak")
        .replace("k * N + c", "k * stride_bk + c * stride_bn")
        .replace("r * N", "r * stride_cm"),
        "(A, B, C, M, N, K, lda, 1, ldb, 1, ldc)",
    ),
    "names_of_ggml_in_rows": asking(
        launching().replace("N", "ncols_y").replace("K", "ncols_x"), "run(A, B, C, M, N, K)", "run(B, A, C, N, M, K)"
    ),
    "strides_of_columns": right(
        launching(term="A[r + k * stride_ak] * B[k + c * stride_bn]", stored="C[r + c * stride_cn] = s;")
        .replace("int K)", "int K, int stride_ak, int stride_bn, int stride_cn)")
        .replace("M, N, K);", "M, N, K, stride_ak, stride_bn, stride_cn);"),
        "run(B, A, C, N, M, K, ldb, lda, ldc);",
    ),
    "a_launch_of_what_is_no_kernel": refused(
        launching().replace("__global__ ", ""), "file.cu:7: mm is launched and lacks __global__: nvcc refuses it"
    ),
    "a_brace_too_few": refused(launching().replace("} }", "}").replace("s; }", "s;", 1), "its braces do not match"),
    "a_block_by_default": right(launching(more=", int block_size = 16"), "run(A, B, C, M, N, K);"),
    "a_launch_by_a_kernel": unsupported(
        launching(stored="mm<<<1, 1>>>(A, B, C, M, N, K);"), "launches by kernels (file.cu:4)", arguments=()
    ),
    "registers_of_a_warp_and_comments_in_assembly": right(
        launching(
            local=' unsigned w, b, n; asm volatile("/* of * all; */ mov.u32 %0, %%warpid; mov.u32 %1, %%lanemask_lt; " '
            '"redux.sync.add.u32 %2, %1, 0xffffffff;" : "=r"(w), "=r"(b), "=r"(n)); '
            "const unsigned t = threadIdx.y * 16 + threadIdx.x; "
            "if (w != t / 32 || b != (1u << t % 32) - 1 || n != 4294967263u) return;"
        ),
        sizes="32",
    ),
    "a_register_that_is_not_modelled": unsupported(
        launching(local=' unsigned w; asm("mov.u32 %0, %%gridid;" : "=r"(w));'),
        "does not model the register %gridid (file.cu:4)",
        arguments=(),
    ),
    "an_instruction_that_is_not_modelled": unsupported(
        launching(stored='asm volatile("trap;");'), "not model the instruction trap (file.cu:4)", arguments=()
    ),
    "an_empty_file": refused("  \n", "file.cu is empty"),
    "two_kernels": refused(ALONE + ALONE.replace("mm", "other"), "file.cu:7: __global__ other(const float * A"),
    "a_misspelled_word": refused(launching().replace("float s", "flaot s"), "file.cu:4:25: error: "),
    "a_requirement_that_does_not_parse": refused(launching() + "// requires: M %\n", "file.cu:"),
    "a_byte_order_mark_and_lines_of_windows": right("\ufeff" + launching().replace("\n", "\r\n")),
    "a_name_that_another_file_has": right(
        "void report(const char*);\nvoid unused() { report(__FILE__); }\n" + launching()
    ),
    "a_header_that_had_another_one": refused(
        '#include "tiles.h"\n' + launching(local=" __pipeline_commit();"),
        "nothing declares __pipeline_commit, which a header of CUDA's has (file.cu:5)",
    ),
}
