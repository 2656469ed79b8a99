#pragma once

// Loads of matrices from shared memory into the registers of a warp, as mma.sync takes them (sm_75 and later).
// PTX ISA 9.0, "Warp-level matrix instructions: ldmatrix".

#include "common/target.hpp"

#include <cuda_runtime.h>

#ifndef __CUDACC__
#include <simt/ptx_instructions.hpp>

#include <algorithm>
#endif

namespace sgemm {
inline namespace SGEMM_TARGET {

// ldmatrix_x4(to, row): loads four matrices of eight rows of 16 bytes, by all 32 lanes of a warp. Lane 8i + j gives the
// shared address of row j of matrix i, a multiple of 16. Register i of lane 4r + q then holds bytes 4q to 4q + 3 of row
// r of matrix i. Eight rows are read at a time, without a bank conflict if they lie in distinct 16 bytes of 128.

#ifdef __CUDACC__

__device__ __forceinline__ void ldmatrix_x4(unsigned (&to)[4], unsigned row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(row)
               : "memory");
}

#else  // the executor's

inline void ldmatrix_x4(unsigned (&to)[4], unsigned row, simt::Site site = simt::Site::current()) {
  std::ranges::copy(simt::ptx::ldmatrix<4>(row, false, site), to);
}

#endif

}  // namespace SGEMM_TARGET
}  // namespace sgemm
