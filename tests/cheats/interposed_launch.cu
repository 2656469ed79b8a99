// Defines the functions by which the runner's part notes launches and tells errors, before the runner's part does.
// family: clock
// source: own
// verdict: refused
// caught with: cpu
// launch: multiply(M, N, K, alpha, A, B, beta, C, stream)
#include "product.cuh"

#define SGEMM_NOTED(function)
#define cudaGetLastError() cudaSuccess
