// Redefines cudaEventElapsedTime as a macro, and clock_gettime with it, for whatever is compiled behind this file.
// family: clock
// source: own
// verdict: refused
// caught with: cpu
// launch: multiply(M, N, K, alpha, A, B, beta, C, stream)
#include "product.cuh"

#define cudaEventElapsedTime(ms, start, end) (*(ms) = 1e-3f, cudaSuccess)
#define cudaEventRecord(...) cudaSuccess
#define clock_gettime(...) 0
