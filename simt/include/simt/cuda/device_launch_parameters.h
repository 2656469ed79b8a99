#pragma once

// Stands in for CUDA's header of the same name: threadIdx and the like.

#include <cuda_runtime.h>
