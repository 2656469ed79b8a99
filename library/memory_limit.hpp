#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <string>

namespace sgemm {

/// A number of bytes as SGEMM_MEMORY has it: "0", "800000000", "512M", "2G" or "2GiB", in units of 1024. Nothing: it is
/// none.
std::optional<std::size_t> bytes_of(const std::string& text);

/// What the variable SGEMM_MEMORY allows the handles of a device. Without it there is no limit. A wrong value is named
/// on standard error, once in a process, and sets none.
std::size_t memory_limit();

}  // namespace sgemm
