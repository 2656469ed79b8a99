#pragma once

// For programs that want to know whether a function has launched anything.

#include <cstdint>

namespace simt {

/// How many launches have begun in this process.
std::uint64_t launches();

}  // namespace simt
