#pragma once

// Stands in for CUDA's header of the same name, which files include that never use it: numbers of 8 bits are not
// supported, and none of their types is declared.
