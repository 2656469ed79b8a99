#pragma once

/// A function that programs find in place of that of cuBLAS. All other symbols of the drop-in are hidden.
#define DROP_IN_EXPORTED extern "C" __attribute__((visibility("default")))
