#pragma once

__device__ __forceinline__ void barrier_of_header() { asm volatile("bar.sync 0;" ::: "memory"); }
