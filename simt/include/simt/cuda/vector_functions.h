#pragma once

// Stands in for CUDA's header of the same name: make_float4() and the like.

#include <vector_types.h>
