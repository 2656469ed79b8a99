#pragma once

// The main loops of chapters 11, 12, 13 and 15, for the library's kernels. Those of 11 and 12 are here in the form that
// programs need. Each of the others lies in the file of its chapter and nowhere else. The kernels and the registration
// of the chapter are left out here.

#include "engine/terms_loop.cuh"

#define SGEMM_MAIN_LOOP_ONLY
#include "13_int8x6.cu"
#include "15_reproducible.cu"
#undef SGEMM_MAIN_LOOP_ONLY
