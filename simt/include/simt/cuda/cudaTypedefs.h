#pragma once

// Stands in for CUDA's header of the same name.

#include <cuda.h>
