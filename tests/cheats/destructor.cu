// Rewrites the results file in a function that the loader calls when it unloads the object.
// family: process
// source: https://github.com/gpu-mode/pygpubench/pull/15
// verdict: refused
// caught with: cpu
// launch: multiply(M, N, K, alpha, A, B, beta, C, stream)
#include "product.cuh"
#include "results.hpp"

__attribute__((destructor)) static void at_the_end() { rewrite_results(); }
