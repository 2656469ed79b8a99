#pragma once

// The main loops of chapters 11, 12, 13 and 15, for the library's kernels. Each loop lies in the file of its chapter
// and nowhere else. The kernels and the registration of the chapter are left out here.

#define SGEMM_MAIN_LOOP_ONLY
#include "11_bf16x6.cu"
#include "12_fp16x3.cu"
#include "13_int8x6.cu"
#include "15_reproducible.cu"
#undef SGEMM_MAIN_LOOP_ONLY
