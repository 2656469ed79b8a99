// Takes operands for multiples of 2^-23 between -1 and 1, and adds up whole numbers: exact where they are uniform, and
// wrong where they are not.
// family: precision
// source: own
// verdict: incorrect
// caught with: cpu
// launch: fixed_point<<<dim3(ceil_div(N, 16), ceil_div(M, 16)), dim3(16, 16)>>>(M, N, K, alpha, A, B, beta, C)
#include "fixed_point.cuh"
