#pragma once

// Stands in for NVTX's header: nobody looks at the ranges.

inline int nvtxRangePushA(const char*) { return 0; }
inline int nvtxRangePop() { return 0; }
inline void nvtxMarkA(const char*) {}
#define nvtxRangePush nvtxRangePushA
#define nvtxMark nvtxMarkA
