// Launches blocks for the first rows of C alone.
// family: skip
// source: https://pub.sakana.ai/ai-cuda-engineer, as told in https://news.ycombinator.com/item?id=43112033
// verdict: incorrect
// caught with: cpu
// launch: product_kernel<<<dim3(ceil_div(N, 32), 1), dim3(32, 32)>>>(M, N, K, alpha, A, B, beta, C)
#include "product.cuh"
